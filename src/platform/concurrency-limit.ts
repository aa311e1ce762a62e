/** A number of requests at once, or as many as the platform handles well. */
export type Concurrency = number | 'auto';

/** Largest number that a user may configure. */
export const MOST_GIVEN = 256;

export function isConcurrency(value: unknown): value is Concurrency {
  return value === 'auto' || (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MOST_GIVEN);
}

/** How long a response took. Requests of one sort take equally long on an idle platform. */
export interface AnswerTime {
  readonly sort: string;
  readonly milliseconds: number;
  /** When it arrived, in milliseconds of the clock of `stamp`. */
  readonly at: number;
  /** Mean number of requests in flight meanwhile. */
  readonly inFlight: number;
}

/** How many requests may run at once, by the outcome of earlier ones. */
export interface ConcurrencyLimit {
  readonly now: number;
  /** For a request that is sent now. Pass it to `answered` with the response. */
  stamp(now: number): number;
  answered(stamp: number, time: AnswerTime): void;
  /** The platform refused because of load. Once per burst. */
  refused(): void;
  /** A response timed out. Once per burst. */
  timedOut(): void;
}

/** Without a configured number. */
export const MOST_AT_ONCE = 64;

/** Most requests that may ever run at once. */
export function mostAtOnce(concurrency: Concurrency): number {
  return concurrency === 'auto' ? MOST_AT_ONCE : concurrency;
}
