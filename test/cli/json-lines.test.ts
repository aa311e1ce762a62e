import { expect, it } from 'vitest';
import { jsonLines } from '../../src/cli/json-lines.ts';
import { command } from '../trust/in-process.ts';

it('writes entries that no terminal acts on, and that are the same to a program', () => {
  const lines: string[] = [];
  const said = 'voices/\u202eevil\u009b\u2066:p';
  jsonLines({ write: (line) => lines.push(line), now: () => new Date(0) })('warning', said, {
    workspace: said,
  });
  expect(lines).toEqual([expect.stringMatching(/^[ -~]+\n$/)]);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'warning', message: said, workspace: said });
});

it.each([
  { args: ['plan', '--bogus', '--log-format', 'json'], message: "error: unknown option '--bogus'" },
  { args: ['--log-format=json', 'bogus'], message: "error: unknown command 'bogus'" },
  {
    args: ['--log-format', 'json', 'graph', '--output', 'zz'],
    message: /^error: .* Expected one of mermaid, dot, svg, html\.$/,
  },
])('has wrong usage in it too: $args', async ({ args, message }) => {
  const { code, stderr } = await command(args, { cwd: import.meta.dirname });
  expect(code).toBe(64);
  const [error, hint, ...more] = stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(error).toMatchObject({ level: 'error', message: expect.stringMatching(message) });
  expect(hint).toMatchObject({ level: 'error', message: expect.stringMatching(/^hint: {2}Run voxform/) });
  expect(more).toEqual([]);
});
