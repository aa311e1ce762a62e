import type { Word } from './word-marks.ts';

/** In characters: a line longer than this is shown around the places where it differs. */
const longLine = 200;
const aroundDifference = 60;

/** The parts of a line, without most of what a long one has kept; of one that did not change, its beginning. */
export function aroundChanges(words: readonly Word[]): readonly Word[] {
  const length = words.reduce((sum, { text }) => sum + text.length, 0);
  if (length <= longLine) return words;
  if (words.every(({ changed }) => !changed)) {
    return words
      .slice(0, 1)
      .map(({ text }) => ({ text: `${text.slice(0, longLine).toWellFormed()}…`, changed: false }));
  }
  return words.map(({ text, changed }, index) => {
    if (changed) return { text, changed };
    const [isFirst, isLast] = [index === 0, index === words.length - 1];
    const room = aroundDifference * (isFirst || isLast ? 1 : 2);
    if (text.length <= room) return { text, changed };
    const start = isFirst ? '' : text.slice(0, aroundDifference).toWellFormed();
    const end = isLast ? '' : text.slice(-aroundDifference).toWellFormed();
    return { text: `${start}…${end}`, changed };
  });
}
