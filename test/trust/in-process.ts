import { Readable, Writable } from 'node:stream';
import { Interrupts } from '../../src/cli/interrupts.ts';
import { run } from '../../src/cli/run.ts';

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly now?: () => Date;
  /** Receives the output instead of the result. */
  readonly stdout?: Writable;
  /** Stops the command, like SIGTERM, when its log matches. */
  readonly until?: RegExp | undefined;
  readonly interrupts?: Interrupts;
  /** Both outputs are a terminal of this width. */
  readonly columns?: number | undefined;
  /** Typed input on that terminal. Without it no question can be answered. */
  readonly typed?: string;
}

/** Runs a complete command in this process. Returns its output and exit code. */
export async function command(
  args: readonly string[],
  { cwd, env = {}, now = () => new Date(), until, columns, typed, ...rest }: CommandOptions,
): Promise<CommandResult> {
  const interrupts = rest.interrupts ?? new Interrupts(() => undefined);
  const stdout = new Collector();
  const stderr = new Collector((text) => {
    if (until?.test(text)) interrupts.raise('SIGTERM');
  });
  if (columns !== undefined) for (const each of [stdout, stderr]) Object.assign(each, { isTTY: true, columns });
  const code = await run({
    args,
    cwd,
    env,
    stdin: () => Object.assign(Readable.from([Buffer.from(typed ?? '')]), { isTTY: typed !== undefined }),
    stdout: rest.stdout ?? stdout,
    stderr,
    interrupts,
    now,
  });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

class Collector extends Writable {
  readonly #heard: (text: string) => void;
  #text = '';

  constructor(heard: (text: string) => void = () => undefined) {
    super();
    this.#heard = heard;
  }

  get text(): string {
    return this.#text;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#text += chunk.toString('utf8');
    this.#heard(this.#text);
    done();
  }
}
