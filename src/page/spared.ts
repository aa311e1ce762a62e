/** Milliseconds from which a query is slow. */
const SLOW = 1000;
/** A slow query takes at most this part of the time of one connection. */
const SHARE = 1 / 5;

/** The query, whose last result is given again for a while if it was slow. @param now milliseconds. */
export function spared<T>(query: () => Promise<T>, now: () => number): () => Promise<T> {
  let last: { readonly result: T; readonly until: number } | undefined;
  return async () => {
    if (last !== undefined && now() < last.until) return last.result;
    const began = now();
    const result = await query();
    const took = now() - began;
    last = took < SLOW ? undefined : { result, until: began + took / SHARE };
    return result;
  };
}
