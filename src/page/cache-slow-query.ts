/** The duration in milliseconds from which a query is slow. */
const SLOW_MS = 500;
/** The maximum fraction of time for which a slow query may occupy a connection. */
const MAX_LOAD = 1 / 5;
/** Milliseconds for which callers get a result that is due for refresh while the query runs again. */
const MAX_STALE_MS = 30_000;

/**
 * Returns a function that runs the query at most once at a time. The result of a slow query is cached, and still returned while it is
 * refreshed, so that callers do not wait.
 * @param now returns the current time in milliseconds.
 */
export function cacheSlowQuery<T>(query: () => Promise<T>, now: () => number): () => Promise<T> {
  let last: { readonly result: T; readonly until: number } | undefined;
  let running: Promise<T> | undefined;
  const run = async (): Promise<T> => {
    const startedAt = now();
    const result = await query();
    const durationMs = now() - startedAt;
    last = durationMs < SLOW_MS ? undefined : { result, until: startedAt + durationMs / MAX_LOAD };
    return result;
  };
  return async () => {
    if (last !== undefined && now() < last.until) return last.result;
    running ??= run().finally(() => {
      running = undefined;
    });
    if (last === undefined || now() >= last.until + MAX_STALE_MS) return running;
    // Callers get the failure of a refresh only after the last result has expired.
    running.catch(() => undefined);
    return last.result;
  };
}
