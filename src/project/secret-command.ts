import { parseEnv } from 'node:util';
import picomatch from 'picomatch';
import { type StartedProcess, startProcess } from '../files/run-process.ts';
import { withoutFinalNewline } from '../manifests/read-file.ts';
import type { Environment, Result, SecretSource } from '../manifests/secret-reader.ts';
import { attempt } from '../problems/attempt.ts';
import { errorCode } from '../problems/error-code.ts';
import { UserError } from '../problems/user-error.ts';
import { isObject } from '../values/json.ts';
import { Redactor } from '../values/redactor.ts';
import { UNSAFE } from '../values/unsafe-text.ts';

interface CommandOptions {
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** Globs of the secrets that it has; all if absent. */
  readonly names: readonly string[] | undefined;
  readonly format: 'text' | 'json' | 'dotenv';
  readonly seconds: number;
  /** What replaces `{workspace}` and `{project}` in arguments. */
  readonly values: { readonly workspace: string; readonly project: string };
  readonly env: Environment;
  /** The folder to run in. */
  readonly root: string;
}

const MAX_BYTES = 1024 * 1024;
const MAX_AT_ONCE = 4;
/** The maximum number of lines of the error output in a message, and of characters in each. */
const MAX_LINES = 5;
const MAX_LENGTH = 300;

/** A program that prints secrets: one for each run with `{name}` in its arguments, otherwise all of them in one run. */
export class CommandSource implements SecretSource {
  readonly isLocal = false;
  readonly options: CommandOptions;
  readonly #matches: (name: string) => boolean;
  /** By arguments. */
  readonly #runs = new Map<string, Promise<string>>();
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(options: CommandOptions) {
    this.options = options;
    const { names } = options;
    this.#matches = names === undefined ? () => true : picomatch([...names], { dot: true });
  }

  /** @throws UserError if the command fails. */
  async find(name: string, signal?: AbortSignal): Promise<Result<string> | undefined> {
    if (!this.#matches(name)) return undefined;
    const args = this.#argumentsFor(name);
    const key = JSON.stringify(args);
    const running = this.#runs.get(key) ?? this.#runInTurn(args, signal);
    this.#runs.set(key, running);
    return this.#secretIn(await running, { name, args });
  }

  lacks(name: string): string | undefined {
    return this.#matches(name) ? `${shown(this.options.command)} does not print it` : undefined;
  }

  #argumentsFor(name: string): string[] {
    const values: Readonly<Record<string, string>> = { name, ...this.options.values };
    const [, ...args] = this.options.command;
    return args.map((each) => each.replace(/\{(name|workspace|project)\}/g, (_, key: string) => values[key] ?? ''));
  }

  #secretIn(
    text: string,
    { name, args }: { readonly name: string; readonly args: readonly string[] },
  ): Result<string> | undefined {
    const { format } = this.options;
    if (format === 'text') {
      if (text.trim() === '') throw this.#failure(args, 'printed nothing');
      return { value: withoutFinalNewline(text) };
    }
    if (format === 'dotenv') {
      const value = parseEnv(text)[name];
      return value === undefined || value === '' ? undefined : { value };
    }
    const all = attempt(() => JSON.parse(text) as unknown);
    if (!isObject(all)) throw this.#failure(args, 'did not print a JSON object');
    const value = Object.hasOwn(all, name) ? all[name] : undefined;
    if (value === undefined || value === '') return undefined;
    if (typeof value !== 'string') throw this.#failure(args, `printed a JSON object in which ${name} is not text`);
    return { value };
  }

  async #runInTurn(args: readonly string[], signal: AbortSignal | undefined): Promise<string> {
    if (this.#running >= MAX_AT_ONCE) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#running += 1;
    try {
      return await this.#run(args, signal);
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #run(args: readonly string[], signal: AbortSignal | undefined): Promise<string> {
    const {
      command: [program = ''],
      seconds,
      env,
      root,
    } = this.options;
    const ending = new AbortController();
    const timer = setTimeout(
      () => ending.abort(this.#failure(args, `did not end within ${seconds} s`)),
      seconds * 1000,
    );
    const stop = (): void => ending.abort(new UserError('interrupted'));
    signal?.addEventListener('abort', stop, { once: true });
    let out = '';
    try {
      if (signal?.aborted) stop();
      const started = await startProcess(program, args, { env, cwd: root, signal: ending.signal });
      started.child.stdin.end();
      out = await outputOf(started, () => ending.abort(this.#failure(args, 'printed more than 1 MiB')));
      const { code, complaint } = await started.ended;
      if (code !== 0) throw this.#failure(args, `failed with exit code ${code}`, this.#safeLines(complaint, out));
      return out;
    } catch (error) {
      const code = errorCode(error);
      if (code === 'ENOENT') throw this.#failure(args, `cannot run: there is no program ${program}`);
      if (code === 'EACCES') throw this.#failure(args, `cannot run: ${program} is not executable`);
      throw error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
    }
  }

  /** The last lines of the error output, without what the command printed and without secrets of the environment. */
  #safeLines(complaint: string, out: string): string[] {
    const redactor = new Redactor();
    for (const text of [out.trim(), ...out.split(/\r?\n/)]) redactor.add(text);
    for (const [name, value] of Object.entries(this.options.env))
      if (value !== undefined && /KEY|TOKEN|SECRET|PASS|CREDENTIAL/i.test(name)) redactor.add(value);
    return redactor
      .redact(complaint)
      .split(/\r?\n/)
      .map((line) => line.replace(UNSAFE, ' ').trimEnd().slice(0, MAX_LENGTH))
      .filter((line) => line !== '')
      .slice(-MAX_LINES);
  }

  #failure(args: readonly string[], what: string, lines: readonly string[] = []): UserError {
    const message = `the command for secrets ${shown([this.options.command[0] ?? '', ...args])} ${what}`;
    return new UserError(
      [`${message}${lines.length === 0 ? '' : ':'}`, ...lines.map((each) => `  ${each}`)].join('\n'),
      {
        hint: 'Run it in the project folder to see what is missing, or change secrets in voxform.yaml.',
      },
    );
  }
}

function shown(command: readonly string[]): string {
  return JSON.stringify(command.join(' ').replace(UNSAFE, ' '));
}

/** The text that a process prints; calls `tooMuch` when it is too long. */
async function outputOf({ child, ended }: StartedProcess, tooMuch: () => void): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  child.stdout.on('data', (bytes: Buffer) => {
    size += bytes.length;
    if (size > MAX_BYTES) tooMuch();
    else parts.push(bytes);
  });
  await ended;
  return Buffer.concat(parts).toString('utf8');
}
