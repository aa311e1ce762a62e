/** A number of requests at once, or as many as the platform answers well. */
export type Concurrency = number | 'auto';

/** The largest number that may be given. */
export const MOST_GIVEN = 256;

export function isConcurrency(value: unknown): value is Concurrency {
  return value === 'auto' || (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MOST_GIVEN);
}

/** How long an answer took. Requests of one sort take equally long where nothing holds them up. */
export interface AnswerTime {
  readonly sort: string;
  readonly milliseconds: number;
  /** When it came, in milliseconds of the clock that `stamp` has. */
  readonly at: number;
  /** How many requests were in flight meanwhile, as a mean over that time. */
  readonly inFlight: number;
}

/** How many requests may run at once, by what came of those before. */
export interface ConcurrencyLimit {
  readonly now: number;
  /** For a request that is sent now: to be given back with its answer. */
  stamp(now: number): number;
  answered(stamp: number, time: AnswerTime): void;
  /** The platform refused because of the load; once a burst. */
  refused(): void;
  /** No answer came in time; once a burst. */
  timedOut(): void;
}

/** Where nobody gives a number. */
export const MOST_AT_ONCE = 64;

/** Most requests that may ever run at once. */
export function mostAtOnce(concurrency: Concurrency): number {
  return concurrency === 'auto' ? MOST_AT_ONCE : concurrency;
}
