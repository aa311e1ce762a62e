import path from 'node:path';
import { readTextFile } from '../manifests/read-file.ts';
import { renderDiagnostics } from '../output/diagnostics.ts';
import { createExcerpts, type Excerpt } from '../output/source-excerpt.ts';
import type { Diagnostic } from '../problems/diagnostic.ts';
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
  const above = () => findProjectFolder({ from: cwd, home, user: process.getuid?.() });
  const found = !isNamed ? above() : projectFileIn(cwd) === undefined ? undefined : cwd;
  if (found === undefined) return context;
  if (found !== cwd && !isSilent) log.info(`Using project ${found}`);
  return { ...context, projectFolder: found, env: usesEnvFile ? withEnvFile(found, env) : env };
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

/** Problems, with files relative to the current folder; on a terminal with the source lines. */
export function diagnosticsText(context: Context, diagnostics: readonly Diagnostic[], stream: 'out' | 'err'): string {
  const { terminal, log } = context;
  const isSeen = stream === 'out' ? terminal.showsResults : terminal.isWatched && !log.isJson;
  const style = stream === 'out' ? terminal.style : terminal.errorStyle;
  return renderDiagnostics(withPathsFromCwd(context, diagnostics), style, isSeen ? excerptsIn(context) : undefined);
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
