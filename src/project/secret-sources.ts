import path from 'node:path';
import { realPathOf } from '../files/input-files.ts';
import { isInside, readTextFile, realPath, withoutFinalNewline } from '../manifests/read-file.ts';
import { type Environment, EnvironmentSource, type Result, type SecretSource } from '../manifests/secret-reader.ts';
import { durationSeconds } from './duration.ts';
import { variablesIn } from './env-file.ts';
import { Keychain } from './keychain.ts';
import { CommandSource } from './secret-command.ts';
import type { SecretSettings } from './secret-settings.ts';

/** A folder with one file per secret. The final newline of a file is dropped. */
export class FolderSource implements SecretSource {
  readonly isLocal = true;
  readonly folder: string;
  readonly staysInside: boolean;
  readonly #name: string;

  /**
   * @param folder an absolute path.
   * @param staysInside true if a file must not be a link that leads out of the folder.
   * @param name of the folder in messages.
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
    const read = readTextFile(this.fileOf(name), this.staysInside ? realPath(this.folder) : undefined);
    if ('problem' in read && read.problem.code === 'outside-project') {
      const message = `the secret ${name} is a symbolic link that leads out of ${this.#name}`;
      return { code: 'outside-folder', message };
    }
    const text = 'text' in read ? withoutFinalNewline(read.text) : '';
    return text === '' ? undefined : { value: text };
  }

  lacks(): string {
    return `${this.#name} has no such file, or an empty one`;
  }
}

/** A file with `NAME=value` lines. */
class EnvFileSource implements SecretSource {
  readonly isLocal = true;
  readonly file: string;
  readonly inside: string | undefined;

  /** @param inside a folder that must contain the file; undefined for any place. */
  constructor(file: string, inside: string | undefined) {
    this.file = file;
    this.inside = inside;
  }

  fileOf(): string {
    return this.file;
  }

  /** @throws UserError for a file that cannot be read. */
  find(name: string): Result<string> | undefined {
    if (this.inside !== undefined && !isInside(realPath(this.file), realPathOf(this.inside))) return undefined;
    const value = variablesIn(this.file)?.[name];
    return value === undefined || value === '' ? undefined : { value };
  }

  lacks(): string {
    return `${path.basename(this.file)} does not set it`;
  }
}

interface SourcesPlace {
  readonly env: Environment;
  /** Absolute path that files and folders are relative to. */
  readonly base: string;
  /** The folder that commands run in. */
  readonly root: string;
  readonly workspace: string;
  /** The name of the project's folder. */
  readonly project: string;
  /** A folder that must contain files; undefined for any place. */
  readonly inside?: string | undefined;
  readonly staysInside?: boolean | undefined;
}

/** The sources of a list of settings. */
export function sourcesFrom(settings: SecretSettings, place: SourcesPlace): SecretSource[] {
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
