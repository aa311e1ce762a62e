import { structuredPatch } from 'diff';
import { escapeControls } from './escape-controls.ts';
import type { Style } from './style.ts';

interface ChangedFile {
  readonly file: string;
  readonly before: string;
  readonly after: string;
  /** The names above the diff, if they differ from the file's. */
  readonly names?: { readonly before: string; readonly after: string };
}

const contextLines = 3;
/** The maximum number of differing lines; finding the shortest diff takes quadratic time. */
const maxEdits = 4000;

/** A unified diff of files for `git apply`. */
export function renderFileDiffs(files: readonly ChangedFile[], style: Style): string {
  return files.map((file) => fileDiff(file, style)).join('');
}

export function unifiedDiff({ file, before, after, names }: ChangedFile): string {
  const heads = names ?? { before: `a/${file}`, after: `b/${file}` };
  const options = { context: contextLines, maxEditLength: maxEdits };
  const patch = structuredPatch(heads.before, heads.after, before, after, undefined, undefined, options);
  const lines = [`--- ${escapeControls(heads.before)}`, `+++ ${escapeControls(heads.after)}`];
  for (const hunk of patch?.hunks ?? [wholeFile(before, after)]) {
    const at = (start: number, count: number): string => `${start}${count === 1 ? '' : `,${count}`}`;
    lines.push(`@@ -${at(hunk.oldStart, hunk.oldLines)} +${at(hunk.newStart, hunk.newLines)} @@`);
    for (const line of hunk.lines) lines.push(shown(line));
  }
  return `${lines.join('\n')}\n`;
}

/** A carriage return is expected only in a Windows line ending. */
function shown(line: string): string {
  return escapeControls(line.replace(/\r$/, ''));
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

function fileDiff(file: ChangedFile, style: Style): string {
  return unifiedDiff(file)
    .split('\n')
    .map((line, index) => {
      if (index < 2) return style.bold(line);
      if (line.startsWith('@')) return style.dim(line);
      if (line.startsWith('+')) return style.added(line);
      return line.startsWith('-') ? style.removed(line) : line;
    })
    .join('\n');
}
