import { PlatformError } from './platform-error.ts';

/** Largest page of the platform. */
export const PER_PAGE = 100;

export interface RecordPage<T> {
  readonly items: readonly T[];
  readonly next: string | undefined;
  /** Path of the request that gave it, for messages. */
  readonly path: string;
  /** True if the list was restarted, so that cursors of the first reading may come again. */
  readonly beginsAnew?: boolean;
}

interface ListBounds {
  /** More pages than a real list has: a longer one would never end. */
  readonly mostPages: number;
  /** How many of the latest keys and cursors are kept: all, for a list that is in memory anyway. */
  readonly remembers: number;
  /** Whether the same page again ends the list, because the platform may not know cursors for it. */
  readonly mayIgnoreCursor?: boolean;
}

/** 100,000 records with 20 per page, half a million with 100: more than any workspace has, and still within memory. */
const HELD_PAGES = 5_000;

/** For a list that is held in memory: each record is given once, wherever it repeats. */
export const heldList: ListBounds = {
  mostPages: HELD_PAGES,
  remembers: HELD_PAGES * PER_PAGE,
};

/**
 * For a streamed list, such as millions of calls. New records push earlier ones to the next page, so repeats come soon.
 */
export const passingList: ListBounds = {
  mostPages: 100_000,
  remembers: 10 * PER_PAGE,
};

/**
 * The records of a list in the platform's order, each once: of a repeated record, the first one counts. The next page is read when the last
 * one is used up.
 *
 * @param read gives the page at a cursor; the first one without.
 * @param keyOf tells one record from another.
 * @throws PlatformError `cursor-loop` if a cursor repeats, or the list does not end.
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
      // Further pages may be empty one after the other, each with a cursor of its own.
      if ((page.items.length > 0 || page.next === cursor) && shown === before) return;
      before = shown;
    }
    if (page.beginsAnew === true) cursors.clear();
    // Before the records: a page that comes again would give them twice.
    if (page.next !== undefined && !cursors.add(page.next))
      throw neverEnding(
        page.path,
        'the platform returned the same cursor twice, so the list would never end',
      );
    for (const item of page.items) if (keys.add(keyOf(item))) yield item;
    cursor = page.next;
    if (cursor === undefined) return;
    if (count >= mostPages)
      throw neverEnding(page.path, `the list has more than ${mostPages} pages and seems to have no end`);
  }
}

/** The latest keys, up to a number. */
class Latest<T> {
  readonly #seen = new Set<T>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  clear(): void {
    this.#seen.clear();
  }

  /** False where it is remembered already. */
  add(value: T): boolean {
    if (this.#seen.has(value)) return false;
    this.#seen.add(value);
    if (this.#seen.size > this.#most) {
      // A set keeps the order in which things came.
      this.#seen.delete(this.#seen.values().next().value as T);
    }
    return true;
  }
}

function neverEnding(path: string, problem: string): PlatformError {
  return new PlatformError(
    'cursor-loop',
    { method: 'GET', path, outcome: 'not-done' },
    `GET ${path}: ${problem}`,
  );
}
