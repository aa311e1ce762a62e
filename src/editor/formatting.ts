import { diffArrays } from 'diff';
import { kinds } from '../kinds/index.ts';
import { formattedText } from '../project/format-files.ts';
import type { ChangedText } from './snapshot.ts';

/** Beyond this many differing lines the shortest difference takes long to find. */
const MOST_EDITS = 1000;

/** What `voxform fmt` would change in a file, so that the cursor stays where it is elsewhere; nothing where the text is broken. */
export function formattingEdits(file: string, text: string): readonly ChangedText[] {
  const formatted = formattedText(file, text, kinds);
  if ('problems' in formatted || formatted.text === text) return [];
  const lines = diffArrays(linesOf(text), linesOf(formatted.text), { maxEditLength: MOST_EDITS });
  if (lines === undefined) return [{ start: 0, end: text.length, text: formatted.text }];
  const edits: ChangedText[] = [];
  let at = 0;
  let open: ChangedText | undefined;
  for (const { value, added, removed } of lines) {
    const chunk = value.join('');
    if (!added && !removed) {
      if (open !== undefined) edits.push(open);
      open = undefined;
    } else {
      const before: ChangedText = open ?? { start: at, end: at, text: '' };
      open = added ? { ...before, text: before.text + chunk } : { ...before, end: at + chunk.length };
    }
    if (!added) at += chunk.length;
  }
  return open === undefined ? edits : [...edits, open];
}

function linesOf(text: string): string[] {
  return text.split(/(?<=\n)/);
}
