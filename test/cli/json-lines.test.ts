import { expect, it } from 'vitest';
import { jsonLines } from '../../src/cli/json-lines.ts';
import { command } from '../trust/in-process.ts';

it('the JSON log escapes control characters and keeps their values', () => {
  const lines: string[] = [];
  const text = 'voices/\u202eevil\u009b\u2066:p';
  jsonLines({ write: (line) => lines.push(line), now: () => new Date(0) })('warning', text, {
    workspace: text,
  });
  expect(lines).toEqual([expect.stringMatching(/^[ -~]+\n$/)]);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'warning', message: text, workspace: text });
});

it.each([
  { args: ['plan', '--bogus', '--log-format', 'json'], message: "error: unknown option '--bogus'" },
  { args: ['--log-format=json', 'bogus'], message: "error: unknown command 'bogus'" },
  {
    args: ['--log-format', 'json', 'graph', '--output', 'zz'],
    message: /^error: .* Expected one of mermaid, dot, svg, html\.$/,
  },
])('the JSON log contains wrong usage: $args', async ({ args, message }) => {
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
