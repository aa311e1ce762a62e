import path from 'node:path';
import { linkTarget, realPathOf } from '../files/input-files.ts';
import { isInside } from '../manifests/read-file.ts';
import { attempt } from '../problems/attempt.ts';
import type { StateLocation } from '../state/state-location.ts';
import type { SecretSettings } from './secret-settings.ts';

/** The folders for state and secrets of a project that was read from elsewhere, such as a repository. */
export interface LocalPaths {
  /** Absolute path that `state.path` and `secrets_dir` are relative to. */
  readonly root: string;
  /** Absolute paths of further allowed folders. */
  readonly allowed: readonly string[];
  /** Address of the repository that the project was fetched from. */
  readonly source?: string | undefined;
  /** The end of the error message, which says how to allow another folder; by default it names `--allow-dir`. */
  readonly allowedWith?: string | undefined;
  /** The base of a relative `secrets_dir`, and whether it is the default of workspaces without one; the root if absent. */
  readonly secrets?: { readonly folder: string; readonly isDefault: boolean } | undefined;
  /** The reason why a workspace must not read secrets from a folder that passed `pathProblem`, if any. */
  secretsProblem?(folder: string): string | undefined;
  /** The secret sources of workspaces that configure none. Files are relative to the folder, and commands run in it. */
  readonly secretSources?: { readonly settings: SecretSettings; readonly folder: string } | undefined;
  /** True if the project's settings may name secret commands. */
  readonly mayRunCommands?: boolean | undefined;
  /** True if files beside the project are temporary, so that no state may be stored there. */
  readonly isTemporary?: boolean | undefined;
  /** The state of a workspace without `state` settings; by default a local one. */
  stateOf?(workspace: string): StateLocation;
  /** The reason why a workspace must not keep its state there, if any. */
  stateProblem?(workspace: string, place: StateLocation): string | undefined;
}

/** True if the secret files are in the project itself. Their links must not lead to secrets of other projects. */
export function areSecretsOwn({ secrets }: LocalPaths): boolean {
  return secrets !== undefined && !secrets.isDefault;
}

/** The folder of checkouts, below the root. */
export const CHECKOUTS = path.join('.voxform', 'git');

/**
 * The reason why a setting must not use the path; undefined if it may. Symbolic links are resolved.
 * @param file an absolute path, which may not exist.
 */
export function pathProblem(
  setting: string,
  file: string,
  { root, allowed, secrets, allowedWith = 'allow it with --allow-dir' }: LocalPaths,
): string | undefined {
  const real = resolveLinks(file);
  const shown = real ?? file;
  const isBelow = (folder: string): boolean => {
    const base = resolveLinks(folder);
    return real !== undefined && base !== undefined && isInside(real, base);
  };
  if (isBelow(path.join(root, CHECKOUTS)))
    return `${setting} leads into a checkout (${shown}), which the next commit replaces`;
  const base = setting === 'secrets_dir' ? (secrets?.folder ?? root) : root;
  const own = base === root ? [root, path.join(root, '.voxform')] : [base];
  if ([...own, ...allowed].some(isBelow)) return undefined;
  return `${setting} leads to ${shown}, outside ${base}; ${allowedWith}`;
}

/** The limit of Linux. */
const MAX_LINKS = 40;

/** The path without symbolic links, even if its end does not exist yet; undefined for a cycle of links. */
export function resolveLinks(file: string, links = MAX_LINKS): string | undefined {
  const real = attempt(() => realPathOf(file));
  const parent = path.dirname(file);
  if (real !== undefined || parent === file) return real ?? file;
  const folder = resolveLinks(parent, links);
  if (folder === undefined) return undefined;
  const here = path.join(folder, path.basename(file));
  const target = linkTarget(here);
  if (target === undefined) return here;
  return links === 0 ? undefined : resolveLinks(path.resolve(folder, target), links - 1);
}
