import { originOf } from '../platform/base-url.ts';
import { projectAddress } from './addresses.ts';
import type { FleetMember } from './member.ts';

/** A kind of resource that several runs share and that may be slow. Runs that do not use the resource must not wait for it. */
type SharedResource = 'origin' | 'source' | 'project';

/** The group of a run for each kind of resource. A group name contains no space and begins with its kind. */
export type RunGroups = Readonly<Record<SharedResource, string>>;

export function groupsOf({ source, project, baseUrl }: Pick<FleetMember, 'source' | 'project' | 'baseUrl'>): RunGroups {
  return {
    origin: `origin:${baseUrl && originOf(baseUrl)}`,
    source: `source:${source}`,
    project: `project:${encodeURIComponent(projectAddress(source, project))}`,
  };
}

export interface RunInGroups {
  readonly groups: RunGroups;
  /** Milliseconds since the start of the run. */
  readonly age: number;
}

interface SlotLimits {
  readonly slots: number;
  /** Kinds of resources of which the fleet uses more than one. */
  readonly dividedBy: readonly SharedResource[];
  /** Groups whose last run was not slow. */
  readonly fastGroups: ReadonlySet<string>;
}

/** Milliseconds after which a run counts as slow. */
export const SLOW_RUN_MS = 10_000;

/**
 * Returns the number of jobs that may be taken now, and the groups without a free slot. If there are several groups, no group gets the last
 * slot, and a group that is slow or not known to be fast gets at most half of the slots. The limit assumes that all
 * jobs taken at once are in the same group, because their groups are not known yet.
 */
export function freeSlots(
  running: readonly RunInGroups[],
  { slots, dividedBy, fastGroups }: SlotLimits,
): { readonly max: number; readonly excludedGroups: readonly string[] } {
  const free = slots - running.length;
  if (dividedBy.length === 0) return { max: free, excludedGroups: [] };
  const half = Math.max(1, Math.floor(slots / 2));
  const runs = running.flatMap(({ groups, age }) => dividedBy.map((resource) => ({ group: groups[resource], age })));
  const freePerGroup = [...Map.groupBy(runs, ({ group }) => group)].map(([group, own]) => {
    const isFast = fastGroups.has(group) && own.every(({ age }) => age <= SLOW_RUN_MS);
    return { group, free: (isFast ? Math.max(1, slots - 1) : half) - own.length };
  });
  const limits = freePerGroup.map((each) => each.free).filter((count) => count > 0);
  return {
    max: Math.min(free, half, ...limits),
    excludedGroups: freePerGroup.filter((each) => each.free <= 0).map(({ group }) => group),
  };
}
