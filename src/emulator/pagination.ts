import { tryParseJson } from '../values/json.ts';
import type { EmulatorBehaviour } from './behaviour.ts';
import type { Emulated } from './emulated.ts';
import { invalid } from './refusal.ts';

const DEFAULT_PER_PAGE = 20;

export interface PageRequest {
  readonly per_page?: number | undefined;
  readonly cursor?: string | undefined;
}

/** A paged list. Adding or removing records shifts cursors with a position, but not cursors with a key. */
export interface PagedList<T> {
  readonly name: string;
  readonly key: (item: T) => string | number;
  readonly order: 'ascending' | 'descending';
}

export function pagedById(
  name: string,
  order: PagedList<never>['order'] = 'ascending',
): PagedList<{ readonly id: string | number }> {
  return { name, key: ({ id }) => id, order };
}

export interface ListPage<T> {
  readonly data: readonly T[];
  readonly meta: Readonly<Record<string, number | string | boolean | null>>;
}

interface PageCursor {
  /** With `at` and `upTo`, the page begins or ends at a position. With `before` and `after`, it ends before or begins after a key. */
  readonly side: 'before' | 'after' | 'at' | 'upTo';
  readonly key: string | number;
}

/** Returns one page of the items. Throws a 422 for an invalid cursor. */
export function pageOf<T>(
  items: Iterable<T>,
  listing: PagedList<T>,
  {
    request,
    behaviour,
  }: {
    request: PageRequest;
    behaviour: Pick<EmulatorBehaviour, 'previousCursorSpelling' | 'meta' | 'pages' | 'cursors'>;
  },
): ListPage<T> {
  const sorted = [...items].sort((a, b) => compareKeys(listing, listing.key(a), listing.key(b)));
  const { most, overlap } = behaviour.pages;
  const size = Math.min(request.per_page ?? DEFAULT_PER_PAGE, most ?? Number.POSITIVE_INFINITY);
  const cursor = request.cursor === undefined ? undefined : parseCursor(request.cursor, listing);
  const { start, end } = bounds(sorted, listing, { cursor, size });
  const isForward = cursor?.side === 'after' || cursor?.side === 'at';
  const data = sorted.slice(isForward ? Math.max(0, start - overlap) : start, end);
  const [first] = data;
  const last = data.at(-1);
  const isPosition = behaviour.cursors === 'position';
  const cursorAt = (side: PageCursor['side'], key: PageCursor['key']): string =>
    Buffer.from(JSON.stringify([listing.name, side, key])).toString('base64url');
  const after = (item: T) => (isPosition ? cursorAt('at', end) : cursorAt('after', listing.key(item)));
  const before = (item: T) => (isPosition ? cursorAt('upTo', start) : cursorAt('before', listing.key(item)));
  const next = last === undefined || end >= sorted.length ? null : after(last);
  const previous = first === undefined || start <= 0 ? null : before(first);
  if (behaviour.meta === 'odd') {
    const nextCursor = (next !== null || data.length >= size) && { next_cursor: next };
    return { data, meta: { per_page: String(size), prev_cursor: false, ...nextCursor } };
  }
  const previousCursor = previousCursorOf(listing, previous, behaviour.previousCursorSpelling);
  return { data, meta: { per_page: size, next_cursor: next, ...previousCursor } };
}

function bounds<T>(
  sorted: readonly T[],
  listing: PagedList<T>,
  { cursor, size }: { cursor: PageCursor | undefined; size: number },
): { start: number; end: number } {
  if (cursor === undefined) return { start: 0, end: size };
  const position = Number(cursor.key);
  if (cursor.side === 'at') return { start: position, end: position + size };
  if (cursor.side === 'upTo') return { start: Math.max(0, position - size), end: position };
  const beyond = cursor.side === 'after' ? 1 : 0;
  const found = sorted.findIndex((item) => compareKeys(listing, listing.key(item), cursor.key) >= beyond);
  const index = found === -1 ? sorted.length : found;
  return cursor.side === 'after'
    ? { start: index, end: index + size }
    : { start: Math.max(0, index - size), end: index };
}

function compareKeys<T>({ order }: PagedList<T>, a: string | number, b: string | number): number {
  const ascending = a < b ? -1 : a > b ? 1 : 0;
  return order === 'ascending' ? ascending : -ascending;
}

function previousCursorOf(
  { name }: PagedList<never>,
  cursor: string | null,
  spelling: EmulatorBehaviour['previousCursorSpelling'],
): Record<string, string | null> {
  if (spelling === 'both') return { prev_cursor: cursor, previous_cursor: cursor };
  if (spelling !== 'documented') return { [spelling]: cursor };
  return name === 'versions' ? { previous_cursor: cursor } : { prev_cursor: cursor };
}

const SIDES: ReadonlySet<unknown> = new Set<PageCursor['side']>(['before', 'after', 'at', 'upTo']);

function parseCursor<T>(text: string, { name }: PagedList<T>): PageCursor {
  const parts = tryParseJson(Buffer.from(text, 'base64url').toString());
  if (Array.isArray(parts) && parts.length === 3 && parts[0] === name) {
    const [, side, key] = parts as unknown[];
    if (SIDES.has(side) && (typeof key === 'string' || typeof key === 'number')) {
      return { side: side as PageCursor['side'], key };
    }
  }
  throw invalid([{ field: 'cursor', message: 'The cursor is unknown' }]);
}

const OTHER_WORKSPACE_ID = '01JEMV1AT0ROTHERWORKSPACE1';

/** Yields the records and, if the API key can read a second workspace, a copy of each record with another id. */
export function* visibleToKey<T extends { readonly id: string; readonly workspace_id: string }>(
  records: Iterable<T>,
  { behaviour }: Emulated,
): Generator<T> {
  for (const record of records) {
    yield record;
    if (!behaviour.seesOtherWorkspace) continue;
    // In ascending and in descending order, about half of the copies sort before their originals.
    const first = Number.parseInt(record.id.at(-1) ?? '', 36) % 2 === 0 ? '00' : 'ZZ';
    yield { ...record, id: first + record.id.slice(2), workspace_id: OTHER_WORKSPACE_ID };
  }
}

/** Yields the records and, if lists contain a nameless record, a copy of the first record in which `nameField` is null. */
export function* withNameless<T extends { readonly id: string }>(
  records: Iterable<T>,
  nameField: keyof T & string,
  { behaviour }: Pick<Emulated, 'behaviour'>,
): Generator<T> {
  let isShown = !behaviour.listsNameless;
  for (const record of records) {
    yield record;
    if (!isShown) yield { ...record, id: `0N${record.id.slice(2)}`, [nameField]: null };
    isShown = true;
  }
}
