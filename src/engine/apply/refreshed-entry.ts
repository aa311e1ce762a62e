import type { State } from '../../state/state.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import { jsonEqual } from '../../values/json.ts';
import type { Plan } from '../decide/make-plan.ts';
import type { Observation } from '../decide/observed.ts';
import type { PlannedResource } from '../plan/plan-document.ts';

interface RefreshInput {
  readonly plan: Plan;
  readonly state: State;
  /** ISO 8601: the time since which a record counts as missing if this plan is the first to miss it. */
  readonly at: string;
}

/** The new state entry of a resource that needs no write; undefined if the entry does not change. */
export function refreshedEntry(
  { address, previous_address: before = address }: PlannedResource,
  { plan, state, at }: RefreshInput,
): ResourceEntry | undefined {
  const known = state.resources.get(address) ?? state.resources.get(before);
  const settled = plan.settled.get(address);
  // Saving the remembered record would close the unknown create.
  if (settled === undefined && (state.pending.has(address) || state.pending.has(before))) return undefined;
  const entry = settled ?? known;
  if (entry === undefined) return undefined;
  const learnt = withMissing(entry, plan.observed.records.get(address), at);
  return jsonEqual(learnt, known) ? undefined : learnt;
}

function withMissing(entry: ResourceEntry, seen: Observation | undefined, at: string): ResourceEntry {
  if (seen?.status === 'missing') return { missing_since: at, ...entry };
  if (seen?.status !== 'shown' || seen.record.id !== entry.id || entry.missing_since === undefined)
    return entry;
  const { missing_since: _, ...rest } = entry;
  return rest;
}
