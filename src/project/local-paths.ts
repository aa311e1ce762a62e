import path from 'node:path';
import { linkTarget, realPathOf } from '../files/input-files.ts';
import { isInside } from '../manifests/read-file.ts';
import { attempt } from '../problems/attempt.ts';
import type { StateLocation } from '../state/state-location.ts';
import type { SecretSettings } from './secret-settings.ts';

/** The folders for the state and secrets of a project that was read from another location, such as a Git repository. */
export interface LocalPaths {
  /** Absolute path that `state.path` and `secrets_dir` are relative to. */
  readonly root: string;
  /** Absolute paths of further allowed folders. */
  readonly allowed: readonly string[];
  /** The address of the repository from which the project was fetched. */
  readonly source?: string | undefined;
  /** The end of an error message, which explains how to allow another folder. By default, it mentions `--allow-dir`. */
  readonly allowedWith?: string | undefined;
  /** The folder that `secrets_dir` is relative to, and whether workspaces without `secrets_dir` use it. If absent, the root. */
  readonly secrets?: { readonly folder: string; readonly isDefault: boolean } | undefined;
  /** Returns the reason why a workspace must not read secrets from a folder that passed `pathProblem`, if any. */
  secretsProblem?(folder: string): string | undefined;
  /** The secret sources of workspaces that configure none. Their paths are relative to the folder, and commands run in it. */
  readonly secretSources?: { readonly settings: SecretSettings; readonly folder: string } | undefined;
  /** True if the project's settings may contain secret commands. */
  readonly mayRunCommands?: boolean | undefined;
  /** The maximum number of values in all manifests of the project together, if it is limited. */
  readonly maxValues?: number | undefined;
  /** The maximum number of characters of the resources of one workspace, if it is limited. */
  readonly maxCharacters?: number | undefined;
  /** True if files next to the project are temporary, so that no state may be stored there. */
  readonly isTemporary?: boolean | undefined;
  /** Returns the state location of a workspace without `state` settings. If absent, the state is local. */
  stateOf?(workspace: string): StateLocation;
  /** Returns the reason why a workspace must not keep its state at this location, if any. */
  stateProblem?(workspace: string, place: StateLocation): string | undefined;
}

/** Returns true if the secret files are in the project itself. Links in them must not point to the secrets of other projects. */
export function hasOwnSecretsFolder({ secrets }: LocalPaths): boolean {
  return secrets !== undefined && !secrets.isDefault;
}

/** The folder of checkouts, relative to the root. */
export const CHECKOUTS_FOLDER = path.join('.voxform', 'git');

/**
 * Returns the reason why a setting must not use a path; undefined if it may. Symbolic links are resolved.
 * @param file an absolute path, which need not exist.
 */
export function pathProblem(
  setting: string,
  file: string,
  { root, allowed, secrets, allowedWith = 'allow it with --allow-dir' }: LocalPaths,
): string | undefined {
  const real = resolveLinks(file);
  const resolved = real ?? file;
  const isBelow = (folder: string): boolean => {
    const base = resolveLinks(folder);
    return real !== undefined && base !== undefined && isInside(real, base);
  };
  if (isBelow(path.join(root, CHECKOUTS_FOLDER)))
    return `${setting} points into a checkout (${resolved}), which the next commit replaces`;
  const base = setting === 'secrets_dir' ? (secrets?.folder ?? root) : root;
  const ownFolders = base === root ? [root, path.join(root, '.voxform')] : [base];
  if ([...ownFolders, ...allowed].some(isBelow)) return undefined;
  return `${setting} points to ${resolved}, outside ${base}; ${allowedWith}`;
}

/** The maximum number of symbolic links to follow, as in Linux. */
const MAX_LINKS = 40;

/** Resolves symbolic links, even in a path whose end does not exist yet. Returns undefined for a cycle of links. */
export function resolveLinks(file: string, links = MAX_LINKS): string | undefined {
  const real = attempt(() => realPathOf(file));
  const parent = path.dirname(file);
  if (real !== undefined || parent === file) return real ?? file;
  const folder = resolveLinks(parent, links);
  if (folder === undefined) return undefined;
  const unresolved = path.join(folder, path.basename(file));
  const target = linkTarget(unresolved);
  if (target === undefined) return unresolved;
  return links === 0 ? undefined : resolveLinks(path.resolve(folder, target), links - 1);
}
