import path from 'node:path';
import { realPathOf } from '../files/input-files.ts';
import { Secret, Unset, type Value } from '../values/value.ts';
import { isInside, readTextFile, realPath, reasonOf } from './read-file.ts';

/** What an export puts where a person must put a secret. It is never taken for one. */
export const EXPORT_PLACEHOLDER = 'voxform-export-placeholder';

export type Environment = Readonly<Record<string, string | undefined>>;

interface InputSources {
  /** The real path of the project folder. */
  readonly root: string;
  readonly env: Environment;
  /** Absolute path. */
  readonly secretsDir: string | undefined;
  /** True where a file of that folder may be no link that leads out of it. */
  readonly secretsStay?: boolean | undefined;
  readonly vars: Readonly<Record<string, Value>>;
  /** True where a secret or variable that is not set is an error, rather than a stand-in for any text. */
  readonly mustBeSet: boolean;
}

type Result<T> = { readonly value: T } | { readonly code: string; readonly message: string };

/** What value forms read: environment, secrets and files, each once. Variables come from the workspace. */
export class Inputs {
  readonly sources: InputSources;
  readonly #secrets = new Map<string, Result<Secret>>();
  readonly #files = new Map<string, Result<string>>();
  #noted = new Set<string>();

  constructor(sources: InputSources) {
    this.sources = sources;
  }

  /** From the environment, else from the file of that name in the secrets folder without its final newline. */
  secret(name: string): Result<Secret> {
    const { secretsDir } = this.sources;
    if (secretsDir !== undefined) this.#noted.add(path.join(secretsDir, name));
    return remembered(this.#secrets, name, () => this.#findSecret(name));
  }

  variable(name: string, fallback: string | undefined): Result<string | Unset> {
    const { env, mustBeSet } = this.sources;
    const value = env[name] ?? fallback;
    if (value !== undefined) {
      return isPlaceholder(value) ? placeholderProblem(`the environment variable ${name}`) : { value };
    }
    if (!mustBeSet) return { value: new Unset(name) };
    return { code: 'missing-variable', message: `the environment variable ${name} is not set` };
  }

  /** Does work, and takes note of the files that it asks for, as absolute paths. */
  noting<T>(work: () => T): { readonly result: T; readonly files: readonly string[] } {
    this.#noted = new Set();
    return { result: work(), files: [...this.#noted] };
  }

  /** What a setting names instead of holding it. */
  named(form: { readonly $secret: string } | { readonly $env: string }): Result<Secret | string | Unset> {
    return '$secret' in form ? this.secret(form.$secret) : this.variable(form.$env, undefined);
  }

  /** A file's text without its final newline. `folder` is what the path is relative to. */
  file(folder: string, relative: string): Result<string> {
    const { root } = this.sources;
    if (path.isAbsolute(relative)) return { code: 'outside-project', message: '$file needs a relative path' };
    const absolute = path.resolve(folder, relative);
    this.#noted.add(absolute);
    return remembered(this.#files, absolute, (file) => {
      const name = path.relative(root, file).replaceAll(path.sep, '/');
      const outside = { code: 'outside-project', message: `$file: ${name} is outside the project folder` };
      if (!isInside(file, root)) return outside;
      if (name === '') return { code: 'not-a-file', message: '$file is the project folder, expected a file' };
      try {
        if (!isInside(realPathOf(file), root)) return outside;
      } catch (error) {
        return { code: 'unreadable-file', message: `$file: ${name} cannot be read: ${reasonOf(error)}` };
      }
      const read = readTextFile(file);
      if ('text' in read) return { value: withoutFinalNewline(read.text) };
      return { code: read.problem.code, message: `$file: ${name}: ${read.problem.message}` };
    });
  }

  #findSecret(name: string): Result<Secret> {
    const { env, secretsDir, secretsStay, mustBeSet } = this.sources;
    const fromEnvironment = env[name];
    if (fromEnvironment !== undefined && fromEnvironment !== '') return secretOf(name, fromEnvironment);
    if (secretsDir !== undefined) {
      const read = readTextFile(path.join(secretsDir, name), secretsStay ? realPath(secretsDir) : undefined);
      if ('problem' in read && read.problem.code === 'outside-project') {
        const message = `the secret ${name} is a symbolic link that leads out of secrets_dir`;
        return { code: 'outside-folder', message };
      }
      if ('text' in read && withoutFinalNewline(read.text) !== '') {
        return secretOf(name, withoutFinalNewline(read.text));
      }
    }
    if (!mustBeSet) return { value: new Secret(name, undefined) };
    const state =
      fromEnvironment === '' ? 'is empty in the environment' : 'is not set in the environment or .env';
    const folder = secretsDir === undefined ? '' : `, and secrets_dir has no such file, or an empty one`;
    return { code: 'missing-secret', message: `the secret ${name} ${state}${folder}` };
  }
}

function secretOf(name: string, text: string): Result<Secret> {
  return isPlaceholder(text) ? placeholderProblem(`the secret ${name}`) : { value: new Secret(name, text) };
}

/** True for the text that an export puts where a person must put a secret. */
export function isPlaceholder(text: string): boolean {
  return text.trim() === EXPORT_PLACEHOLDER;
}

function placeholderProblem(what: string): { readonly code: string; readonly message: string } {
  return {
    code: 'placeholder-secret',
    message: `${what} still has the placeholder of an export; replace it with the real text`,
  };
}

function withoutFinalNewline(text: string): string {
  return text.replace(/\r?\n$/, '');
}

function remembered<T>(memory: Map<string, T>, key: string, find: (key: string) => T): T {
  const known = memory.get(key);
  if (known !== undefined) return known;
  const found = find(key);
  memory.set(key, found);
  return found;
}
