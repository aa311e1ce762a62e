import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Terminal } from '../../src/cli/terminal.ts';
import { CLEAR_LINE } from '../../src/output/progress.ts';
import { Redactor } from '../../src/values/redactor.ts';

function terminalFor(env: Readonly<Record<string, string>>, isTTY = true) {
  const input = Object.assign(new PassThrough(), { isTTY });
  const streams = {
    stdin: () => input,
    stdout: Object.assign(new PassThrough(), { isTTY }),
    stderr: Object.assign(new PassThrough(), { isTTY }),
  };
  const terminal = new Terminal({ ...streams, env, color: true, redactor: new Redactor() });
  return { terminal, input, shown: () => String(streams.stderr.read() ?? '') };
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

describe('a question', () => {
  it.each([
    { isShown: true, reason: 'a visible answer' },
    { isShown: false, reason: 'a secret' },
  ])('is still answered after Ctrl-Z and fg: $reason', async ({ isShown }) => {
    const { terminal, input } = terminalFor({});
    const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
    onTestFinished(() => {
      kill.mockRestore();
      input.end();
    });
    const answer = terminal.ask('Continue? ', new AbortController().signal, { isShown });
    input.write('\u001a');
    await vi.waitFor(() => expect(kill).toHaveBeenCalledWith(process.pid, 'SIGTSTP'));
    process.emit('SIGCONT');
    input.write('yes\r');
    expect(await answer).toBe('yes');
  });

  it('ends its line at Ctrl-D', async () => {
    const { terminal, input, shown } = terminalFor({});
    const answer = terminal.ask('Continue? ', new AbortController().signal);
    input.write('\u0004');
    expect(await answer).toBeUndefined();
    expect(shown()).toMatch(/Continue\? [^\n]*\n$/);
  });
});

describe('text on stdin', () => {
  it('may be split inside a character, and must be UTF-8', async () => {
    const { terminal, input } = terminalFor({});
    const text = terminal.readInput(10);
    for (const byte of Buffer.from('é\n')) input.write(Buffer.of(byte));
    input.end();
    expect(await text).toBe('é');
    for (const bytes of [[0x61, 0xff], [0xc3]]) {
      const other = terminalFor({});
      other.input.end(Buffer.from(bytes));
      await expect(other.terminal.readInput(10)).rejects.toThrow('UTF-8');
    }
  });
});
