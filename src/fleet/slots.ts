import { originOf } from '../platform/base-url.ts';
import { projectAddress } from './addresses.ts';
import type { FleetMember } from './member.ts';

/** A resource that several runs share and that may be slow. Runs without it must not wait for it. */
type Sharing = 'origin' | 'source' | 'project';

/** Names of shared resources. A name contains no space, and names of different kinds differ. */
export type RunGroups = Readonly<Record<Sharing, string>>;

type GroupedRun = Pick<FleetMember, 'source' | 'project' | 'baseUrl'>;

export function groupsOf({ source, project, baseUrl }: GroupedRun): RunGroups {
  return {
    origin: `origin:${baseUrl && originOf(baseUrl)}`,
    source: `source:${source}`,
    project: `project:${encodeURIComponent(projectAddress(source, project))}`,
  };
}

export interface RunningInGroups {
  readonly groups: RunGroups;
  /** Milliseconds since the start of the run. */
  readonly age: number;
}

interface SlotLimits {
  readonly slots: number;
  /** Kinds of which the fleet has more than one group. */
  readonly several: readonly Sharing[];
  /** Groups whose last run was not slow. */
  readonly quick: ReadonlySet<string>;
}

/** Milliseconds after which a run counts as slow. */
export const SLOW = 10_000;

/**
 * How many jobs may be taken, and groups without a free slot. With several groups, none gets the last slot, and a group that is slow or
 * not known to be quick gets at most half. All taken jobs may belong to one group.
 */
export function freeSlots(
  running: readonly RunningInGroups[],
  { slots, several, quick }: SlotLimits,
): { readonly most: number; readonly without: readonly string[] } {
  const free = slots - running.length;
  if (several.length === 0) return { most: free, without: [] };
  const half = Math.max(1, Math.floor(slots / 2));
  const runs = running.flatMap(({ groups, age }) => several.map((sharing) => ({ group: groups[sharing], age })));
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
