import { diffWordsWithSpace } from 'diff';

/** A part of a line. All parts of a line put together are the line. */
export interface Word {
  readonly text: string;
  readonly changed: boolean;
}

/** In characters, of both sides: longer ones take too long to compare. */
const longest = 20_000;
/** Of a line: with less of it kept, marks would only be noise. */
const leastKept = 0.3;

/**
 * Which words of lines that took each other's place differ. Undefined for a line of which too little was kept, and for one
 * that was kept as it is.
 */
export function markWords(
  before: readonly string[],
  after: readonly string[],
): readonly [before: (readonly Word[] | undefined)[], after: (readonly Word[] | undefined)[]] {
  const [old, now] = [before.join('\n'), after.join('\n')];
  const parts = old.length + now.length > longest ? [] : diffWordsWithSpace(old, now);
  const went = parts
    .filter(({ added }) => !added)
    .map(({ value, removed }) => ({ text: value, changed: removed }));
  const came = parts
    .filter(({ removed }) => !removed)
    .map(({ value, added }) => ({ text: value, changed: added }));
  return [byLine(went, before.length), byLine(came, after.length)];
}

function byLine(parts: readonly Word[], count: number): (readonly Word[] | undefined)[] {
  const lines: Word[][] = [[]];
  for (const { text, changed } of parts) {
    for (const [index, piece] of text.split('\n').entries()) {
      if (index > 0) lines.push([]);
      if (piece !== '') lines.at(-1)?.push({ text: piece, changed });
    }
  }
  return Array.from({ length: count }, (_, index) => telling(joined(lines[index] ?? [])));
}

/** Blanks between two changed words are changed with them: a mark over both reads better than two. */
function joined(words: readonly Word[]): Word[] {
  const all: Word[] = [];
  for (const [index, word] of words.entries()) {
    const isGap = word.text.trim() === '' && words[index - 1]?.changed && words[index + 1]?.changed;
    const changed = word.changed || isGap === true;
    const last = all.at(-1);
    if (last?.changed === changed) all[all.length - 1] = { text: last.text + word.text, changed };
    else all.push({ text: word.text, changed });
  }
  return all;
}

function telling(words: readonly Word[]): readonly Word[] | undefined {
  const length = (which: readonly Word[]) => which.reduce((sum, { text }) => sum + text.trim().length, 0);
  const kept = words.filter(({ changed }) => !changed);
  if (kept.length === words.length) return undefined;
  return length(kept) >= leastKept * length(words) ? words : undefined;
}
