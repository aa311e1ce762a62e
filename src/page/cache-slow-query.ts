import { shareRun } from '../values/lazy.ts';

/** The minimum duration of a slow query in milliseconds. */
const SLOW_MS = 500;
/** The maximum fraction of time for which a slow query may occupy a connection. */
const MAX_LOAD = 1 / 5;
/** Milliseconds for which a result that is due for refresh is still returned while the query runs again. */
const MAX_STALE_MS = 30_000;

/**
 * Returns a function that shares one running query between its callers. The result of a slow query is cached, and it is still returned
 * while the query runs again, so that callers do not wait.
 * @param now returns the current time in milliseconds.
 */
export function cacheSlowQuery<T>(query: () => Promise<T>, now: () => number): () => Promise<T> {
  let last: { readonly result: T; readonly until: number } | undefined;
  const run = shareRun(async (): Promise<T> => {
    const startedAt = now();
    const result = await query();
    const durationMs = now() - startedAt;
    last = durationMs < SLOW_MS ? undefined : { result, until: startedAt + durationMs / MAX_LOAD };
    return result;
  });
  return async () => {
    if (last !== undefined && now() < last.until) return last.result;
    const running = run();
    if (last === undefined || now() >= last.until + MAX_STALE_MS) return running;
    // While the last result is still returned, callers do not receive the error of a failed refresh.
    running.catch(() => undefined);
    return last.result;
  };
}
