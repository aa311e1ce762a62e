import { PlatformError } from './platform-error.ts';

export const PER_PAGE = 100;

export interface RecordPage<T> {
  readonly items: readonly T[];
  readonly next: string | undefined;
  /** Path of the request, for messages. */
  readonly path: string;
  /** True if the list was restarted, so that cursors of the first reading may come again. */
  readonly isRestarted?: boolean;
}

interface ListBounds {
  /** A limit above any real list, against endless ones. */
  readonly mostPages: number;
  /** The number of recent keys and cursors that are kept. A list in memory keeps all. */
  readonly remembers: number;
  /** True if a repeated page ends the list, for endpoints that may not support cursors. */
  readonly mayIgnoreCursor?: boolean;
}

/** 100,000 records with 20 per page, 500,000 with 100: more than any workspace has, and within memory. */
const HELD_PAGES = 5_000;

/** For a list in memory: each record is returned once. */
export const heldList: ListBounds = {
  mostPages: HELD_PAGES,
  remembers: HELD_PAGES * PER_PAGE,
};

/** For a streamed list, such as millions of calls. New records move earlier ones to the next page, so repeats are close together. */
export const passingList: ListBounds = {
  mostPages: 100_000,
  remembers: 10 * PER_PAGE,
};

/**
 * The records of a list in the platform's order, without repeats: the first occurrence counts. The next page is fetched after the last
 * record of a page.
 * @param read fetches the page at a cursor; without a cursor, the first page.
 * @param keyOf identifies a record.
 * @throws PlatformError `cursor-loop` if a cursor repeats or the list does not end.
 */
export async function* pages<T>(
  read: (cursor: string | undefined) => Promise<RecordPage<T>>,
  keyOf: (item: T) => string | number,
  { mostPages, remembers, mayIgnoreCursor = false }: ListBounds,
): AsyncGenerator<T> {
  const cursors = new Latest<string>(remembers);
  const keys = new Latest<string | number>(remembers);
  let cursor: string | undefined;
  let before: string | undefined;
  for (let count = 1; ; count++) {
    const page = await read(cursor);
    if (mayIgnoreCursor) {
      const shown = JSON.stringify(page.items.map(keyOf));
      // Several pages may be empty, each with its own cursor.
      if ((page.items.length > 0 || page.next === cursor) && shown === before) return;
      before = shown;
    }
    if (page.isRestarted === true) cursors.clear();
    // Checked before the records: a repeated page would return them twice.
    if (page.next !== undefined && !cursors.add(page.next))
      throw neverEnding(page.path, 'the platform returned the same cursor twice, so the list would never end');
    for (const item of page.items) if (keys.add(keyOf(item))) yield item;
    cursor = page.next;
    if (cursor === undefined) return;
    if (count >= mostPages)
      throw neverEnding(page.path, `the list has more than ${mostPages} pages and seems to have no end`);
  }
}

/** A bounded set of the latest keys. */
class Latest<T> {
  readonly #seen = new Set<T>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  clear(): void {
    this.#seen.clear();
  }

  /** False if it is already in the set. */
  add(value: T): boolean {
    if (this.#seen.has(value)) return false;
    this.#seen.add(value);
    if (this.#seen.size > this.#most) {
      // A set iterates in insertion order.
      this.#seen.delete(this.#seen.values().next().value as T);
    }
    return true;
  }
}

function neverEnding(path: string, problem: string): PlatformError {
  return new PlatformError('cursor-loop', { method: 'GET', path, outcome: 'not-done' }, `GET ${path}: ${problem}`);
}
