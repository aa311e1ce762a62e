export interface Clock {
  /** Returns the time of a monotonic clock in milliseconds. */
  now(): number;
  /** Calls `act` once after this many milliseconds, unless cancelled with the returned function. */
  after(milliseconds: number, act: () => void): () => void;
}

/** The maximum timeout of Node.js. A longer timer would fire at once. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** The clock of this machine. A timer of more than 24 days fires early. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(milliseconds, act) {
    const timer = setTimeout(act, Math.min(milliseconds, MAX_TIMEOUT_MS));
    return () => clearTimeout(timer);
  },
};
