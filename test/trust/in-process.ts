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
  /** Takes the result, in place of what is given back. */
  readonly stdout?: Writable;
}

/** A whole command in this process: what it wrote, and its exit code. */
export async function command(
  args: readonly string[],
  { cwd, env = {}, now = () => new Date(), ...streams }: CommandOptions,
): Promise<CommandResult> {
  const [stdout, stderr] = [new Collector(), new Collector()];
  const code = await run({
    args,
    cwd,
    env,
    stdin: Readable.from([]),
    stdout: streams.stdout ?? stdout,
    stderr,
    interrupts: new Interrupts(() => undefined),
    now,
  });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

class Collector extends Writable {
  #text = '';

  get text(): string {
    return this.#text;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#text += chunk.toString('utf8');
    done();
  }
}
