import { PlatformError } from './errors.ts';

/** Most records in a page that the platform gives. */
export const PER_PAGE = 100;

export interface Page<T> {
  readonly items: readonly T[];
  /** What to ask for next; undefined on the last page. */
  readonly next: string | undefined;
  /** Path of the request that gave it, for messages. */
  readonly path: string;
}

/**
 * The records of a list, in the platform's order. A page is asked for when the one before it has been used up.
 *
 * @param read gives the page at a cursor; the first one without.
 * @throws PlatformError `cursor-loop` where a cursor comes a second time, which would never end.
 */
export async function* pages<T>(read: (cursor: string | undefined) => Promise<Page<T>>): AsyncGenerator<T> {
  const seen = new Set<string>();
  let cursor: string | undefined;
  do {
    const page = await read(cursor);
    // Before the records: a page that comes again would give them twice.
    if (page.next !== undefined && seen.has(page.next)) throw cursorLoop(page.path);
    yield* page.items;
    cursor = page.next;
    if (cursor !== undefined) seen.add(cursor);
  } while (cursor !== undefined);
}

function cursorLoop(path: string): PlatformError {
  return new PlatformError(
    'cursor-loop',
    { method: 'GET', path, outcome: 'not-done' },
    `GET ${path}: the platform gives the same cursor a second time, so the list would never end`,
  );
}
