import path from 'node:path';
import { entriesOf } from '../files/input-files.ts';
import { attempt } from '../problems/attempt.ts';
import { UserError } from '../problems/user-error.ts';
import { Redactor } from '../values/redactor.ts';
import { Secret } from '../values/value.ts';
import { realPath } from './read-file.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** A place where secrets are looked up. Instances with equal properties find the same. */
export interface SecretSource {
  /** True if it is neither a command nor a key store, so that checks without the platform may use it. */
  readonly isLocal: boolean;
  /** A folder with one file per secret. */
  readonly folder?: string | undefined;
  /** The file that may have the secret. */
  fileOf?(name: string): string | undefined;
  /** The secret if it is known without reading. */
  known?(name: string): string | undefined;
  /** Undefined if the source does not have the secret. @throws UserError if it cannot be asked. */
  find(name: string, signal?: AbortSignal): Result<string> | undefined | Promise<Result<string> | undefined>;
  /** The end of a sentence about a missing secret; undefined if the source is not for this one. */
  lacks(name: string): string | undefined;
}

interface ReadOptions {
  readonly signal?: AbortSignal | undefined;
  /** True to look into local sources only. */
  readonly offline?: boolean | undefined;
}

interface Kept {
  /** The names that `$env` may have. Others could show any secret of this process. */
  readonly variables: ReadonlySet<string>;
  /** The end of a sentence about a secret that was not read before. */
  readonly lacks: string;
  /** Why a source could not be asked. */
  readonly failure?: UserError | undefined;
}

/** The secrets of one workspace, each from the first source that has it. `read` asks the sources, before a load. */
export class SecretReader {
  readonly sources: readonly SecretSource[];
  readonly #found = new Map<string, Result<string>>();
  readonly #unread = new Set<string>();
  readonly #named = new Map<string, Secret>();
  #kept: Kept | undefined;

  constructor(sources: readonly SecretSource[]) {
    this.sources = sources;
  }

  /** The text appears in the secret once it was read. */
  named(name: string): Secret {
    const known = this.#named.get(name);
    if (known !== undefined) return known;
    if (this.#result(name) === undefined) this.#unread.add(name);
    const secret = new Secret(name, () => {
      const found = this.#result(name);
      return found !== undefined && 'value' in found ? found.value : undefined;
    });
    this.#named.set(name, secret);
    return secret;
  }

  /** Those named so far. */
  get all(): Iterable<Secret> {
    return this.#named.values();
  }

  /** True if every secret is known without `read`. */
  get isComplete(): boolean {
    return this.sources.every(({ known }) => known !== undefined);
  }

  /** Names of secrets that were not read yet. */
  get unread(): readonly string[] {
    return [...this.#unread];
  }

  /** False if the secrets may change although no file does. */
  get isLocal(): boolean {
    return this.sources.every(({ isLocal }) => isLocal);
  }

  /**
   * Reads these secrets, again if they were read before; by default those named so far.
   * @throws UserError if a source cannot be asked.
   */
  async read(names: Iterable<string> = this.#unread, { signal, offline = false }: ReadOptions = {}): Promise<void> {
    if (this.#kept?.failure !== undefined) throw this.#kept.failure;
    if (this.#kept !== undefined) return;
    const wanted = [...new Set(names)];
    const sources = offline ? this.sources.filter(({ isLocal }) => isLocal) : this.sources;
    const read = await Promise.allSettled(wanted.map((name) => found(sources, name, signal)));
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
    const message = redactor.redact([...failed.keys()].join('\n'));
    throw new UserError(message, first.advice === undefined ? {} : { hint: first.advice });
  }

  /** From now on, no source is asked: `read` has no effect, or throws the failure. */
  keep(kept: Kept): void {
    this.#kept = kept;
  }

  /** True if `$env` may name this variable. */
  permitsVariable(name: string): boolean {
    return this.#kept === undefined || this.#kept.variables.has(name);
  }

  /** Why a secret has no text; undefined if it has one. */
  problem(name: string): { readonly code: string; readonly message: string } | undefined {
    const found = this.#result(name) ?? this.#missing(name);
    return 'value' in found ? undefined : found;
  }

  /** The files that the secret may be in. */
  filesOf(name: string): readonly string[] {
    return this.sources.flatMap((source) => source.fileOf?.(name) ?? []);
  }

  /** Real paths of the files that hold secrets, and of the folders whose files do. */
  get places(): readonly string[] {
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
    // A source that must be read comes before the others.
    for (const source of this.sources) {
      const value = source.known?.(name);
      if (value !== undefined) return checked(name, value);
      if (source.known === undefined) return undefined;
    }
    return undefined;
  }

  #missing(name: string): Result<string> {
    if (this.#kept !== undefined) return { code: 'unread-secret', message: `the secret ${name} ${this.#kept.lacks}` };
    const parts = this.sources.flatMap((source) => source.lacks(name) ?? []);
    const reason = parts.length === 0 ? 'is in none of its sources' : parts.join(', and ');
    return { code: 'missing-secret', message: `the secret ${name} ${reason}` };
  }
}

async function found(
  sources: readonly SecretSource[],
  name: string,
  signal: AbortSignal | undefined,
): Promise<Result<string> | undefined> {
  for (const source of sources) {
    const result = await source.find(name, signal);
    if (result !== undefined) return 'value' in result ? checked(name, result.value) : result;
  }
  return undefined;
}

/** The environment with the project's `.env`. An empty variable counts as unset. */
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

  lacks(name: string): string {
    return this.env[name] === '' ? 'is empty in the environment' : 'is not set in the environment or .env';
  }
}

function checked(name: string, text: string): Result<string> {
  return isPlaceholder(text) ? placeholderProblem(`the secret ${name}`) : { value: text };
}

/** The text of an export that a person must replace with a secret. It is never used as one. */
export const EXPORT_PLACEHOLDER = 'voxform-export-placeholder';

export type Result<T> = { readonly value: T } | { readonly code: string; readonly message: string };

export function isPlaceholder(text: string): boolean {
  return text.trim() === EXPORT_PLACEHOLDER;
}

export function placeholderProblem(what: string): { readonly code: string; readonly message: string } {
  return {
    code: 'placeholder-secret',
    message: `${what} still has the placeholder of an export; replace it with the real text`,
  };
}
