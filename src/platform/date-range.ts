const DAY = 24 * 60 * 60 * 1000;

/** A range of dates or date-times; either end may be open. */
export interface DateRange {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** True if a period ends before it begins. If only one end is a date, the other one counts as its day in UTC. */
export function isReversed(from: string, to: string): boolean {
  return isDay(from) || isDay(to) ? dayOf(to) < dayOf(from) : momentOf(to) < momentOf(from);
}

/**
 * The filter of the request. `date_to` is the day after the last one, because the platform may treat a date as its first moment.
 * `date_from` is a full UTC time, so that no time zone is assumed. The result may include calls of the day after and must be filtered
 * again.
 */
export function asFilter({ from, to }: DateRange): {
  readonly date_from?: string;
  readonly date_to?: string;
} {
  return {
    ...(from !== undefined && { date_from: new Date(momentOf(from)).toISOString() }),
    ...(to !== undefined && { date_to: new Date(momentOf(dayOf(to)) + DAY).toISOString().slice(0, 10) }),
  };
}

/** True if a time of the platform is in the range. Days are whole UTC days; the last one is included. */
export function isWithin(moment: string, { from, to }: DateRange): boolean {
  const at = momentOf(moment);
  if (from !== undefined && at < momentOf(from)) return false;
  return to === undefined || (isDay(to) ? at < momentOf(to) + DAY : at <= momentOf(to));
}

function isDay(text: string): boolean {
  return text.length === 'YYYY-MM-DD'.length;
}

function dayOf(text: string): string {
  return isDay(text) ? text : new Date(momentOf(text)).toISOString().slice(0, 10);
}

/** Milliseconds since 1970. A time without a zone is UTC, as all times of the platform are. */
export function momentOf(text: string): number {
  const hasZone = isDay(text) || /(Z|[+-]\d{2}:?\d{2})$/i.test(text);
  return Date.parse(hasZone ? text : `${text}Z`);
}
