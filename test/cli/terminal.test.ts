import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { Terminal } from '../../src/cli/terminal.ts';
import { CLEAR_LINE } from '../../src/output/progress.ts';
import { Redactor } from '../../src/values/redactor.ts';

function terminalFor(env: Readonly<Record<string, string>>, isTTY = true) {
  const streams = {
    stdin: () => Object.assign(new PassThrough(), { isTTY }),
    stdout: Object.assign(new PassThrough(), { isTTY }),
    stderr: Object.assign(new PassThrough(), { isTTY }),
  };
  const terminal = new Terminal({ ...streams, env, color: true, redactor: new Redactor() });
  return { terminal, shown: () => String(streams.stderr.read() ?? '') };
}

describe('a line of progress', () => {
  it('is cleared before other output', () => {
    const { terminal, shown } = terminalFor({});
    terminal.draw(`${CLEAR_LINE}Reading: 1 of 2`);
    terminal.err('GET /x 200\n');
    terminal.err('GET /y 200\n');
    terminal.draw(`${CLEAR_LINE}Reading: 2 of 2`);
    terminal.draw(CLEAR_LINE);
    terminal.err('done\n');
    expect(shown()).toBe(
      `${CLEAR_LINE}Reading: 1 of 2${CLEAR_LINE}GET /x 200\nGET /y 200\n${CLEAR_LINE}Reading: 2 of 2${CLEAR_LINE}done\n`,
    );
  });

  it.each([
    { env: {}, isTTY: true, drawn: true, reason: 'a terminal' },
    { env: { CI: 'true' }, isTTY: true, drawn: false, reason: 'CI' },
    { env: { TERM: 'dumb' }, isTTY: true, drawn: false, reason: 'a dumb terminal' },
    { env: {}, isTTY: false, drawn: false, reason: 'a pipe' },
  ])('is drawn only on an interactive terminal: $reason', ({ env, isTTY, drawn }) => {
    const { terminal, shown } = terminalFor(env, isTTY);
    expect(terminal.canDraw).toBe(drawn);
    terminal.draw('Reading: 1 of 2\n');
    terminal.err('done\n');
    expect(shown()).toBe('Reading: 1 of 2\ndone\n');
  });
});
