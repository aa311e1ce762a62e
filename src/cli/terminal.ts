import type { Readable, Writable } from 'node:stream';
import { CLEAR_LINE } from '../output/progress.ts';
import { createStyle, type Style } from '../output/style.ts';
import { attempt } from '../problems/attempt.ts';
import { UserError } from '../problems/user-error.ts';
import type { Redactor } from '../values/redactor.ts';

export interface TerminalOptions {
  /** Opens stdin. Called only if needed, because opening takes time. */
  readonly stdin: () => InputStream;
  readonly stdout: TerminalStream;
  readonly stderr: TerminalStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** False if the command line disables colors. */
  readonly color: boolean;
  /** Applied to everything that is written. */
  readonly redactor: Redactor;
}

type InputStream = Readable & { readonly isTTY?: boolean };

type TerminalStream = Writable & { readonly isTTY?: boolean; readonly columns?: number };

const DEFAULT_WIDTH = 80;
/** A width at which no cell is truncated. */
const UNLIMITED_WIDTH = 100_000;

/** The three streams of the process. Results go to `out`, everything else to `err`. */
export class Terminal {
  readonly style: Style;
  readonly errorStyle: Style;
  /** The style of tables. If stdout is not a terminal, cells are not truncated. */
  readonly tableStyle: Style;
  /** True if stdout is a terminal, so that a person reads the results as they appear. */
  readonly showsResults: boolean;
  /** True if stderr is a terminal, so that a person reads the messages as they appear. */
  readonly isWatched: boolean;
  /** True if stderr is a terminal with cursor control, outside CI. */
  readonly canDraw: boolean;
  readonly #options: TerminalOptions;
  /** The first write error of stdout, except for a closed reader. */
  #writeError: Error | undefined;
  #hasProgressLine = false;
  #hasResult = false;

  constructor(options: TerminalOptions) {
    const { stdout, stderr, env } = options;
    this.#options = options;
    this.style = styleFor(stdout, options);
    this.errorStyle = styleFor(stderr, options);
    this.showsResults = stdout.isTTY === true;
    this.tableStyle = this.showsResults ? this.style : { ...this.style, width: UNLIMITED_WIDTH };
    this.isWatched = stderr.isTTY === true;
    this.canDraw = stderr.isTTY === true && env.TERM !== 'dumb' && !isSet(env.CI);
    // A closed reader (`| head`) or a full disk must not stop a run in the middle of its writes.
    for (const stream of [stdout, stderr]) {
      stream.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EPIPE' && error.code !== 'EIO' && stream === stdout) this.#writeError ??= error;
      });
    }
  }

  /** True if a person can answer a prompt. */
  get canAsk(): boolean {
    return this.isWatched && this.#options.stdin().isTTY === true;
  }

  /**
   * Waits until everything is written.
   * @throws UserError if a part of the result could not be written.
   */
  async flush(): Promise<void> {
    const { stdout } = this.#options;
    if (!stdout.destroyed && stdout.writable) await new Promise((resolve) => stdout.write('', resolve));
    await new Promise((resolve) => setImmediate(resolve));
    if (this.#writeError === undefined) return;
    throw new UserError(`cannot write the result: ${this.#writeError.message}`, {
      hint: 'The command finished; only its output is incomplete.',
    });
  }

  /** The raw streams, for a protocol that reads and writes them itself. */
  get streams(): { readonly input: InputStream; readonly output: TerminalStream } {
    const { stdin, stdout } = this.#options;
    return { input: stdin(), output: stdout };
  }

  out(text: string): void {
    this.#hasResult ||= text !== '';
    this.#write(this.#options.stdout, text);
  }

  /** True after a part of the result has been written. */
  get hasResult(): boolean {
    return this.#hasResult;
  }

  /** True after the reader has closed stdout. */
  get isClosed(): boolean {
    return this.#options.stdout.destroyed || !this.#options.stdout.writable;
  }

  /** Writes a part of a long result, and waits until a slow reader has caught up. */
  async outWhenReady(text: string): Promise<void> {
    const { stdout } = this.#options;
    this.out(text);
    if (!stdout.writableNeedDrain) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        stdout.off('drain', done).off('close', done).off('error', done);
        resolve();
      };
      stdout.on('drain', done).on('close', done).on('error', done);
    });
  }

  /** Writes to stderr, after removing the progress line. */
  err(text: string): void {
    this.#write(this.#options.stderr, this.#hasProgressLine ? `${CLEAR_LINE}${text}` : text);
    this.#hasProgressLine = false;
  }

  /** Writes progress. Text without a final newline is removed before the next write. */
  draw(text: string): void {
    this.#write(this.#options.stderr, text);
    this.#hasProgressLine = this.canDraw && text !== CLEAR_LINE && !text.endsWith('\n');
  }

  /**
   * Reads stdin to its end, without the final newline.
   * @throws UserError if the text is not UTF-8, or is longer than `maxLength` characters.
   */
  async readInput(maxLength: number): Promise<string> {
    const decoder = new TextDecoder('utf-8', { fatal: true });
    const decode = (part?: Buffer): string => {
      const decoded = attempt(() => decoder.decode(part, { stream: part !== undefined }));
      if (decoded === undefined) throw new UserError('the input is not valid UTF-8');
      return decoded;
    };
    let text = '';
    for await (const part of this.#options.stdin()) {
      text += decode(Buffer.from(part));
      if (text.length > maxLength) throw new UserError(`the input is longer than ${maxLength} characters`);
    }
    return (text + decode()).replace(/\r?\n$/, '');
  }

  /** Returns the answer to a question; undefined if the input ends or the signal is aborted first. */
  async ask(
    question: string,
    signal: AbortSignal,
    { isShown = true }: { readonly isShown?: boolean } = {},
  ): Promise<string | undefined> {
    const { createInterface } = await import('node:readline/promises');
    const { Writable } = await import('node:stream');
    const { stdin, stderr } = this.#options;
    const output = isShown ? stderr : new Writable({ write: (_chunk, _encoding, done) => done() });
    const reader = createInterface({ input: stdin(), output, ...(!isShown && { terminal: true }) });
    // From here on, typed characters are not echoed.
    if (!isShown) this.err(question);
    try {
      const closed = new Promise<undefined>((resolve) => reader.once('close', () => resolve(undefined)));
      reader.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));
      // After Ctrl-Z and `fg`, the reader is paused. Without input, the process would end.
      reader.on('SIGCONT', () => {
        reader.resume();
        if (!isShown) this.err(question);
      });
      const answer = await Promise.race([reader.question(question, { signal }), closed]);
      // Ctrl-D leaves the cursor behind the question.
      if (isShown && answer === undefined) this.err('\n');
      return answer;
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    } finally {
      reader.close();
      if (!isShown) this.err('\n');
    }
  }

  #write(stream: TerminalStream, text: string): void {
    if (text !== '' && !stream.destroyed && stream.writable) stream.write(this.#options.redactor.redact(text));
  }
}

function styleFor(stream: TerminalStream, { env, color }: TerminalOptions): Style {
  const columns = stream.columns ?? Number.parseInt(env.COLUMNS ?? '', 10);
  return createStyle({
    color: color && !isSet(env.NO_COLOR) && (isSet(env.FORCE_COLOR) || (stream.isTTY === true && env.TERM !== 'dumb')),
    width: Number.isInteger(columns) && columns >= 20 ? columns : DEFAULT_WIDTH,
  });
}

function isSet(variable: string | undefined): boolean {
  return variable !== undefined && variable !== '' && variable !== '0';
}
