import type { SecretReader } from '../manifests/secret-reader.ts';
import type { Json } from '../values/json.ts';
import type { ProjectConfig } from './project.ts';

/** What a process read at its start, for later runs: others may change the files of the project, but not what this process does. */
export interface KeptProject {
  /** The secrets by workspace. */
  readonly secrets: ReadonlyMap<string, SecretReader>;
  /** The variables that `$env` may name. Others could show any secret of this process. */
  readonly variables: ReadonlySet<string>;
  /** @throws UserError if settings changed that decide where requests, secrets and states go. */
  check(document: Json, project: ProjectConfig): void;
  /**
   * The settings of this machine that were read under this name.
   * @throws UserError if there are none, and it is too late to read them.
   */
  once<T>(name: string, read: () => Promise<T>): Promise<T>;
}
