/** Time as the loop sees it. */
export interface Clock {
  /** Milliseconds that are never set back. */
  now(): number;
  /** Calls `act` once, that many milliseconds from now, unless what it returns is called before. */
  after(milliseconds: number, act: () => void): () => void;
}

/** A timer of Node waits no longer than this; with more it would fire at once. */
const LONGEST = 2 ** 31 - 1;

/** The clock of this machine. A wait of more than 24 days ends early. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(milliseconds, act) {
    const timer = setTimeout(act, Math.min(milliseconds, LONGEST));
    return () => clearTimeout(timer);
  },
};
