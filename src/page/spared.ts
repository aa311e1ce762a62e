/** Milliseconds from which a query is slow. */
const SLOW = 500;
/** A slow query takes at most this part of the time of one connection. */
const SHARE = 1 / 5;
/** Milliseconds after that for which the last result is given while the query runs again. */
const WHILE_RENEWED = 30_000;

/**
 * The query, which runs once at a time. If it was slow, its last result is given again for a while, and then while it is renewed, so that
 * no reader waits.
 * @param now milliseconds.
 */
export function spared<T>(query: () => Promise<T>, now: () => number): () => Promise<T> {
  let last: { readonly result: T; readonly until: number } | undefined;
  let running: Promise<T> | undefined;
  const run = async (): Promise<T> => {
    const began = now();
    const result = await query();
    const took = now() - began;
    last = took < SLOW ? undefined : { result, until: began + took / SHARE };
    return result;
  };
  return async () => {
    if (last !== undefined && now() < last.until) return last.result;
    running ??= run().finally(() => {
      running = undefined;
    });
    if (last === undefined || now() >= last.until + WHILE_RENEWED) return running;
    // A failure shows once there is no such result any more.
    running.catch(() => undefined);
    return last.result;
  };
}
