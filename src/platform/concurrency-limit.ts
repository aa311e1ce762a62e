/** The maximum number of concurrent requests. `auto` adapts it to the platform. */
export type Concurrency = number | 'auto';

/** The largest number that a user may configure. */
export const MAX_CONCURRENCY = 256;

export function isConcurrency(value: unknown): value is Concurrency {
  return value === 'auto' || (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MAX_CONCURRENCY);
}

export interface ResponseTime {
  /** The type of the request. On an idle platform, all requests of one type take the same time. */
  readonly type: string;
  readonly milliseconds: number;
  /** The time at which the response arrived, in milliseconds, by the same clock as in `stamp`. */
  readonly at: number;
  /** The mean number of requests in flight during the request. */
  readonly inFlight: number;
}

/** A limit of concurrent requests that depends on earlier results. */
export interface ConcurrencyLimit {
  readonly now: number;
  /** Must be called for each request that is sent. Pass the result to `onResponse` with the response. */
  stamp(now: number): number;
  onResponse(stamp: number, time: ResponseTime): void;
  /** Reports that the platform refused requests because of load. Call it once per burst. */
  onRefusal(): void;
  /** Reports a timeout. Call it once per burst. */
  onTimeout(): void;
}

/** The maximum for `auto`. */
export const MAX_AUTO_CONCURRENCY = 64;

export function maxConcurrency(concurrency: Concurrency): number {
  return concurrency === 'auto' ? MAX_AUTO_CONCURRENCY : concurrency;
}
