import { isObject, type Json, type JsonObject, mapParts } from '../../values/json.ts';
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
export const longerTexts = [12_000, 8000, 4000, 2000].map(textsTo);
export const shorterLists = [500, 200, 100, 50, 20, 10, 5, 2, 1].map(listsTo);
export const fewerLevels = [12, 10, 8, 7, 6, 5, 4, 3, 2].map(levelsTo);

interface Shortened {
  readonly result: Json;
  /** A sentence about each kind of part that is missing. */
  readonly notes: readonly string[];
}

/** Selects items of the main list of a result. */
interface Page {
  /** The field with the list. */
  readonly list: string;
  /** The number of items to leave out at its start. */
  readonly skip: number;
}

/**
 * Returns the items of a page, shortened only as far as needed to fit. If no shortening suffices, the page has fewer items.
 * @returns undefined if not even one item fits.
 */
export function pageOf(
  result: Json,
  { list, skip, steps }: Page & { readonly steps: readonly Shortening[] },
  fits: (shortened: Shortened) => boolean,
): Shortened | undefined {
  const all = isObject(result) ? (result as JsonObject)[list] : undefined;
  if (!Array.isArray(all)) return shortened(result, [...steps, ...shorterLists], fits);
  const hasMore = (result as JsonObject).more === true;
  const page = (most: number): Shortened & { readonly isFitting: boolean } => {
    const end = Math.min(skip + most, all.length);
    const hasNext = end < all.length || hasMore;
    const next = hasNext ? `; pass skip: ${end} for the next ones` : '';
    const total = `${hasMore ? 'more than ' : ''}${all.length}`;
    const note = skip < end ? `${list} ${skip + 1} to ${end} of ${total}${next}.` : `No ${list} after ${all.length}.`;
    const isWhole = skip === 0 && !hasNext;
    const withNote = (part: Shortened) => ({ ...part, notes: isWhole ? part.notes : [...part.notes, note] });
    const part = { ...(result as JsonObject), [list]: all.slice(skip, end) };
    const last = shortened(part, steps, (each) => fits(withNote(each)));
    return last === undefined ? { result: part, notes: [], isFitting: false } : { ...withNote(last), isFitting: true };
  };
  const whole = page(all.length);
  if (whole.isFitting) return whole;
  let [best, low, high] = [undefined as Shortened | undefined, 0, all.length - skip];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const tried = page(middle);
    if (tried.isFitting) [best, low] = [tried, middle];
    else high = middle;
  }
  return best ?? shortened(result, [...steps, ...shorterLists], fits);
}

/** Returns the result, shortened only as far as needed to fit; undefined if no shortening suffices. */
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

/** Adds a note in place of an earlier one that differs only in its numbers. */
function withoutKind(notes: readonly string[], note: string): readonly string[] {
  const kind = (text: string) => text.replaceAll(/\d+/g, '');
  return notes.filter((each) => kind(each) !== kind(note));
}

/** Replaces control and bidirectional characters, except line feeds and tabs, with visible escapes. */
export function withVisibleTexts(result: Json): Json {
  return withTexts(result, (text) =>
    text.replace(UNSAFE, (character) =>
      character === '\n' || character === '\t' ? character : unicodeEscape(character),
    ),
  );
}

/** Applies `change` to all strings. Keys are included, because the platform chooses those of some objects. */
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
