import path from 'node:path';
import { parseEnv } from 'node:util';
import { realPathOf, statusOf } from '../files/input-files.ts';
import { type StartedProcess, startProcess } from '../files/run-process.ts';
import { globMatcher } from '../manifests/glob.ts';
import { decoded, isInside, readTextFile, realPath, withoutFinalNewline } from '../manifests/read-file.ts';
import { type Environment, EnvironmentSource, type Result, type SecretSource } from '../manifests/secret-reader.ts';
import { attempt } from '../problems/attempt.ts';
import { errorCode, errorMessage } from '../problems/error-code.ts';
import { UserError } from '../problems/user-error.ts';
import { isObject } from '../values/json.ts';
import { ownVariables } from '../values/own-variables.ts';
import { Redactor } from '../values/redactor.ts';
import { UNSAFE } from '../values/unsafe-text.ts';
import { isExecutable } from '../version.ts';
import { durationSeconds } from './duration.ts';
import { variablesIn } from './env-file.ts';
import type { SecretSettings } from './secret-settings.ts';

/** Finds secrets in a folder with one file per secret. The final newline of a file is removed. */
export class FolderSource implements SecretSource {
  readonly isLocal = true;
  readonly folder: string;
  readonly staysInside: boolean;
  readonly #name: string;

  /**
   * @param folder an absolute path.
   * @param staysInside true if a file must not be a link to a file outside the folder.
   * @param name the name of the folder in messages.
   */
  constructor(folder: string, staysInside = false, name = 'secrets_dir') {
    this.folder = folder;
    this.staysInside = staysInside;
    this.#name = name;
  }

  fileOf(name: string): string {
    return path.join(this.folder, name);
  }

  find(name: string): Result<string> | undefined {
    const file = this.fileOf(name);
    const read = readTextFile(file, this.staysInside ? realPath(this.folder) : undefined);
    if ('text' in read) {
      const value = withoutFinalNewline(read.text);
      return value === '' ? undefined : { value };
    }
    if (read.problem.code === 'outside-project') {
      const message = `the secret ${name} is a symbolic link that points outside ${this.#name}`;
      return { code: 'outside-folder', message };
    }
    if (statusOf(file) === undefined) return undefined;
    return { code: 'missing-secret', message: `the secret ${name} in ${this.#name}: ${read.problem.message}` };
  }

  describeMissing(): string {
    return `is missing or empty in ${this.#name}`;
  }
}

/** Finds secrets in a file with `NAME=value` lines. */
class EnvFileSource implements SecretSource {
  readonly isLocal = true;
  readonly file: string;
  readonly inside: string | undefined;

  /** @param inside a folder that must contain the file; undefined permits any folder. */
  constructor(file: string, inside: string | undefined) {
    this.file = file;
    this.inside = inside;
  }

  fileOf(): string {
    return this.file;
  }

  /** @throws UserError if the file exists but cannot be read. */
  find(name: string): Result<string> | undefined {
    if (this.inside !== undefined && !isInside(realPath(this.file), realPathOf(this.inside))) return undefined;
    const value = variablesIn(this.file)?.[name];
    return value === undefined || value === '' ? undefined : { value };
  }

  describeMissing(): string {
    return `is not set in ${path.basename(this.file)}`;
  }
}

interface SourcesContext {
  readonly env: Environment;
  /** Absolute path that files and folders are relative to. */
  readonly base: string;
  /** The folder that commands run in. */
  readonly root: string;
  readonly workspace: string;
  /** The name of the project's folder. */
  readonly project: string;
  /** A folder that must contain the files of `env_file`. Undefined permits any folder. */
  readonly inside?: string | undefined;
  readonly staysInside?: boolean | undefined;
}

export function sourcesFrom(settings: SecretSettings, place: SourcesContext): SecretSource[] {
  const { env, base, root, workspace, project, inside, staysInside } = place;
  return settings.map((each): SecretSource => {
    if (each === 'environment') return new EnvironmentSource(env);
    if (each === 'keychain') return new Keychain(root);
    if ('env_file' in each) return new EnvFileSource(path.resolve(base, each.env_file), inside);
    if ('folder' in each)
      return new FolderSource(path.resolve(base, each.folder), staysInside, `the folder ${each.folder}`);
    const { command, names, format = 'text', timeout = '10s' } = each;
    const seconds = durationSeconds(timeout);
    return new CommandSource({ command, names, format, seconds, values: { workspace, project }, env, root });
  });
}

