import path from 'node:path';
import { realPathOf } from '../files/input-files.ts';
import { type Secret, Unset, type Value } from '../values/value.ts';
import { isInside, readTextFile, reasonOf, withoutFinalNewline } from './read-file.ts';
import {
  type Environment,
  isPlaceholder,
  placeholderProblem,
  type Result,
  type SecretReader,
} from './secret-reader.ts';

interface InputSources {
  /** The real path of the project folder. */
  readonly root: string;
  readonly env: Environment;
  /** The secrets must have been read before. */
  readonly secrets: SecretReader;
  readonly vars: Readonly<Record<string, Value>>;
  /** True if an unset secret or variable is an error; false to use a placeholder for any text. */
  readonly mustBeSet: boolean;
}

/** The sources of value forms: environment, secrets and files. Variables come from the workspace. */
export class Inputs {
  readonly sources: InputSources;
  readonly #files = new Map<string, Result<string>>();
  #noted = new Set<string>();

  constructor(sources: InputSources) {
    this.sources = sources;
  }

  secret(name: string): Result<Secret> {
    const { secrets, mustBeSet } = this.sources;
    for (const file of secrets.filesOf(name)) this.#noted.add(file);
    const problem = secrets.problem(name);
    const isValid = problem === undefined || (!mustBeSet && problem.code === 'missing-secret');
    return isValid ? { value: secrets.named(name) } : problem;
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

  /** Runs work and returns the absolute paths of the files that it requested. */
  withUsedFiles<T>(work: () => T): { readonly result: T; readonly files: readonly string[] } {
    this.#noted = new Set();
    return { result: work(), files: [...this.#noted] };
  }

  /** The value that a setting refers to. */
  named(form: { readonly $secret: string } | { readonly $env: string }): Result<Secret | string | Unset> {
    return '$secret' in form ? this.secret(form.$secret) : this.variable(form.$env, undefined);
  }

  /** The text of a file without its final newline. The path is relative to `folder`. */
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
}

function remembered<T>(memory: Map<string, T>, key: string, find: (key: string) => T): T {
  const known = memory.get(key);
  if (known !== undefined) return known;
  const found = find(key);
  memory.set(key, found);
  return found;
}
