import path from 'node:path';
import { withEnvFile } from '../project/env-file.ts';
import { findProjectFolder, projectFileIn } from '../project/find-project.ts';
import type { Context } from './context.ts';

export interface ProjectLookup {
  /** True if the user named the folder: folders above are not searched. */
  readonly isNamed: boolean;
  readonly usesEnvFile: boolean;
  /** True for a command that reports its folder itself. */
  readonly isSilent: boolean;
}

/**
 * The context in its project: the folder with the project file, here or above, and the environment with the `.env` beside it.
 * @throws UserError
 */
export function inProject<C extends Context>(context: C, { isNamed, usesEnvFile, isSilent }: ProjectLookup): C {
  const { cwd, env, log } = context;
  const home = env.HOME ?? env.USERPROFILE;
  const found = isNamed ? named(cwd) : findProjectFolder({ from: cwd, home, user: process.getuid?.() });
  if (found === undefined) return context;
  if (found !== cwd && !isSilent) log.info(`Using project ${found}`);
  return { ...context, projectFolder: found, env: usesEnvFile ? withEnvFile(found, env) : env };
}

function named(folder: string): string | undefined {
  return projectFileIn(folder) === undefined ? undefined : folder;
}

/** Files of the project relative to the current folder, as in compilers. */
export function withPathsFromCwd<T extends { readonly file: string }>(
  { cwd, projectFolder = cwd, local }: Pick<Context, 'cwd' | 'projectFolder' | 'local'>,
  items: readonly T[],
): readonly T[] {
  // Nobody edits the files of a checkout.
  if (projectFolder === cwd || local !== undefined) return items;
  return items.map((item) => ({
    ...item,
    file: path.relative(cwd, path.join(projectFolder, item.file)).replaceAll(path.sep, '/'),
  }));
}
