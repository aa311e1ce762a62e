import path from 'node:path';
import { linkTarget, realPathOf } from '../files/input-files.ts';
import { isInside } from '../manifests/read-file.ts';
import { attempt } from '../problems/attempt.ts';
import type { StatePlace } from '../state/state-place.ts';

/** Where the state and the secrets of a project lie that is read from elsewhere, as from a repository. */
export interface LocalPaths {
  /** Absolute path that `state.path` and `secrets_dir` are relative to. */
  readonly root: string;
  /** Absolute paths of further folders that the two may lead to. */
  readonly allowed: readonly string[];
  /** Address of the repository that the project was fetched from. */
  readonly source?: string | undefined;
  /** How a person allows another folder; `--allow-dir` where absent. */
  readonly allowedWith?: string | undefined;
  /** Where a relative `secrets_dir` begins, and whether that is the one of workspaces that name none; the root where absent. */
  readonly secrets?: { readonly folder: string; readonly isDefault: boolean } | undefined;
  /** Why a workspace may not read its secrets from a folder that passed `pathProblem`; undefined where it may. */
  secretsProblem?(folder: string): string | undefined;
  /** True where files beside the project do not last, so that no state may be kept in one. */
  readonly isFleeting?: boolean | undefined;
  /** The state of a workspace whose project file says nothing of it; a local one where absent. */
  stateOf?(workspace: string): StatePlace;
  /** Why a workspace may not keep its state at that place; undefined where it may. */
  stateProblem?(workspace: string, place: StatePlace): string | undefined;
}

/** True where the files of secrets are in the project itself, whose links may not lead to those of others. */
export function areSecretsOwn({ secrets }: LocalPaths): boolean {
  return secrets !== undefined && !secrets.isDefault;
}

/** Folder of the checkouts, below the root. */
export const CHECKOUTS = path.join('.voxform', 'git');

/**
 * Why a setting may not name that path; undefined where it may. Symbolic links count for what they lead to.
 * @param file an absolute path, which need not exist.
 */
export function pathProblem(
  setting: string,
  file: string,
  { root, allowed, secrets, allowedWith = 'allow it with --allow-dir' }: LocalPaths,
): string | undefined {
  const real = leadsTo(file);
  const shown = real ?? file;
  const isBelow = (folder: string): boolean => {
    const base = leadsTo(folder);
    return real !== undefined && base !== undefined && isInside(real, base);
  };
  if (isBelow(path.join(root, CHECKOUTS)))
    return `${setting} leads into a checkout (${shown}), which the next commit replaces`;
  const base = setting === 'secrets_dir' ? (secrets?.folder ?? root) : root;
  const own = base === root ? [root, path.join(root, '.voxform')] : [base];
  if ([...own, ...allowed].some(isBelow)) return undefined;
  return `${setting} leads to ${shown}, outside ${base}; ${allowedWith}`;
}

/** As many as an operating system follows. */
const MOST_LINKS = 40;

/** A path without symbolic links, also in front of a tail that does not exist yet; undefined where links never end. */
export function leadsTo(file: string, links = MOST_LINKS): string | undefined {
  const real = attempt(() => realPathOf(file));
  const parent = path.dirname(file);
  if (real !== undefined || parent === file) return real ?? file;
  const folder = leadsTo(parent, links);
  if (folder === undefined) return undefined;
  const here = path.join(folder, path.basename(file));
  const target = linkTarget(here);
  if (target === undefined) return here;
  return links === 0 ? undefined : leadsTo(path.resolve(folder, target), links - 1);
}
