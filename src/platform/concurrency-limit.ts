/** The number of concurrent requests; `auto` adapts it to the platform. */
export type Concurrency = number | 'auto';

/** The largest number that a user may configure. */
export const MAX_CONCURRENCY = 256;

export function isConcurrency(value: unknown): value is Concurrency {
  return value === 'auto' || (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MAX_CONCURRENCY);
}

/** The response time of one request. Requests of one sort take equally long on an idle platform. */
export interface AnswerTime {
  readonly sort: string;
  readonly milliseconds: number;
  /** Time of arrival, in milliseconds of the clock of `stamp`. */
  readonly at: number;
  /** Mean number of requests in flight during the request. */
  readonly inFlight: number;
}

/** The limit of concurrent requests, derived from earlier outcomes. */
export interface ConcurrencyLimit {
  readonly now: number;
  /** Called for each request that is sent. Pass the result to `answered` with the response. */
  stamp(now: number): number;
  answered(stamp: number, time: AnswerTime): void;
  /** Reports a refusal because of load. Once per burst. */
  refused(): void;
  /** Reports a timeout. Once per burst. */
  timedOut(): void;
}

/** The maximum without a configured number. */
export const MAX_AT_ONCE = 64;

export function mostAtOnce(concurrency: Concurrency): number {
  return concurrency === 'auto' ? MAX_AT_ONCE : concurrency;
}
