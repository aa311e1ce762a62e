import path from 'node:path';
import { Secret } from '../values/value.ts';
import { readTextFile, realPath, withoutFinalNewline } from './read-file.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

interface SecretSources {
  readonly env: Environment;
  /** Absolute path. */
  readonly secretsDir?: string | undefined;
  /** True if a file of that folder must not be a link that leads out of it. */
  readonly secretsStay?: boolean | undefined;
}

/**
 * The secrets of one workspace: from the environment, else from the file of that name in the secrets folder without its final newline.
 * `read` reads everything but the environment, before a load.
 */
export class SecretReader {
  readonly sources: SecretSources;
  readonly #found = new Map<string, Result<string>>();
  readonly #unread = new Set<string>();
  readonly #named = new Map<string, Secret>();

  constructor(sources: SecretSources) {
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

  /** True if every secret is known without `read`. */
  get isComplete(): boolean {
    return this.sources.secretsDir === undefined;
  }

  /** Reads these secrets, again if they were read before, and those named so far. */
  async read(names: Iterable<string> = []): Promise<void> {
    const wanted = new Set([...this.#unread, ...names]);
    this.#unread.clear();
    for (const name of wanted) this.#found.set(name, this.#inFolder(name));
  }

  /** Why a secret has no text; undefined if it has one. */
  problem(name: string): { readonly code: string; readonly message: string } | undefined {
    const found = this.#result(name) ?? this.#missing(name);
    return 'value' in found ? undefined : found;
  }

  /** The file that the secret may be in. */
  fileOf(name: string): string | undefined {
    const { secretsDir } = this.sources;
    return secretsDir === undefined ? undefined : path.join(secretsDir, name);
  }

  #result(name: string): Result<string> | undefined {
    const text = this.sources.env[name];
    return text !== undefined && text !== '' ? checked(name, text) : this.#found.get(name);
  }

  #inFolder(name: string): Result<string> {
    const { secretsDir = '', secretsStay } = this.sources;
    const file = this.fileOf(name);
    if (file === undefined) return this.#missing(name);
    const read = readTextFile(file, secretsStay ? realPath(secretsDir) : undefined);
    if ('problem' in read && read.problem.code === 'outside-project') {
      const message = `the secret ${name} is a symbolic link that leads out of secrets_dir`;
      return { code: 'outside-folder', message };
    }
    const text = 'text' in read ? withoutFinalNewline(read.text) : '';
    return text === '' ? this.#missing(name) : checked(name, text);
  }

  #missing(name: string): Result<string> {
    const { env, secretsDir } = this.sources;
    const state = env[name] === '' ? 'is empty in the environment' : 'is not set in the environment or .env';
    const folder = secretsDir === undefined ? '' : ', and secrets_dir has no such file, or an empty one';
    return { code: 'missing-secret', message: `the secret ${name} ${state}${folder}` };
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
