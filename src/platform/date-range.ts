const DAY_MS = 24 * 60 * 60 * 1000;

/** A range of dates or date-times; either end may be open. */
export interface DateRange {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** Returns true if a period ends before it begins. If an end is a date, the UTC days of both ends are compared. */
export function isReversed(from: string, to: string): boolean {
  return isDay(from) || isDay(to) ? dayOf(to) < dayOf(from) : toMilliseconds(to) < toMilliseconds(from);
}

/**
 * Returns the filter for a request. `date_to` is the day after the last day, because the platform may interpret a date as the start of that
 * day. `date_from` is a complete UTC time, so that it does not depend on a time zone. The response may include calls of the day after the
 * range, so the caller must filter the calls again.
 */
export function asFilter({ from, to }: DateRange): {
  readonly date_from?: string;
  readonly date_to?: string;
} {
  return {
    ...(from !== undefined && { date_from: new Date(toMilliseconds(from)).toISOString() }),
    ...(to !== undefined && { date_to: new Date(toMilliseconds(dayOf(to)) + DAY_MS).toISOString().slice(0, 10) }),
  };
}

/** Returns true if a time from the platform is in the range. A date stands for a complete UTC day, and both ends are included. */
export function isWithin(moment: string, { from, to }: DateRange): boolean {
  const at = toMilliseconds(moment);
  if (from !== undefined && at < toMilliseconds(from)) return false;
  return to === undefined || (isDay(to) ? at < toMilliseconds(to) + DAY_MS : at <= toMilliseconds(to));
}

function isDay(text: string): boolean {
  return text.length === 'YYYY-MM-DD'.length;
}

function dayOf(text: string): string {
  return isDay(text) ? text : new Date(toMilliseconds(text)).toISOString().slice(0, 10);
}

/** Returns false for a day that does not exist. `Date.parse` alone would accept the 31st of February. */
export function isRealDay(text: string): boolean {
  const day = text.slice(0, 'YYYY-MM-DD'.length);
  const at = toMilliseconds(day);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(day);
}

/** Converts a time to milliseconds since 1970. A time without a zone is in UTC, like all times of the platform. */
export function toMilliseconds(text: string): number {
  const hasZone = isDay(text) || /(Z|[+-]\d{2}:?\d{2})$/i.test(text);
  return Date.parse(hasZone ? text : `${text}Z`);
}
