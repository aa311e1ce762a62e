import path from 'node:path';
import { isInside, readTextFile, realPath } from '../manifests/read-file.ts';
import { renderDiagnostics } from '../output/diagnostics.ts';
import { createExcerpts, type Excerpt } from '../output/source-excerpt.ts';
import type { Diagnostic } from '../problems/diagnostic.ts';
import { withEnvFile } from '../project/env-file.ts';
import { findProjectFolder, projectFileIn } from '../project/find-project.ts';
import type { Context } from './context.ts';

export interface ProjectLookup {
  /** True if the user named the folder; its parent folders are then not searched. */
  readonly isNamed: boolean;
  readonly usesEnvFile: boolean;
  /** True for a command that reports its project folder itself. */
  readonly isSilent: boolean;
}

/**
 * Adds the project folder and the variables of its `.env` to the context. The project folder is the current folder or its nearest parent
 * with a project file. If there is no such folder, returns the context unchanged.
 * @throws UserError
 */
export function inProject<C extends Context>(context: C, { isNamed, usesEnvFile, isSilent }: ProjectLookup): C {
  const { cwd, env, log } = context;
  const home = env.HOME ?? env.USERPROFILE;
  const nearest = () => findProjectFolder({ from: cwd, home, user: process.getuid?.() });
  const found = !isNamed ? nearest() : projectFileIn(cwd) === undefined ? undefined : cwd;
  if (found === undefined) return context;
  if (found !== cwd && !isSilent) log.info(`Using project ${found}`);
  return { ...context, projectFolder: found, env: usesEnvFile ? withEnvFile(found, env) : env };
}

/** Makes file paths relative to the current folder instead of the project folder, as compilers do. */
export function withPathsFromCwd<T extends { readonly file: string }>(
  { cwd, projectFolder = cwd, local }: Pick<Context, 'cwd' | 'projectFolder' | 'local'>,
  items: readonly T[],
): readonly T[] {
  // Users do not edit the files of a checkout, so their paths need not work in the current folder.
  if (projectFolder === cwd || local !== undefined) return items;
  return items.map((item) => ({
    ...item,
    file: path.relative(cwd, path.join(projectFolder, item.file)).replaceAll(path.sep, '/'),
  }));
}

/**
 * Returns the project folder in the repository of a CI job, with a final slash, because annotations and test reports name files by their
 * path in the repository. Empty for its root, and outside of a job.
 */
export function folderInRepository({ projectFolder, env }: Pick<Context, 'projectFolder' | 'env'>): string {
  const checkout = env.GITHUB_WORKSPACE || env.CI_PROJECT_DIR;
  if (projectFolder === undefined || !checkout) return '';
  const [root, folder] = [realPath(checkout), realPath(projectFolder)];
  const relative = isInside(folder, root) ? path.relative(root, folder).replaceAll(path.sep, '/') : '';
  return relative === '' ? '' : `${relative}/`;
}

/** Renders the diagnostics with paths relative to the current folder, and with source lines if the stream is a terminal. */
export function diagnosticsText(context: Context, diagnostics: readonly Diagnostic[], stream: 'out' | 'err'): string {
  const { terminal, log } = context;
  const isTerminal = stream === 'out' ? terminal.showsResults : terminal.isWatched && !log.isJson;
  const style = stream === 'out' ? terminal.style : terminal.errorStyle;
  return renderDiagnostics(withPathsFromCwd(context, diagnostics), style, isTerminal ? excerptsIn(context) : undefined);
}

function excerptsIn({ cwd, projectFolder = cwd, local, redactor }: Context): Excerpt {
  const folder = local === undefined ? cwd : projectFolder;
  return createExcerpts({
    sourceOf(file) {
      const read = readTextFile(path.resolve(folder, file));
      return 'text' in read ? read.text : undefined;
    },
    redact: redactor.redact,
  });
}