interface CommandOptions {
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** Globs of the secrets that the command can print. If absent, it can print all. */
  readonly names: readonly string[] | undefined;
  readonly format: 'text' | 'json' | 'dotenv';
  readonly seconds: number;
  /** The values of `{workspace}` and `{project}` in arguments. */
  readonly values: { readonly workspace: string; readonly project: string };
  readonly env: Environment;
  /** The folder in which the command runs. */
  readonly root: string;
}

const MAX_OUTPUT_BYTES = 1024 * 1024;
const MAX_PROCESSES = 4;
/** The maximum number of lines of the error output in a message, and of characters in each line. */
const MAX_LINES = 5;
const MAX_LINE_LENGTH = 300;

/** Runs a program that prints secrets: one secret per run if its arguments contain `{name}`, otherwise all of them in one run. */
class CommandSource implements SecretSource {
  readonly isLocal = false;
  readonly options: CommandOptions;
  readonly #matches: (name: string) => boolean;
  /** The output of each run, by its arguments. */
  readonly #runs = new Map<string, Promise<string>>();
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(options: CommandOptions) {
    this.options = options;
    const { names } = options;
    this.#matches = names === undefined ? () => true : globMatcher(names, { dot: true });
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

  describeMissing(name: string): string | undefined {
    return this.#matches(name) ? `is not printed by ${formatCommand(this.options.command)}` : undefined;
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
      const value = ownVariables(parseEnv(text))[name];
      return value === undefined || value === '' ? undefined : { value };
    }
    const all = attempt(() => JSON.parse(text) as unknown);
    if (!isObject(all)) throw this.#failure(args, 'did not print a JSON object');
    const value = Object.hasOwn(all, name) ? all[name] : undefined;
    if (value === undefined || value === '') return undefined;
    if (typeof value !== 'string') throw this.#failure(args, `printed a JSON object in which ${name} is not a string`);
    return { value };
  }

