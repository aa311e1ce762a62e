import path from 'node:path';
import { readTextFile } from '../manifests/read-file.ts';
import { renderDiagnostics } from '../output/diagnostics.ts';
import { createExcerpts, type Excerpt } from '../output/source-excerpt.ts';
import type { Diagnostic } from '../problems/diagnostic.ts';
import type { Context } from './context.ts';
import { withPathsFromCwd } from './project-context.ts';

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
