import { diffWordsWithSpace } from 'diff';

/** A part of a line. The concatenation of all parts is the whole line. */
export interface Word {
  readonly text: string;
  readonly changed: boolean;
}

/** The maximum total length of both sides, because comparing longer strings is too slow. */
const MAX_LENGTH = 20_000;
/** The maximum number of changed words and separators. With more, the lines have too little in common. */
const maxEdits = 400;
/** The minimum unchanged share of a line. With less, marks would be noise. */
const MIN_UNCHANGED_SHARE = 0.4;

/** Marks the changed words of replaced lines. The result is undefined for an unchanged line and for a line that is too different. */
export function markWords(
  before: readonly string[],
  after: readonly string[],
): readonly [before: (readonly Word[] | undefined)[], after: (readonly Word[] | undefined)[]] {
  const [old, now] = [before.join('\n'), after.join('\n')];
  const isLong = old.length + now.length > MAX_LENGTH;
  const parts = (isLong ? undefined : diffWordsWithSpace(old, now, { maxEditLength: maxEdits })) ?? [];
  const oldWords = parts.filter(({ added }) => !added).map(({ value, removed }) => ({ text: value, changed: removed }));
  const newWords = parts.filter(({ removed }) => !removed).map(({ value, added }) => ({ text: value, changed: added }));
  return [byLine(oldWords, before.length), byLine(newWords, after.length)];
}

function byLine(parts: readonly Word[], count: number): (readonly Word[] | undefined)[] {
  const lines: Word[][] = [[]];
  for (const { text, changed } of parts) {
    for (const [index, piece] of text.split('\n').entries()) {
      if (index > 0) lines.push([]);
      if (piece !== '') lines.at(-1)?.push({ text: piece, changed });
    }
  }
  return Array.from({ length: count }, (_, index) => usefulMarks(joinChanges(lines[index] ?? [])));
}

/** Merges two changed words and the white space between them, because one mark reads better than two. */
function joinChanges(words: readonly Word[]): Word[] {
  const filled = words.map(({ text, changed }, index): Word => {
    const isGap = text.trim() === '' && words[index - 1]?.changed === true && words[index + 1]?.changed === true;
    return { text, changed: changed || isGap };
  });
  return mergeAdjacent(mergeAdjacent(filled).flatMap(withoutEdges));
}

/** Excludes white space at the edges of a changed part, unless only white space changed. */
function withoutEdges(word: Word): Word[] {
  const core = word.text.trim();
  if (!word.changed || core === '') return [word];
  const start = word.text.indexOf(core);
  return [
    { text: word.text.slice(0, start), changed: false },
    { text: core, changed: true },
    { text: word.text.slice(start + core.length), changed: false },
  ].filter(({ text }) => text !== '');
}

function mergeAdjacent(words: readonly Word[]): Word[] {
  const all: Word[] = [];
  for (const { text, changed } of words) {
    const last = all.at(-1);
    if (last?.changed === changed) all[all.length - 1] = { text: last.text + text, changed };
    else all.push({ text, changed });
  }
  return all;
}

/** Returns the words, or undefined if none or too many of them changed. */
function usefulMarks(words: readonly Word[]): readonly Word[] | undefined {
  const length = (which: readonly Word[]) => which.reduce((sum, { text }) => sum + text.trim().length, 0);
  const unchanged = words.filter(({ changed }) => !changed);
  if (unchanged.length === words.length) return undefined;
  return length(unchanged) >= MIN_UNCHANGED_SHARE * length(words) ? words : undefined;
}

/** A longer line is reduced to its differences, with `CONTEXT_LENGTH` characters on each side. */
const MAX_LINE_LENGTH = 200;
const CONTEXT_LENGTH = 60;

/** Shortens the unchanged parts of a long line. Keeps only the beginning of a long unchanged line. */
export function aroundChanges(words: readonly Word[]): readonly Word[] {
  const length = words.reduce((sum, { text }) => sum + text.length, 0);
  if (length <= MAX_LINE_LENGTH) return words;
  const [first] = words;
  if (first !== undefined && words.every(({ changed }) => !changed))
    return [{ text: `${first.text.slice(0, MAX_LINE_LENGTH).toWellFormed()}…`, changed: false }];
  return words.map(({ text, changed }, index) => {
    if (changed) return { text, changed };
    const [isFirst, isLast] = [index === 0, index === words.length - 1];
    const room = CONTEXT_LENGTH * (isFirst || isLast ? 1 : 2);
    if (text.length <= room) return { text, changed };
    const start = isFirst ? '' : text.slice(0, CONTEXT_LENGTH).toWellFormed();
    const end = isLast ? '' : text.slice(-CONTEXT_LENGTH).toWellFormed();
    return { text: `${start}…${end}`, changed };
  });
}
