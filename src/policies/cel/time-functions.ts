import { attempt } from '../../problems/attempt.ts';
import { NoResult, type Overload, type Overloads, overload } from './overload.ts';
import { INT } from './types.ts';
import { Duration, type Meter, Timestamp } from './values.ts';

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

/** @throws NoResult */
export function timestampOf(text: string): Timestamp {
  const ms = MOMENT.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) throw new NoResult('the text is not a time such as 2026-01-31T09:30:00Z');
  return new Timestamp(ms);
}

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** @throws NoResult */
export function durationOf(text: string): Duration {
  if (!/^-?(\d{1,9}(\.\d{1,9})?(h|ms|m|s)){1,4}$/.test(text)) {
    throw new NoResult('the text is not a duration such as 30m or 1h30m');
  }
  const sign = text.startsWith('-') ? -1 : 1;
  let ms = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s)/g)) {
    ms += Number(amount) * (UNITS[unit ?? ''] ?? 0);
  }
  return new Duration(sign * ms);
}

/** A time in a time zone. */
interface Calendar {
  readonly year: number;
  /** From 0. */
  readonly month: number;
  readonly day: number;
  readonly hours: number;
  readonly minutes: number;
  readonly seconds: number;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** @throws NoResult for a time zone that is not known. */
function formatIn(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const numeric = 'numeric';
  const made = attempt(
    () =>
      new Intl.DateTimeFormat('en-US', {
        timeZone: zone,
        calendar: 'iso8601',
        hourCycle: 'h23',
        year: numeric,
        month: numeric,
        day: numeric,
        hour: numeric,
        minute: numeric,
        second: numeric,
      }),
  );
  if (made === undefined) throw new NoResult(`unknown time zone ${JSON.stringify(zone)}`);
  if (formats.size < 100) formats.set(zone, made);
  return made;
}

/** The problem with the name of a time zone, if any. */
export function zoneProblem(zone: string): string | undefined {
  try {
    formatIn(zone);
    return undefined;
  } catch (error) {
    if (error instanceof NoResult) return error.message;
    throw error;
  }
}

/** @throws NoResult */
export function dateOf({ ms }: Timestamp): Date {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) throw new NoResult('the time is out of range');
  return date;
}

/** Steps. The first use of a time zone takes longer than any other function. */
const ZONED = 500;

function calendar(time: Timestamp, zone: string, meter: Meter): Calendar {
  meter.take(ZONED);
  const parts = new Map(
    formatIn(zone)
      .formatToParts(dateOf(time))
      .map(({ type, value }) => [type, Number(value)]),
  );
  const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  return {
    year: part('year'),
    month: part('month') - 1,
    day: part('day'),
    hours: part('hour'),
    minutes: part('minute'),
    seconds: part('second'),
  };
}

const DAY = 86_400_000;

function midnight({ year, month, day }: Calendar): number {
  return Date.UTC(year, month, day);
}

function ofTime(read: (calendar: Calendar) => number): readonly Overload[] {
  return [
    overload<readonly [Timestamp]>(['timestamp'], INT, ([time], meter) =>
      BigInt(read(calendar(time, 'UTC', meter))),
    ),
    overload<readonly [Timestamp, string]>(['timestamp', 'string'], INT, ([time, zone], meter) =>
      BigInt(read(calendar(time, zone, meter))),
    ),
  ];
}

function ofDuration(unit: number): Overload {
  return overload<readonly [Duration]>(['duration'], INT, ([{ ms }]) => BigInt(Math.trunc(ms / unit)));
}

/** Methods of times, in UTC or in the given time zone, and of durations. */
export const timeMethods: Overloads = {
  getFullYear: ofTime(({ year }) => year),
  getMonth: ofTime(({ month }) => month),
  getDate: ofTime(({ day }) => day),
  getDayOfMonth: ofTime(({ day }) => day - 1),
  getDayOfWeek: ofTime((date) => new Date(midnight(date)).getUTCDay()),
  getDayOfYear: ofTime((date) => (midnight(date) - Date.UTC(date.year, 0, 1)) / DAY),
  getHours: [...ofTime(({ hours }) => hours), ofDuration(3_600_000)],
  getMinutes: [...ofTime(({ minutes }) => minutes), ofDuration(60_000)],
  getSeconds: [...ofTime(({ seconds }) => seconds), ofDuration(1000)],
};
