import type { PlatformClient } from '../platform/client.ts';
import { asFilter, type DateRange, isWithin, toMilliseconds } from '../platform/date-range.ts';
import { callRecord } from '../platform/records/call-records.ts';
import { compareText } from '../problems/compare-text.ts';
import { didYouMean } from '../problems/suggest.ts';

type CallRow = Readonly<Record<string, unknown>>;

/** Filters for reading call histories. */
export interface CallSelection extends DateRange {
  readonly where?: readonly CallCondition[] | undefined;
  /** Called at the end with the number of omitted calls outside the requested range, if any. */
  readonly onOutside?: ((count: number) => void) | undefined;
  onRead?(): void;
}

export interface CallCondition {
  readonly field: string;
  readonly operator: Operator;
  readonly value: string;
}

const operators = {
  '>=': (order: number) => order >= 0,
  '<=': (order: number) => order <= 0,
  '!=': (order: number) => order !== 0,
  '=': (order: number) => order === 0,
  '>': (order: number) => order > 0,
  '<': (order: number) => order < 0,
} as const satisfies Readonly<Record<string, (order: number) => boolean>>;
type Operator = keyof typeof operators;

export const callFields: readonly string[] = Object.keys(callRecord().shape);

/** Fields that contain several values and cannot be compared. */
const nested: ReadonlySet<string> = new Set(['analysis']);

/** Parses a condition such as `session_outcome=escalated` or `duration>=00:05:00`. Returns a problem for invalid text. */
export function parseCallCondition(text: string): CallCondition | { readonly problem: string } {
  const [, field = '', operator = '', value = ''] = /^\s*(\w+)\s*(>=|<=|!=|=|>|<)\s*(.*?)\s*$/.exec(text) ?? [];
  if (operator === '') return { problem: 'expected a condition such as direction=inbound or cost>=0.5' };
  if (!callFields.includes(field)) {
    return { problem: `calls have no field ${field}${didYouMean(field, callFields)}` };
  }
  if (nested.has(field) && (value !== 'null' || !/^!?=$/.test(operator))) {
    return { problem: `${field} contains several values: expected ${field}=null or ${field}!=null` };
  }
  if (/^[<>]/.test(operator) && measureOf(value) === undefined) {
    return {
      problem: `${operator} compares numbers, durations and times, such as 0.5, 00:05:00 or 2026-01-31, not ${JSON.stringify(value)}`,
    };
  }
  return { field, operator: operator as Operator, value };
}

/** Yields the selected calls. The range is part of the request; filters that the API lacks are applied here. */
export async function* selectedCalls(
  client: PlatformClient,
  { where = [], onOutside, onRead, ...range }: CallSelection,
): AsyncGenerator<CallRow> {
  let outside = 0;
  try {
    const filter = asFilter(range);
    // If the platform accepts only dates, it returns the calls of whole days.
    const requestedDays = { from: filter.date_from?.slice(0, 10), to: filter.date_to };
    for await (const call of client.calls.list(filter)) {
      onRead?.();
      if (!isInRange(call, requestedDays)) outside += 1;
      else if (isInRange(call, range) && where.every((condition) => meets(call, condition))) yield call;
    }
  } finally {
    if (outside > 0) onOutside?.(outside);
  }
}

/** True if any time of the call is in the range, because the API does not document which of them it compares. */
function isInRange({ start_time, end_time, created_at }: CallRow, range: DateRange): boolean {
  const times = [start_time, end_time, created_at].filter((time) => typeof time === 'string');
  return times.length === 0 || times.some((time) => isWithin(time, range));
}

function meets(call: CallRow, { field, operator, value }: CallCondition): boolean {
  const shown = call[field] ?? null;
  if (shown === null || value === 'null') {
    const isSame = shown === null && value === 'null';
    return operator === '=' ? isSame : operator === '!=' && !isSame;
  }
  if (typeof shown === 'object') return false;
  // A numeric id may have too many digits for a JSON number.
  const compare = /(^|_)id$/.test(field) ? compareText : compareMeasures;
  return operators[operator](compare(String(shown), value));
}

/** Returns the value of a JSON number or of a string such as `0.42`. */
export function decimalOf(shown: unknown): number | undefined {
  if (typeof shown === 'number') return shown;
  const isDecimal = typeof shown === 'string' && /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(shown.trim());
  return isDecimal ? Number(shown) : undefined;
}

/** Converts `HH:MM:SS` to seconds. */
export function secondsOf(duration: unknown): number | undefined {
  const [, hours, minutes, seconds] = /^(\d+):(\d\d):(\d\d)(?:\.\d+)?$/.exec(String(duration)) ?? [];
  return seconds === undefined ? undefined : Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
}

/** Compares two numbers, durations or times, or else two strings. Returns a negative number, a positive number or 0. */
function compareMeasures(a: string, b: string): number {
  const [left, right] = [measureOf(a), measureOf(b)];
  return left !== undefined && right !== undefined ? left - right : compareText(a, b);
}

function measureOf(text: string): number | undefined {
  // Decimals include phone numbers, which the platform may return without the plus sign.
  const measure = secondsOf(text) ?? decimalOf(text);
  if (measure !== undefined) return measure;
  const time = /^\d{4}-\d\d-\d\d/.test(text) ? toMilliseconds(text) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}
