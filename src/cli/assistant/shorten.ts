import { isObject, type Json, mapParts } from '../../values/json.ts';
import { UNSAFE, unicodeEscape } from '../../values/unsafe-text.ts';

/** A way to make a result shorter, and what to tell the reader. */
export interface Shortening {
  readonly note: string;
  shorten(result: Json): Json;
}

const textsTo = (most: number): Shortening => ({
  note: `Texts are cut after ${most} characters.`,
  shorten: (result) => withTexts(result, (text) => cut(text, most)),
});

const listsTo = (most: number): Shortening => ({
  note: `Lists are cut after ${most} items.`,
  shorten: function shorten(result): Json {
    return mapParts<Json, Json>(Array.isArray(result) ? result.slice(0, most) : result, shorten);
  },
});

const levelsTo = (most: number): Shortening => ({
  note: `Objects more than ${most} levels deep are left out.`,
  shorten: (result) => withLevels(result, most),
});

export const shorterTexts = [1000, 300, 100].map(textsTo);
export const shorterLists = [500, 200, 100, 50, 20, 10, 5, 2, 1].map(listsTo);
export const fewerLevels = [12, 10, 8, 7, 6, 5, 4, 3, 2].map(levelsTo);

interface Shortened {
  readonly result: Json;
  /** A sentence about each kind of part that is missing. */
  readonly notes: readonly string[];
}

/** The result after as few steps as needed; undefined if it does not fit after all of them. */
export function shortened(
  result: Json,
  steps: readonly Shortening[],
  fits: (shortened: Shortened) => boolean,
): Shortened | undefined {
  let current: Shortened = { result, notes: [] };
  let size = JSON.stringify(result).length;
  for (const { note, shorten } of steps) {
    if (fits(current)) return current;
    const next = shorten(current.result);
    const length = JSON.stringify(next).length;
    if (length < size) current = { result: next, notes: [...withoutKind(current.notes, note), note] };
    size = Math.min(size, length);
  }
  return fits(current) ? current : undefined;
}

/** A note replaces the last one that begins alike, such as that of a higher limit. */
function withoutKind(notes: readonly string[], note: string): readonly string[] {
  const kind = (text: string) => text.replaceAll(/\d+/g, '');
  return notes.filter((each) => kind(each) !== kind(note));
}

/** Escapes visibly what could hide or forge text. Line feeds and tabs stay. */
export function withVisibleTexts(result: Json): Json {
  return withTexts(result, (text) =>
    text.replace(UNSAFE, (character) =>
      character === '\n' || character === '\t' ? character : unicodeEscape(character),
    ),
  );
}

/** With all texts changed, keys too, because the platform chooses the keys of some objects. */
function withTexts(value: Json, change: (text: string) => string): Json {
  if (typeof value === 'string') return change(value);
  const changed = mapParts<Json, Json>(value, (part) => withTexts(part, change));
  return isObject(changed)
    ? Object.fromEntries(Object.entries(changed).map(([key, part]) => [change(key), part as Json]))
    : changed;
}

function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const kept = text.slice(0, most).replace(/[\ud800-\udbff]$/, '');
  return `${kept}… (${text.length - kept.length} more characters)`;
}

function withLevels(value: Json, most: number): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (most === 0) return '…';
  return mapParts<Json, Json>(value, (part) => withLevels(part, most - 1));
}
