import { originOf } from '../platform/base-url.ts';
import { projectAddress } from './addresses.ts';

/** What runs may have in common that is slow: then other runs must not wait for it. */
type Sharing = 'origin' | 'source' | 'project';

/** Names of what a run has in common with others. A name has no space, and no two kinds have the same name. */
export type RunGroups = Readonly<Record<Sharing, string>>;

interface GroupedRun {
  readonly source: string;
  readonly project: string;
  /** Normalized; undefined where the process that looked at the source has no such variable. */
  readonly baseUrl: string | undefined;
}

export function groupsOf({ source, project, baseUrl }: GroupedRun): RunGroups {
  return {
    origin: `origin:${baseUrl && originOf(baseUrl)}`,
    source: `source:${source}`,
    project: `project:${encodeURIComponent(projectAddress(source, project))}`,
  };
}

/** A run of this process. */
export interface RunningInGroups {
  readonly groups: RunGroups;
  /** Milliseconds for which the run is under way. */
  readonly age: number;
}

interface SlotLimits {
  /** Runs at once. */
  readonly slots: number;
  /** Kinds of groups of which the fleet has more than one. */
  readonly several: readonly Sharing[];
  /** Groups whose last run was not slow. */
  readonly quick: ReadonlySet<string>;
}

/** Milliseconds after which a run counts as slow. */
export const SLOW = 10_000;

/**
 * How many jobs may be taken, and of which groups none. Of several groups, none ever has the last slot, and one that is slow, or not
 * known to be quick, has half at most. All that are taken may be of one group.
 */
export function freeSlots(
  running: readonly RunningInGroups[],
  { slots, several, quick }: SlotLimits,
): { readonly most: number; readonly without: readonly string[] } {
  const free = slots - running.length;
  if (several.length === 0) return { most: free, without: [] };
  const half = Math.max(1, Math.floor(slots / 2));
  const runs = running.flatMap(({ groups, age }) =>
    several.map((sharing) => ({ group: groups[sharing], age })),
  );
  const left = [...Map.groupBy(runs, ({ group }) => group)].map(([group, own]) => {
    const isQuick = quick.has(group) && own.every(({ age }) => age <= SLOW);
    return { group, left: (isQuick ? Math.max(1, slots - 1) : half) - own.length };
  });
  const open = left.filter((each) => each.left > 0).map((each) => each.left);
  return {
    most: Math.min(free, half, ...open),
    without: left.filter((each) => each.left <= 0).map(({ group }) => group),
  };
}
