import type { z } from 'zod';
import { isObject } from '../values/json.ts';
import { malformed } from './failure.ts';
import { PER_PAGE, type RecordPage } from './pages.ts';
import { PlatformError } from './platform-error.ts';
import type { Method } from './retry.ts';
import type { TransportAnswer } from './transport.ts';

export interface RequestLine {
  readonly method: Method;
  readonly path: string;
}

/** How to read a field of an unexpected type: `hidden` drops it, `kept` passes it on unchanged for display. */
export type UnexpectedFields = 'hidden' | 'kept';

/** A response, with its request. */
export interface Received {
  readonly request: RequestLine;
  readonly answer: TransportAnswer;
  readonly unexpectedFields: UnexpectedFields;
}

/** The record in `data` of a response. Throws `PlatformError` `malformed`, with outcome `lost` for a write. */
export function readRecord<T>(schema: z.ZodType<T>, received: Received): T {
  const data = dataOf(received);
  if (!isObject(data)) throw unexpected(received, '`data` is not a record');
  return admitted(schema, data, { received });
}

/** Throws `PlatformError` `malformed` unless the record is the requested one. */
export function refuseOther(record: { readonly id: string }, id: string, received: Received): void {
  if (record.id === id) return;
  throw unexpected(received, `the response has another record, ${JSON.stringify(record.id)}`);
}

/** Throws `PlatformError` `empty` if `data` is null. */
export function refuseEmpty({ request: { method, path }, answer: { status, body } }: Received): void {
  if (!isObject(body) || body.data !== null) return;
  const facts = { method, path, status, outcome: 'not-done' } as const;
  throw new PlatformError('empty', facts, `${method} ${path}: ${status}, but \`data\` is null`);
}

/** The records of a list that contains only `data`. */
export function readItems<T>(schema: z.ZodType<T>, received: Received): T[] {
  const data = dataOf(received);
  if (!Array.isArray(data)) throw unexpected(received, '`data` is not a list');
  return data.map((item: unknown, index) => admitted(schema, item, { received, which: `record ${index + 1}: ` }));
}

/** True for a full page without a next cursor. */
export function isOpenPage({ answer: { body } }: Received): boolean {
  if (!isObject(body) || !Array.isArray(body.data) || body.data.length !== PER_PAGE) return false;
  const next = isObject(body.meta) ? body.meta.next_cursor : undefined;
  return next === undefined || next === false || next === '';
}

/**
 * A page of a list with `meta`. `isWhole`, for lists that are not documented as paged, returns whether that many records without a cursor
 * are the whole list.
 */
export function readPage<T>(
  schema: z.ZodType<T>,
  received: Received,
  isWhole: (count: number) => boolean = () => false,
): RecordPage<T> {
  const items = readItems(schema, received);
  const next = nextCursor(received, items.length, isWhole(items.length));
  return { items, next, path: received.request.path };
}

/**
 * The cursor of the next page. `meta` is read field by field, so that a malformed field does not hide another. Treating an incomplete list
 * as complete would cause duplicate records, so any doubt is an error.
 */
function nextCursor(received: Received, count: number, isWhole: boolean): string | undefined {
  const { body } = received.answer;
  const meta = isObject(body) && isObject(body.meta) ? body.meta : {};
  const { next_cursor: next, per_page: size } = meta;
  if (next === null) return undefined;
  if (typeof next === 'string' && next !== '') return next;
  // A larger number has lost precision.
  if (typeof next === 'number' && Math.abs(next) <= Number.MAX_SAFE_INTEGER) return String(next);
  if (next !== undefined && next !== false && next !== '') {
    throw unexpected(received, '`meta.next_cursor` has an unexpected form, so the list may be incomplete');
  }
  const isPartlyFilled = (typeof size === 'number' || typeof size === 'string') && count < Number(size);
  if (count === 0 || isPartlyFilled || isWhole) return undefined;
  throw unexpected(received, '`meta` does not say whether more records follow, so the list may be incomplete');
}

function dataOf(received: Received): unknown {
  const { body } = received.answer;
  if (isObject(body) && Object.hasOwn(body, 'data')) return body.data;
  throw unexpected(received, 'the response has no `data`');
}

/**
 * Drops optional fields of an unexpected type: a delivered id must not be lost because of another field.
 * @param options.which names the record in an error.
 */
function admitted<T>(
  schema: z.ZodType<T>,
  value: unknown,
  { received, which = '' }: { readonly received: Received; readonly which?: string },
): T {
  const shown = (record: T): T => (received.unexpectedFields === 'kept' ? withDroppedFields(value, record) : record);
  const parsed = schema.safeParse(value);
  if (parsed.success) return shown(parsed.data);
  if (!isObject(value)) throw unexpected(received, `${which}not a record`);
  const fields = new Set(parsed.error.issues.map((issue) => issue.path[0]));
  const rest = Object.fromEntries(Object.entries(value).filter(([key]) => !fields.has(key)));
  const second = schema.safeParse(rest);
  if (second.success) return shown(second.data);
  const missing = new Set(second.error.issues.map((issue) => issue.path.join('.')));
  throw unexpected(received, `${which}the record has no valid ${[...missing].join(', ')}`);
}

/** The record with the fields that the schema drops; all others come from the schema, which conceals secrets. */
function withDroppedFields<T>(value: unknown, read: T): T {
  const present = Object.entries(read ?? {}).filter(([, field]) => field !== undefined);
  return { ...(value as T), ...Object.fromEntries(present) };
}

function unexpected({ request, answer: { status, requestId } }: Received, problem: string): PlatformError {
  const outcome = request.method === 'GET' ? 'not-done' : 'lost';
  return malformed({ ...request, outcome }, { status, requestId }, problem);
}