  async #runInTurn(args: readonly string[], signal: AbortSignal | undefined): Promise<string> {
    if (this.#running >= MAX_PROCESSES) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
    try {
      return await this.#run(args, signal);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  async #run(args: readonly string[], signal: AbortSignal | undefined): Promise<string> {
    const {
      command: [program = ''],
      seconds,
      env,
      root,
    } = this.options;
    const controller = new AbortController();
    const timer = setTimeout(
      () => controller.abort(this.#failure(args, `did not end within ${seconds} s`)),
      seconds * 1000,
    );
    const stop = (): void => controller.abort(new UserError('interrupted'));
    signal?.addEventListener('abort', stop, { once: true });
    try {
      if (signal?.aborted) stop();
      const started = await startProcess(program, args, { env, cwd: root, signal: controller.signal });
      started.child.stdin.end();
      const bytes = await outputOf(started, () => controller.abort(this.#failure(args, 'printed more than 1 MiB')));
      const { code, errorOutput } = await started.ended;
      const out = decoded({ bytes });
      if (code !== 0) {
        const lines = this.#safeLines(errorOutput, 'text' in out ? out.text : '');
        throw this.#failure(args, `failed with exit code ${code}`, lines);
      }
      if ('problem' in out) throw this.#failure(args, 'printed text that is not UTF-8');
      return out.text;
    } catch (error) {
      const code = errorCode(error);
      if (code === 'ENOENT') throw this.#failure(args, `cannot run: program not found: ${program}`);
      if (code === 'EACCES') throw this.#failure(args, `cannot run: ${program} is not executable`);
      throw error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
    }
  }

  /** Returns the last lines of the error output. Redacts the output of the command and the secrets of the environment. */
  #safeLines(errorOutput: string, out: string): string[] {
    const redactor = new Redactor();
    for (const text of [out.trim(), ...out.split(/\r?\n/)]) redactor.add(text);
    for (const [name, value] of Object.entries(this.options.env))
      if (value !== undefined && /KEY|TOKEN|SECRET|PASS|CREDENTIAL/i.test(name)) redactor.add(value);
    return redactor
      .redact(errorOutput)
      .split(/\r?\n/)
      .map((line) => line.replace(UNSAFE, ' ').trimEnd().slice(0, MAX_LINE_LENGTH))
      .filter((line) => line !== '')
      .slice(-MAX_LINES);
  }

  #failure(args: readonly string[], problem: string, lines: readonly string[] = []): UserError {
    const message = `the secret command ${formatCommand([this.options.command[0] ?? '', ...args])} ${problem}`;
    return new UserError(
      [`${message}${lines.length === 0 ? '' : ':'}`, ...lines.map((each) => `  ${each}`)].join('\n'),
      {
        hint: 'Run the command in the project folder to find the cause, or change secrets in voxform.yaml.',
      },
    );
  }
}

function formatCommand(command: readonly string[]): string {
  return JSON.stringify(command.join(' ').replace(UNSAFE, ' '));
}

/** Returns the output of a process. Calls `onTooLong` if it is too long. */
async function outputOf({ child, ended }: StartedProcess, onTooLong: () => void): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  child.stdout.on('data', (bytes: Buffer) => {
    size += bytes.length;
    if (size > MAX_OUTPUT_BYTES) onTooLong();
    else parts.push(bytes);
  });
  await ended;
  return Buffer.concat(parts);
}

type Keyring = typeof import('@napi-rs/keyring');

/** Selects the Secret Service on Linux, because other stores lose their entries at the next restart. */
const KEYRING_OPTIONS = { linux: { store: 'secret-service' } } as const;

/** Finds secrets of one project in the key store of the operating system: Keychain, Credential Manager or Secret Service. */
export class Keychain implements SecretSource {
  readonly isLocal = false;
  /** Real path of the project folder. */
  readonly project: string;

  constructor(project: string) {
    this.project = project;
  }

  async find(name: string): Promise<Result<string> | undefined> {
    const value = await this.#use((keyring) => this.#entry(keyring, name).getPassword());
    return value === null || value === '' ? undefined : { value };
  }

  describeMissing(): string {
    return 'has no entry for this project in the key store';
  }

  async set(name: string, value: string): Promise<void> {
    await this.#use((keyring) => this.#entry(keyring, name).setPassword(value));
  }

  /** Returns false if there was no such entry. */
  remove(name: string): Promise<boolean> {
    return this.#use((keyring) => this.#entry(keyring, name).deletePassword());
  }

  async names(): Promise<string[]> {
    const found = await this.#use((keyring) => {
      // This fails if there is no key store, whereas the search below would return an empty list.
      this.#entry(keyring, 'any');
      return keyring.findCredentialsAsync(this.#service);
    });
    return found.map(({ account }) => account).sort();
  }

  get #service(): string {
    return `voxform:${this.project}`;
  }

  #entry(keyring: Keyring, name: string): InstanceType<Keyring['AsyncEntry']> {
    return new keyring.AsyncEntry(this.#service, name, KEYRING_OPTIONS);
  }

  /** @throws UserError if there is no key store, or it is locked. */
  async #use<T>(work: (keyring: Keyring) => Promise<T>): Promise<T> {
    if (isExecutable) {
      throw new UserError('the one-file executable of voxform cannot use the key store of this machine', {
        hint: 'Set the secrets in the environment or in .env, configure a command for them under `secrets`, or install voxform as a Node.js package.',
      });
    }
    try {
      // The package is not installed on platforms for which it has no build.
      return await work(await import('@napi-rs/keyring'));
    } catch (error) {
      throw new UserError(`the key store of this machine cannot be used: ${errorMessage(error).split('\n')[0]}`, {
        hint: 'On Linux, it needs a Secret Service such as gnome-keyring or KWallet in an unlocked session. Without one, set the secrets in the environment or in .env.',
      });
    }
  }
}
