const DAY = 24 * 60 * 60 * 1000;

/** Dates or date-times, either of which may be open. */
export interface DateRange {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** True where a period ends before it begins. A day has no hours: beside one, a moment counts as its day in UTC. */
export function isReversed(from: string, to: string): boolean {
  return isDay(from) || isDay(to) ? dayOf(to) < dayOf(from) : momentOf(to) < momentOf(from);
}

/**
 * What to ask the platform for. `date_to` is a date, as the document has it, and the day after the last one, because the platform may take
 * a date for its first moment. `date_from` is a full time of UTC, which leaves no zone to be guessed. So the answer may hold
 * calls of the day after, and has to be cut.
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

/** True where a moment, as the platform writes it, lies within. Days are those of UTC, whole, the last one included. */
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

/** Milliseconds since 1970. A moment without a zone is one of UTC, as all times of the platform are. */
export function momentOf(text: string): number {
  const hasZone = isDay(text) || /(Z|[+-]\d{2}:?\d{2})$/i.test(text);
  return Date.parse(hasZone ? text : `${text}Z`);
}
