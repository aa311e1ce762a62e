import { structuredPatch } from 'diff';
import type { FileEdit } from '../project/write-back/edit-plan.ts';
import { escapeControls } from './escape-controls.ts';
import type { Format, Style } from './style.ts';

interface ChangedFile extends FileEdit {
  /** The names above the diff, if they differ from the name of the file. */
  readonly names?: { readonly before: string; readonly after: string };
}

const contextLines = 3;
/** The maximum number of differing lines, because finding the shortest diff takes quadratic time. */
const maxEdits = 4000;

export function unifiedDiff({ file, before, after, names }: ChangedFile): string {
  const heads = names ?? { before: `a/${file}`, after: `b/${file}` };
  const options = { context: contextLines, maxEditLength: maxEdits };
  const patch = structuredPatch(heads.before, heads.after, before, after, undefined, undefined, options);
  const lines = [`--- ${escapeControls(heads.before)}`, `+++ ${escapeControls(heads.after)}`];
  for (const hunk of patch?.hunks ?? [wholeFile(before, after)]) {
    const at = (start: number, count: number): string => `${start}${count === 1 ? '' : `,${count}`}`;
    lines.push(`@@ -${at(hunk.oldStart, hunk.oldLines)} +${at(hunk.newStart, hunk.newLines)} @@`);
    // The carriage return of a Windows line ending is removed, not escaped.
    for (const line of hunk.lines) lines.push(escapeControls(line.replace(/\r$/, '')));
  }
  return `${lines.join('\n')}\n`;
}

function wholeFile(before: string, after: string) {
  const linesOf = (text: string): string[] => text.replace(/\n$/, '').split('\n');
  const [old, now] = [linesOf(before), linesOf(after)];
  return {
    oldStart: 1,
    oldLines: old.length,
    newStart: 1,
    newLines: now.length,
    lines: [...old.map((line) => `-${line}`), ...now.map((line) => `+${line}`)],
  };
}

/** Returns a unified diff of the files for `git apply`. */
export function renderFileDiffs(files: readonly ChangedFile[], style: Style): string {
  const formats: Readonly<Record<string, Format>> = { '@': style.dim, '+': style.added, '-': style.removed };
  const colored = (line: string, index: number) => (index < 2 ? style.bold : (formats[line.charAt(0)] ?? String))(line);
  return files.map((file) => unifiedDiff(file).split('\n').map(colored).join('\n')).join('');
}
