/** The runs of one process by base URL. */
export interface RunningByUrl {
  readonly baseUrl: string;
  /** Milliseconds for which the run is under way. */
  readonly age: number;
}

interface SlotLimits {
  /** Runs at once. */
  readonly slots: number;
  /** True where the fleet has workspaces of more than one base URL. */
  readonly isMixed: boolean;
}

/** Milliseconds after which a run counts as slow. */
const SLOW = 10_000;

/**
 * How many jobs may be taken, and of which base URLs none: of several, no one ever has the last slot, and one with a slow run has half
 * at most. All that are taken may be of one base URL.
 */
export function freeSlots(
  running: readonly RunningByUrl[],
  { slots, isMixed }: SlotLimits,
): { readonly most: number; readonly without: readonly string[] } {
  const free = slots - running.length;
  if (!isMixed) return { most: free, without: [] };
  const shared = Math.max(1, slots - 1);
  const left = [...Map.groupBy(running, ({ baseUrl }) => baseUrl)].map(([baseUrl, own]) => {
    const isSlow = own.some(({ age }) => age > SLOW);
    return { baseUrl, left: (isSlow ? Math.max(1, Math.floor(slots / 2)) : shared) - own.length };
  });
  const open = left.filter((each) => each.left > 0).map((each) => each.left);
  return {
    most: Math.min(free, shared, ...open),
    without: left.filter((each) => each.left <= 0).map(({ baseUrl }) => baseUrl),
  };
}
