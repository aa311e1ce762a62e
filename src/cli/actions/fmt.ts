import { realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { kinds } from '../../kinds/index.ts';
import { findFiles, isManifestName } from '../../manifests/find-files.ts';
import { escapeGlob } from '../../manifests/glob.ts';
import { isInside, reasonOf } from '../../manifests/read-file.ts';
import { escapeControls } from '../../output/escape-controls.ts';
import { renderFileDiffs } from '../../output/file-diff.ts';
import { plural } from '../../output/plural.ts';
import { ExitCode, UserError } from '../../problems/user-error.ts';
import { formatFiles, projectFiles } from '../../project/format-files.ts';
import { loadProject } from '../../project/load-project.ts';
import { writeFiles } from '../../project/write-back/write-files.ts';
import type { Context } from '../context.ts';
import { diagnosticsText, withPathsFromCwd } from '../project-context.ts';

interface FmtOptions {
  readonly files: readonly string[];
  readonly check?: boolean;
  readonly diff?: boolean;
}

/** Formats files. Writes nothing if `check` or `diff` is set. */
export async function fmt(context: Context, options: FmtOptions): Promise<number> {
  const { files: names } = options;
  const { terminal, log, env, cwd, projectFolder = cwd } = context;
  const { root, files } =
    names.length > 0 ? filesNamed(projectFolder, cwd, names) : await filesOfProject(projectFolder, env);
  const { edits, count, diagnostics } = formatFiles({ root, files, kinds });
  const isWriting = options.check !== true && options.diff !== true;
  // The files are written before the report. If a write fails, no file must be reported as changed.
  if (isWriting) await writeFiles(root, edits);
  const shown = withPathsFromCwd(context, edits);
  const lines = shown.map(({ file }) => `${escapeControls(file)}\n`).join('');
  terminal.out(options.diff ? renderFileDiffs(shown, terminal.style) : lines);
  if (diagnostics.length > 0) log.block('error', diagnosticsText(context, diagnostics, 'err'));
  const failed = new Set(diagnostics.map(({ file }) => file)).size;
  log.info(summaryOf({ count, changed: edits.length, failed, isWriting }));
  const isWrong = diagnostics.length > 0 || (options.check === true && edits.length > 0);
  return isWrong ? ExitCode.error : ExitCode.ok;
}

interface Summary {
  /** The numbers of all files, of those that are not in canonical form, and of those that cannot be formatted. */
  readonly count: number;
  readonly changed: number;
  readonly failed: number;
  readonly isWriting: boolean;
}

function summaryOf({ count, changed, failed, isWriting }: Summary): string {
  if (count === 0) return 'No files to format.';
  if (changed > 0) return `${changed} of ${plural(count, 'file')} ${isWriting ? 'formatted' : 'not formatted'}.`;
  return `${plural(count, 'file')} checked: ${failed > 0 ? `${failed} cannot be formatted` : 'all formatted'}.`;
}

async function filesOfProject(cwd: string, env: Context['env']) {
  const project = await loadProject({ cwd, env });
  return { root: project.root, files: projectFiles(project) };
}

/**
 * Returns the project folder, and the files in it that the command line names.
 * @throws UserError for a file outside of the project, and for one that can be no manifest, such as a prompt.
 */
function filesNamed(folder: string, cwd: string, names: readonly string[]) {
  const root = resolveLinks(folder);
  const here = resolveLinks(cwd);
  const files = names.flatMap((name) => {
    const absolute = path.resolve(here, name);
    const relative = path.relative(root, absolute).replaceAll(path.sep, '/');
    if (!isInside(resolveLinks(absolute), root) || !isInside(absolute, root)) {
      const hint = 'Pass the folder of its project with -C DIR.';
      throw new UserError(`${name} is outside the project folder`, { hint });
    }
    if (!statSync(absolute).isDirectory()) {
      if (isManifestName(name)) return [relative];
      throw new UserError(`${name} is not a YAML or JSON file`);
    }
    const inside = relative === '' ? '' : `${escapeGlob(relative)}/`;
    return [...findFiles(root, [`${inside}**/*.{yaml,yml,json}`]).files];
  });
  return { root, files: [...new Set(files)] };
}

function resolveLinks(file: string): string {
  try {
    return realpathSync(file);
  } catch (error) {
    throw new UserError(`cannot read ${file}: ${reasonOf(error)}`);
  }
}
