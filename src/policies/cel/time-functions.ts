import { attempt } from '../../problems/attempt.ts';
import { NoResult, type Overload, type Overloads, overload } from './overload.ts';
import { INT } from './types.ts';
import { Duration, type Meter, Timestamp } from './values.ts';

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

/** @throws NoResult */
export function timestampOf(text: string): Timestamp {
  const ms = MOMENT.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) throw new NoResult('the string is not a time such as 2026-01-31T09:30:00Z');
  return new Timestamp(ms);
}

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** @throws NoResult */
export function durationOf(text: string): Duration {
  if (!/^-?(\d{1,9}(\.\d{1,9})?(h|ms|m|s)){1,4}$/.test(text)) {
    throw new NoResult('the string is not a duration such as 30m or 1h30m');
  }
  const sign = text.startsWith('-') ? -1 : 1;
  let ms = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s)/g)) {
    ms += Number(amount) * (UNITS[unit ?? ''] ?? 0);
  }
  return new Duration(sign * ms);
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** @throws NoResult for an unknown time zone. */
export function formatIn(zone: string): Intl.DateTimeFormat {
  const cached = formats.get(zone);
  if (cached !== undefined) return cached;
  const format = attempt(() => new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' }));
  if (format === undefined) throw new NoResult(`unknown time zone ${JSON.stringify(zone)}`);
  if (formats.size < 100) formats.set(zone, format);
  return format;
}

/** @throws NoResult */
export function dateOf({ ms }: Timestamp): Date {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) throw new NoResult('the time is out of range');
  return date;
}

/** The cost, in steps, of converting a time to a time zone. The first use of a zone takes longer than any other function. */
const ZONE_COST = 500;

/** Returns a date whose UTC fields have the values of the local time in the zone. */
function dateIn(zone: string, time: Timestamp, meter: Meter): Date {
  meter.take(ZONE_COST);
  const date = dateOf(time);
  // The formatted date ends in GMT, or in an offset such as GMT+01:00 or GMT-00:25:21.
  const [sign, ...parts] = /GMT(.)(\d+):(\d+):?(\d*)$/.exec(formatIn(zone).format(date))?.slice(1) ?? [];
  const [hours = 0, minutes = 0, seconds = 0] = parts.map(Number);
  const offset = ((hours * 60 + minutes) * 60 + seconds) * 1000;
  return new Date(date.getTime() + (sign === '-' ? -offset : offset));
}

function ofTime(read: (date: Date) => number): readonly Overload[] {
  return [
    overload(['timestamp'], INT, ([time], meter) => BigInt(read(dateIn('UTC', time, meter)))),
    overload(['timestamp', 'string'], INT, ([time, zone], meter) => BigInt(read(dateIn(zone, time, meter)))),
  ];
}

function ofDuration(unit: number): Overload {
  return overload(['duration'], INT, ([{ ms }]) => BigInt(Math.trunc(ms / unit)));
}

function dayOfYear(date: Date): number {
  // Date.UTC cannot be used, because it maps the years 0 to 99 to 1900 to 1999.
  const newYear = new Date(date);
  newYear.setUTCMonth(0, 1);
  return (date.getTime() - newYear.getTime()) / 86_400_000;
}

/** The methods of times and durations. Methods of times use UTC, or the time zone that is their argument. */
export const timeMethods: Overloads = {
  getFullYear: ofTime((date) => date.getUTCFullYear()),
  getMonth: ofTime((date) => date.getUTCMonth()),
  getDate: ofTime((date) => date.getUTCDate()),
  getDayOfMonth: ofTime((date) => date.getUTCDate() - 1),
  getDayOfWeek: ofTime((date) => date.getUTCDay()),
  getDayOfYear: ofTime(dayOfYear),
  getHours: [...ofTime((date) => date.getUTCHours()), ofDuration(3_600_000)],
  getMinutes: [...ofTime((date) => date.getUTCMinutes()), ofDuration(60_000)],
  getSeconds: [...ofTime((date) => date.getUTCSeconds()), ofDuration(1000)],
};
