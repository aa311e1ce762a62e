import { PlatformError } from './platform-error.ts';

export const PER_PAGE = 100;

export interface RecordPage<T> {
  readonly items: readonly T[];
  readonly next: string | undefined;
  /** The path of the request, for messages. */
  readonly path: string;
  /** True if the list was restarted, so that cursors from before the restart may occur again. */
  readonly isRestarted?: boolean;
}

interface ListBounds<T> {
  /** The maximum number of pages. No real list is that long, but a faulty list may be endless. */
  readonly maxPages: number;
  /** The number of recent keys and cursors that are checked for repeats. For a list in memory, this covers all records. */
  readonly maxRecent: number;
  /** For endpoints that may ignore cursors: a repeated page ends the list. If it is full, reads the list again without a size. */
  readonly whole?: () => Promise<RecordPage<T>>;
}

/** 100,000 records with 20 per page, or 500,000 with 100. No workspace has that many records, and that many fit into memory. */
const MAX_STORED_PAGES = 5_000;

/** Bounds for a list that is kept in memory. Each record is returned once. */
export const storedList: ListBounds<never> = {
  maxPages: MAX_STORED_PAGES,
  maxRecent: MAX_STORED_PAGES * PER_PAGE,
};

/** Bounds for a streamed list, such as millions of calls. New records move others to the next page, so repeats are close together. */
export const streamedList: ListBounds<never> = {
  maxPages: 100_000,
  maxRecent: 10 * PER_PAGE,
};

/**
 * Yields the records of a list in the platform's order. A repeated record is yielded only once. The next page is fetched after the last
 * record of a page was consumed.
 * @param read fetches the page at a cursor; without a cursor, the first page.
 * @param keyOf identifies a record.
 * @throws PlatformError `cursor-loop` if a cursor repeats or the list does not end.
 */
export async function* pages<T>(
  read: (cursor: string | undefined) => Promise<RecordPage<T>>,
  keyOf: (item: T) => string | number,
  { maxPages, maxRecent, whole }: ListBounds<T>,
): AsyncGenerator<T> {
  const cursors = new RecentValues<string>(maxRecent);
  const keys = new RecentValues<string | number>(maxRecent);
  let cursor: string | undefined;
  let before: string | undefined;
  for (let count = 1; ; count++) {
    const page = await read(cursor);
    if (whole !== undefined) {
      const pageKeys = JSON.stringify(page.items.map(keyOf));
      // Several pages may be empty, each with its own cursor.
      if ((page.items.length > 0 || page.next === cursor) && pageKeys === before) {
        if (page.items.length !== PER_PAGE) return;
        const { items } = await whole();
        if (items.length < PER_PAGE)
          throw neverEnding(page.path, 'the platform ignores the cursor, so the list may be incomplete');
        for (const item of items) if (keys.add(keyOf(item))) yield item;
        return;
      }
      before = pageKeys;
    }
    if (page.isRestarted === true) cursors.clear();
    // Check this before returning records: a repeated page would return them twice.
    if (page.next !== undefined && !cursors.add(page.next))
      throw neverEnding(page.path, 'the platform returned the same cursor twice, so the list would never end');
    for (const item of page.items) if (keys.add(keyOf(item))) yield item;
    cursor = page.next;
    if (cursor === undefined) return;
    if (count >= maxPages)
      throw neverEnding(page.path, `the list has more than ${maxPages} pages and seems to have no end`);
  }
}

/** A bounded set of the most recent values. */
class RecentValues<T> {
  readonly #values = new Set<T>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  clear(): void {
    this.#values.clear();
  }

  /** Returns false if the value is already in the set. */
  add(value: T): boolean {
    if (this.#values.has(value)) return false;
    this.#values.add(value);
    if (this.#values.size > this.#max) {
      // A set iterates in insertion order.
      this.#values.delete(this.#values.values().next().value as T);
    }
    return true;
  }
}

function neverEnding(path: string, problem: string): PlatformError {
  return new PlatformError('cursor-loop', { method: 'GET', path, outcome: 'not-done' }, `GET ${path}: ${problem}`);
}
