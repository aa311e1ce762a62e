import type { z } from 'zod';
import { isObject } from '../values/json.ts';
import type { PlatformError } from './errors.ts';
import { malformed } from './failure.ts';
import { type Page, PER_PAGE } from './pages.ts';
import { pageMeta } from './records.ts';
import type { Method } from './retry.ts';
import type { TransportAnswer } from './transport.ts';

/** The request that an answer belongs to. */
export interface Asked {
  readonly method: Method;
  readonly path: string;
}

/** The record in an answer's `data`. Throws `PlatformError` `malformed`, whose outcome is `lost` where something was written. */
export function readRecord<T>(schema: z.ZodType<T>, asked: Asked, answer: TransportAnswer): T {
  const data = dataOf(asked, answer);
  if (!isObject(data)) throw unexpected(asked, answer, '`data` is no record');
  return admitted(schema, data, (problem) => unexpected(asked, answer, problem));
}

/** The record, if it is the one that was asked for. Throws `PlatformError` `malformed` otherwise. */
export function refuseOther<T extends { readonly id: string }>(
  record: T,
  { id, asked, answer }: { readonly id: string; readonly asked: Asked; readonly answer: TransportAnswer },
): T {
  if (record.id === id) return record;
  throw unexpected(asked, answer, `the answer is about another record, ${JSON.stringify(record.id)}`);
}

/** The records of a list that has `data` only. */
export function readItems<T>(schema: z.ZodType<T>, asked: Asked, answer: TransportAnswer): T[] {
  const data = dataOf(asked, answer);
  if (!Array.isArray(data)) throw unexpected(asked, answer, '`data` is no list');
  return data.map((item: unknown, index) =>
    admitted(schema, item, (problem) => unexpected(asked, answer, `record ${index + 1}: ${problem}`)),
  );
}

/** A page of a list that has `meta`. */
export function readPage<T>(schema: z.ZodType<T>, asked: Asked, answer: TransportAnswer): Page<T> {
  const items = readItems(schema, asked, answer);
  const meta = pageMeta.safeParse(isObject(answer.body) ? answer.body.meta : undefined);
  // A list that is taken for complete and is not would have records created a second time.
  if (!meta.success && items.length >= PER_PAGE) {
    throw unexpected(asked, answer, 'a full page has no usable `meta`, so what follows it is not known');
  }
  const next = meta.success ? (meta.data.next_cursor ?? '') : '';
  return { items, next: next === '' ? undefined : next, path: asked.path };
}

function dataOf(asked: Asked, { status, requestId, body }: TransportAnswer): unknown {
  if (isObject(body) && Object.hasOwn(body, 'data')) return body.data;
  throw unexpected(asked, { status, requestId }, 'the answer has no `data`');
}

/**
 * A field of a form that nobody expects counts as not shown, as long as the record can do without it: an id that an answer
 * delivered must not be lost for the sake of another field.
 */
function admitted<T>(schema: z.ZodType<T>, value: unknown, refuse: (problem: string) => PlatformError): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  if (!isObject(value)) throw refuse('not a record');
  const odd = new Set(parsed.error.issues.map((issue) => issue.path[0]));
  const rest = Object.fromEntries(Object.entries(value).filter(([key]) => !odd.has(key)));
  const second = schema.safeParse(rest);
  if (second.success) return second.data;
  const fields = [...new Set(second.error.issues.map((issue) => issue.path.join('.')))];
  throw refuse(`the record has no usable ${fields.join(', ')}`);
}

function unexpected(
  { method, path }: Asked,
  { status, requestId }: Pick<TransportAnswer, 'status' | 'requestId'>,
  problem: string,
): PlatformError {
  const outcome = method === 'GET' ? 'not-done' : 'lost';
  return malformed({ method, path, outcome }, { status, requestId }, problem);
}
