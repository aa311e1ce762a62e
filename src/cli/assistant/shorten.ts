import { isObject, type Json, type JsonObject, mapParts } from '../../values/json.ts';
import { UNSAFE, unicodeEscape } from '../../values/unsafe-text.ts';

/** A way to shorten a result. */
export interface Shortening {
  /** A sentence for the reader that names the omitted parts. */
  readonly note: string;
  shorten(result: Json): Json;
}

const truncateStrings = (max: number): Shortening => ({
  note: `Strings are truncated after ${max} characters.`,
  shorten: (result) => mapStrings(result, (text) => truncate(text, max)),
});

const truncateLists = (max: number): Shortening => ({
  note: `Lists are truncated after ${max} items.`,
  shorten: function shorten(result): Json {
    return mapParts<Json, Json>(Array.isArray(result) ? result.slice(0, max) : result, shorten);
  },
});

const limitLevels = (max: number): Shortening => ({
  note: `Objects more than ${max} levels deep are omitted.`,
  shorten: (result) => withLevels(result, max),
});

export const shorterStrings = [1000, 300, 100].map(truncateStrings);
export const longerStrings = [12_000, 8000, 4000, 2000].map(truncateStrings);
export const shorterLists = [500, 200, 100, 50, 20, 10, 5, 2, 1].map(truncateLists);
export const fewerLevels = [12, 10, 8, 7, 6, 5, 4, 3, 2].map(limitLevels);

interface ShortenedResult {
  readonly result: Json;
  /** One sentence for each kind of omitted part. */
  readonly notes: readonly string[];
}

/** The start of a page of the main list of a result. */
interface Page {
  /** The name of the field with the list. */
  readonly list: string;
  /** The number of items to omit at the start of the list. */
  readonly skip: number;
}

/**
 * Returns the items of a page, shortened only as far as needed to fit. If no shortening suffices, the page has fewer items.
 * @returns undefined if not even one item fits.
 */
export function fitPage(
  result: Json,
  { list, skip, steps }: Page & { readonly steps: readonly Shortening[] },
  fits: (shortened: ShortenedResult) => boolean,
): ShortenedResult | undefined {
  const all = isObject(result) ? (result as JsonObject)[list] : undefined;
  if (!Array.isArray(all)) return shortenToFit(result, [...steps, ...shorterLists], fits);
  const hasMore = (result as JsonObject).more === true;
  const page = (max: number): ShortenedResult & { readonly isFitting: boolean } => {
    const end = Math.min(skip + max, all.length);
    const hasNext = end < all.length || hasMore;
    const next = hasNext ? `; pass skip: ${end} for the next page` : '';
    const total = `${hasMore ? 'more than ' : ''}${all.length}`;
    const note = skip < end ? `${list} ${skip + 1} to ${end} of ${total}${next}.` : `No ${list} after ${all.length}.`;
    const isComplete = skip === 0 && !hasNext;
    const withNote = (part: ShortenedResult) => ({ ...part, notes: isComplete ? part.notes : [...part.notes, note] });
    const part = { ...(result as JsonObject), [list]: all.slice(skip, end) };
    const fitted = shortenToFit(part, steps, (each) => fits(withNote(each)));
    return fitted === undefined
      ? { result: part, notes: [], isFitting: false }
      : { ...withNote(fitted), isFitting: true };
  };
  const fullPage = page(all.length);
  if (fullPage.isFitting) return fullPage;
  let [best, low, high] = [undefined as ShortenedResult | undefined, 0, all.length - skip];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const candidate = page(middle);
    if (candidate.isFitting) [best, low] = [candidate, middle];
    else high = middle;
  }
  return best ?? shortenToFit(result, [...steps, ...shorterLists], fits);
}

/** Returns the result, shortened only as far as needed to fit; undefined if no shortening suffices. */
export function shortenToFit(
  result: Json,
  steps: readonly Shortening[],
  fits: (shortened: ShortenedResult) => boolean,
): ShortenedResult | undefined {
  let current: ShortenedResult = { result, notes: [] };
  let size = JSON.stringify(result).length;
  for (const { note, shorten } of steps) {
    if (fits(current)) return current;
    const next = shorten(current.result);
    const length = JSON.stringify(next).length;
    if (length < size) current = { result: next, notes: withNewerNote(current.notes, note) };
    size = Math.min(size, length);
  }
  return fits(current) ? current : undefined;
}

/** Adds the note, and removes an earlier note that differs only in its numbers. */
function withNewerNote(notes: readonly string[], note: string): readonly string[] {
  const withoutNumbers = (text: string) => text.replaceAll(/\d+/g, '');
  return [...notes.filter((each) => withoutNumbers(each) !== withoutNumbers(note)), note];
}

/** Replaces control and bidirectional characters, except line feeds and tabs, with visible escapes. */
export function withVisibleControls(result: Json): Json {
  return mapStrings(result, (text) =>
    text.replace(UNSAFE, (character) =>
      character === '\n' || character === '\t' ? character : unicodeEscape(character),
    ),
  );
}

/** Applies `change` to all strings, including keys, because some keys come from the platform. */
function mapStrings(value: Json, change: (text: string) => string): Json {
  if (typeof value === 'string') return change(value);
  const changed = mapParts<Json, Json>(value, (part) => mapStrings(part, change));
  return isObject(changed)
    ? Object.fromEntries(Object.entries(changed).map(([key, part]) => [change(key), part as Json]))
    : changed;
}

function truncate(text: string, max: number): string {
  if (text.length <= max) return text;
  const start = text.slice(0, max).replace(/[\ud800-\udbff]$/, '');
  return `${start}… (${text.length - start.length} more characters)`;
}

function withLevels(value: Json, max: number): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (max === 0) return '…';
  return mapParts<Json, Json>(value, (part) => withLevels(part, max - 1));
}
