import path from 'node:path';
import { entriesOf } from '../files/input-files.ts';
import { attempt } from '../problems/attempt.ts';
import { UserError } from '../problems/user-error.ts';
import { Redactor } from '../values/redactor.ts';
import { Secret } from '../values/value.ts';
import { realPath } from './read-file.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** A source of secrets. Sources with equal properties find the same secrets. */
export interface SecretSource {
  /** True if the source is neither a command nor a key store. Offline checks use only local sources. */
  readonly isLocal: boolean;
  /** A folder with one file per secret. */
  readonly folder?: string | undefined;
  /** Returns the file that may hold the secret. */
  fileOf?(name: string): string | undefined;
  /** Returns the secret if it is available without a read. Absent in a source that must be read. */
  known?(name: string): string | undefined;
  /** Returns undefined if the source does not have the secret. @throws UserError if the source cannot be read. */
  find(name: string, signal?: AbortSignal): Result<string> | undefined | Promise<Result<string> | undefined>;
  /** Describes a missing secret, as the end of a sentence. Undefined if the source cannot hold this secret. */
  describeMissing(name: string): string | undefined;
}

interface ReadOptions {
  readonly signal?: AbortSignal | undefined;
  /** True to read local sources only. */
  readonly offline?: boolean | undefined;
}

interface Freeze {
  /** The variables that `$env` may name. Others could expose any secret of this process. */
  readonly variables: ReadonlySet<string>;
  /** Describes a secret that was not read before the freeze, as the end of a sentence. */
  readonly unreadReason: string;
  /** The error of a source that could not be read. */
  readonly failure?: UserError | undefined;
}

/** The secrets of one workspace, each from the first source that has it. Call `read` before a load. */
export class SecretReader {
  readonly sources: readonly SecretSource[];
  readonly #found = new Map<string, Result<string>>();
  readonly #unread = new Set<string>();
  readonly #secrets = new Map<string, Secret>();
  #frozen: Freeze | undefined;

  constructor(sources: readonly SecretSource[]) {
    this.sources = sources;
  }

