import { expect, it } from 'vitest';
import { jsonLines } from '../../src/cli/json-lines.ts';

it('writes entries that no terminal acts on, and that are the same to a program', () => {
  const lines: string[] = [];
  const said = 'voices/\u202eevil\u009b\u2066:p';
  jsonLines({ write: (line) => lines.push(line), now: () => new Date(0) })('warning', said, {
    workspace: said,
  });
  expect(lines).toEqual([expect.stringMatching(/^[ -~]+\n$/)]);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'warning', message: said, workspace: said });
});
