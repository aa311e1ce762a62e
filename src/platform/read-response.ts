import type { z } from 'zod';
import { isObject } from '../values/json.ts';
import { malformed } from './failure.ts';
import { PER_PAGE, type RecordPage } from './pages.ts';
import { PlatformError } from './platform-error.ts';
import type { Method } from './retry.ts';
import type { TransportResponse } from './transport.ts';

export interface RequestLine {
  readonly method: Method;
  readonly path: string;
}

/** The treatment of fields with an unexpected type: `hidden` removes them, and `kept` keeps them unchanged for display. */
export type UnexpectedFields = 'hidden' | 'kept';

export interface RequestAndResponse {
  readonly request: RequestLine;
  readonly response: TransportResponse;
  readonly unexpectedFields: UnexpectedFields;
}

/** Returns the record in `data` of a response. Throws `PlatformError` `malformed`, with outcome `lost` for a write. */
export function readRecord<T>(schema: z.ZodType<T>, received: RequestAndResponse): T {
  const data = dataOf(received);
  if (!isObject(data)) throw unexpected(received, '`data` is not a record');
  return parseRecord(schema, data, { received });
}

/** What identifies a record in the path of its request. */
export interface Requested {
  readonly id?: string;
  readonly version?: number;
}

/** Throws `PlatformError` `malformed` if the response has another record or another version. A version may be absent. */
export function assertRequested(
  record: { readonly id: string; readonly version?: unknown },
  { id, version }: Requested,
  received: RequestAndResponse,
): void {
  if (id !== undefined && record.id !== id) {
    throw unexpected(received, `the response has another record, ${JSON.stringify(record.id)}`);
  }
  if (version !== undefined && typeof record.version === 'number' && record.version !== version) {
    throw unexpected(received, `the response has another version, ${record.version}`);
  }
}

/** Throws `PlatformError` `empty` if `data` is null. */
export function assertNotEmpty({ request: { method, path }, response: { status, body } }: RequestAndResponse): void {
  if (!isObject(body) || body.data !== null) return;
  const facts = { method, path, status, outcome: 'not-done' } as const;
  throw new PlatformError('empty', facts, `${method} ${path}: ${status}, but \`data\` is null`);
}

/** Returns the records in `data` of a response. */
export function readItems<T>(schema: z.ZodType<T>, received: RequestAndResponse): T[] {
  const data = dataOf(received);
  if (!Array.isArray(data)) throw unexpected(received, '`data` is not a list');
  return data.map((item: unknown, index) => parseRecord(schema, item, { received, prefix: `record ${index + 1}: ` }));
}

/** Returns true for a full page without a next cursor. */
export function isOpenPage({ response: { body } }: RequestAndResponse): boolean {
  if (!isObject(body) || !Array.isArray(body.data) || body.data.length !== PER_PAGE) return false;
  const next = isObject(body.meta) ? body.meta.next_cursor : undefined;
  return next === undefined || next === false || next === '';
}

/**
 * Reads a page of a list with `meta`.
 * @param isComplete for lists that are not documented as paged: returns true if this number of records without a cursor is the full list.
 */
export function readPage<T>(
  schema: z.ZodType<T>,
  received: RequestAndResponse,
  isComplete: (count: number) => boolean = () => false,
): RecordPage<T> {
  const items = readItems(schema, received);
  const next = nextCursor(received, items.length, isComplete(items.length));
  return { items, next, path: received.request.path };
}

/**
 * Returns the cursor of the next page. `meta` is read field by field, so that a malformed field does not hide another. Throws if it
 * is unclear whether the list is complete, because a missing record would be created again.
 */
function nextCursor(received: RequestAndResponse, count: number, isComplete: boolean): string | undefined {
  const { body } = received.response;
  const meta = isObject(body) && isObject(body.meta) ? body.meta : {};
  const { next_cursor: next, per_page: size } = meta;
  if (next === null) return undefined;
  if (typeof next === 'string' && next !== '') return next;
  // A larger number would have lost precision.
  if (typeof next === 'number' && Math.abs(next) <= Number.MAX_SAFE_INTEGER) return String(next);
  if (next !== undefined && next !== false && next !== '') {
    throw unexpected(received, '`meta.next_cursor` has an unexpected form, so the list may be incomplete');
  }
  const isPartlyFilled = (typeof size === 'number' || typeof size === 'string') && count < Number(size);
  if (count === 0 || isPartlyFilled || isComplete) return undefined;
  throw unexpected(received, '`meta` does not indicate whether more records follow, so the list may be incomplete');
}

function dataOf(received: RequestAndResponse): unknown {
  const { body } = received.response;
  if (isObject(body) && Object.hasOwn(body, 'data')) return body.data;
  throw unexpected(received, 'the response has no `data`');
}

/**
 * Parses a record. Removes optional fields of an unexpected type, so that the id is not lost because of another field.
 * @param options.prefix the name of the record, for the start of an error message.
 */
function parseRecord<T>(
  schema: z.ZodType<T>,
  value: unknown,
  { received, prefix = '' }: { readonly received: RequestAndResponse; readonly prefix?: string },
): T {
  const withExtras = (record: T): T =>
    received.unexpectedFields === 'kept' ? withDroppedFields(value, record) : record;
  const parsed = schema.safeParse(value);
  if (parsed.success) return withExtras(parsed.data);
  if (!isObject(value)) throw unexpected(received, `${prefix}not a record`);
  const fields = new Set(parsed.error.issues.map((issue) => issue.path[0]));
  const rest = Object.fromEntries(Object.entries(value).filter(([key]) => !fields.has(key)));
  const second = schema.safeParse(rest);
  if (second.success) return withExtras(second.data);
  const missing = new Set(second.error.issues.map((issue) => issue.path.join('.')));
  throw unexpected(received, `${prefix}the record has no valid ${[...missing].join(', ')}`);
}

/** Adds the fields that the schema removed. All other fields come from the schema, which conceals secrets. */
function withDroppedFields<T>(value: unknown, read: T): T {
  const present = Object.entries(read ?? {}).filter(([, field]) => field !== undefined);
  return { ...(value as T), ...Object.fromEntries(present) };
}

function unexpected({ request, response: { status, requestId } }: RequestAndResponse, problem: string): PlatformError {
  const outcome = request.method === 'GET' ? 'not-done' : 'lost';
  return malformed({ ...request, outcome }, { status, requestId }, problem);
}