  /** Returns the secret with this name. Its value is available after `read`. */
  named(name: string): Secret {
    const known = this.#secrets.get(name);
    if (known !== undefined) return known;
    if (this.#result(name) === undefined) this.#unread.add(name);
    const secret = new Secret(name, () => {
      const found = this.#result(name);
      return found !== undefined && 'value' in found ? found.value : undefined;
    });
    this.#secrets.set(name, secret);
    return secret;
  }

  /** All secrets that `named` has returned. */
  get all(): Iterable<Secret> {
    return this.#secrets.values();
  }

  /** True if no source needs `read`. */
  get isComplete(): boolean {
    return this.sources.every(({ known }) => known !== undefined);
  }

  /** The names of the secrets that have not been read yet. */
  get unread(): readonly string[] {
    return [...this.#unread];
  }

  /** False if secrets may change without a change to a file. */
  get isLocal(): boolean {
    return this.sources.every(({ isLocal }) => isLocal);
  }

  /**
   * Reads these secrets, including those that were read before. By default, reads the unread ones.
   * @throws UserError if a source cannot be read.
   */
  async read(names: Iterable<string> = this.#unread, { signal, offline = false }: ReadOptions = {}): Promise<void> {
    if (this.#frozen?.failure !== undefined) throw this.#frozen.failure;
    if (this.#frozen !== undefined) return;
    const wanted = [...new Set(names)];
    const sources = offline ? this.sources.filter(({ isLocal }) => isLocal) : this.sources;
    const read = await Promise.allSettled(wanted.map((name) => findIn(sources, name, signal)));
    const failed = new Map<string, UserError>();
    for (const [index, name] of wanted.entries()) {
      const result = read[index];
      if (result?.status === 'rejected') {
        if (!(result.reason instanceof UserError)) throw result.reason;
        failed.set(result.reason.message, result.reason);
      } else if (result?.value !== undefined) this.#found.set(name, result.value);
      else this.#found.delete(name);
      if (!offline || this.isLocal) this.#unread.delete(name);
    }
    const [first] = failed.values();
    if (first === undefined) return;
    const redactor = new Redactor();
    for (const each of this.#found.values()) if ('value' in each) redactor.add(each.value);
    for (const each of this.all) if (each.isSet) redactor.add(each.reveal());
    const message = redactor.redact([...failed.keys()].join('\n'));
    throw new UserError(message, first.advice === undefined ? {} : { hint: first.advice });
  }

  /** Freezes the secrets. Later calls of `read` read no source: they have no effect, or throw `failure`. */
  freeze(freeze: Freeze): void {
    this.#frozen = freeze;
  }

  /** Returns true if `$env` may name this variable. */
  permitsVariable(name: string): boolean {
    return this.#frozen === undefined || this.#frozen.variables.has(name);
  }

  /** Returns the reason why a secret has no value; undefined if it has a value. */
  problem(name: string): { readonly code: string; readonly message: string } | undefined {
    const found = this.#result(name) ?? this.#missing(name);
    return 'value' in found ? undefined : found;
  }

  /** Returns the files that may hold the secret. */
  filesOf(name: string): readonly string[] {
    return this.sources.flatMap((source) => source.fileOf?.(name) ?? []);
  }

  /** The real paths of the files that hold secrets, and of the folders whose files are secrets. */
  get secretPaths(): readonly string[] {
    return this.sources.flatMap((source) => {
      const { folder } = source;
      if (folder === undefined)
        return [source.fileOf?.('')].flatMap((file) => (file === undefined ? [] : realPath(file)));
      const links = (attempt(() => entriesOf(folder)) ?? []).filter((entry) => entry.isSymbolicLink());
      return [folder, ...links.map(({ name }) => path.join(folder, name))].map(realPath);
    });
  }

  /** The folders with one file per secret. */
  get folders(): readonly string[] {
    return this.sources.flatMap(({ folder }) => folder ?? []);
  }

  #result(name: string): Result<string> | undefined {
    const read = this.#found.get(name);
    if (read !== undefined) return read;
    // A source without `known` may have the secret but must be read first, so later sources must not be used.
    for (const source of this.sources) {
      const value = source.known?.(name);
      if (value !== undefined) return asResult(name, value);
      if (source.known === undefined) return undefined;
    }
    return undefined;
  }

  #missing(name: string): Result<string> {
    if (this.#frozen !== undefined)
      return { code: 'unread-secret', message: `the secret ${name} ${this.#frozen.unreadReason}` };
    const parts = this.sources.flatMap((source) => source.describeMissing(name) ?? []);
    const reason = parts.length === 0 ? 'was not found in any source' : parts.join(', and ');
    return { code: 'missing-secret', message: `the secret ${name} ${reason}` };
  }
}

async function findIn(
  sources: readonly SecretSource[],
  name: string,
  signal: AbortSignal | undefined,
): Promise<Result<string> | undefined> {
  for (const source of sources) {
    const result = await source.find(name, signal);
    if (result !== undefined) return 'value' in result ? asResult(name, result.value) : result;
  }
  return undefined;
}

/** Finds secrets in the environment, including the project's `.env`. An empty variable counts as unset. */
export class EnvironmentSource implements SecretSource {
  readonly isLocal = true;
  readonly env: Environment;

  constructor(env: Environment) {
    this.env = env;
  }

  known(name: string): string | undefined {
    return this.env[name] || undefined;
  }

  find(name: string): Result<string> | undefined {
    const value = this.known(name);
    return value === undefined ? undefined : { value };
  }

  describeMissing(name: string): string {
    return this.env[name] === '' ? 'is empty in the environment' : 'is not set in the environment or .env';
  }
}

function asResult(name: string, text: string): Result<string> {
  return isPlaceholder(text) ? placeholderProblem(`the secret ${name}`) : { value: text };
}

/** An export writes this text in place of a secret. A person must replace it. It is never used as a secret. */
export const EXPORT_PLACEHOLDER = 'voxform-export-placeholder';

export type Result<T> = { readonly value: T } | { readonly code: string; readonly message: string };

export function isPlaceholder(text: string): boolean {
  return text.trim() === EXPORT_PLACEHOLDER;
}

export function placeholderProblem(subject: string): { readonly code: string; readonly message: string } {
  return {
    code: 'placeholder-secret',
    message: `${subject} still has the placeholder from an export; replace it with the real value`,
  };
}
