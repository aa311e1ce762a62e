import type { ShownRecord } from '../../kinds/kind.ts';
import type { State } from '../../state/state.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import { jsonEqual } from '../../values/json.ts';
import type { Plan } from '../decide/make-plan.ts';
import type { Observation } from '../decide/observed.ts';
import { type Action, writes } from '../plan/plan-actions.ts';
import type { PlannedResource } from '../plan/plan-document.ts';
import type { ApplyReport } from './apply-report.ts';
import { type ApplyInput, ApplyRun } from './apply-run.ts';
import { runGraph } from './schedule.ts';
import { creates } from './writing.ts';

/**
 * Applies a plan in the order of its references, with as much concurrency as allowed. A failure skips the resources that depend on it. A
 * refused API key, a state that cannot be written, or several unknown creates in a row stop the apply: nothing more is sent.
 * @throws PlatformError or UserError before the first write if the workspace cannot be read.
 */
export async function apply(input: ApplyInput): Promise<ApplyReport> {
  const { document } = input.plan;
  const nodes = document.resources.filter(({ action }) => writes.has(action));
  const run = new ApplyRun(input);
  if (nodes.some(({ action }) => sends.has(action)) && !isWorkspaceConfirmed(input)) await input.verifyWorkspace();
  const results = await runGraph(
    nodes.map(({ address, depends_on }) => ({ address, dependsOn: depends_on })),
    {
      // More intents than concurrent requests would only mean more unknown creates after a crash.
      concurrency: () => input.observing.client.atOnce(),
      run: (address, onRecorded) => run.write(address, onRecorded),
      halted: () => run.stopped,
    },
  );
  run.reportSkipped(results);
  if (run.stopped === undefined) await recordObserved(input);
  const { halted, stateError, warnings } = run;
  const interrupted = signalOf(input.stop);
  return {
    plan: document,
    results,
    warnings: warnings.filter(
      ({ address, next = [] }) =>
        // Nothing keeps the former record once the new one exists.
        !next.some(({ action }) => action === 'keep_record') || results.get(address ?? '')?.status !== 'done',
    ),
    interrupted,
    ...(halted !== undefined && interrupted === undefined && { halted }),
    ...(stateError !== undefined && { stateError }),
  };
}

/** The actions that send a request. All others only change the state. */
const sends: ReadonlySet<Action> = new Set([...creates, 'update']);

/** True if the reads of the plan already confirmed the workspace. */
function isWorkspaceConfirmed({ plan: { observed } }: ApplyInput): boolean {
  const hasWorkspaceId = (record: ShownRecord): boolean => typeof record.workspace_id === 'string';
  for (const records of observed.lists.values()) if (records.some(hasWorkspaceId)) return true;
  for (const observation of observed.records.values())
    if (observation.status === 'shown' && hasWorkspaceId(observation.record)) return true;
  return false;
}

/** Records the results of the plan for resources that need no write: first baselines, released fields, renames, missing records. */
async function recordObserved({ plan, session, now }: ApplyInput): Promise<void> {
  const notes = plan.document.resources.filter(({ action }) => !writes.has(action));
  const at = now().toISOString();
  await Promise.all(
    notes.map(async (resource) => {
      const { address, previous_address } = resource;
      const { state } = session;
      const entry = refreshedEntry(resource, { plan, state, at });
      if (
        previous_address !== undefined &&
        (state.resources.has(previous_address) || state.pending.has(previous_address))
      ) {
        await session.record({ type: 'renamed', from: previous_address, to: address });
      }
      if (entry !== undefined) await session.record({ type: 'saved', address, entry });
    }),
  );
}

function signalOf(stop: AbortSignal): ApplyReport['interrupted'] {
  if (!stop.aborted) return undefined;
  return stop.reason === 'SIGTERM' ? 'SIGTERM' : 'SIGINT';
}

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
  const updated = withMissing(entry, plan.observed.records.get(address), at);
  return jsonEqual(updated, known) ? undefined : updated;
}

function withMissing(entry: ResourceEntry, observation: Observation | undefined, at: string): ResourceEntry {
  if (observation?.status === 'missing') return { missing_since: at, ...entry };
  if (observation?.status !== 'shown' || observation.record.id !== entry.id || entry.missing_since === undefined)
    return entry;
  const { missing_since: _, ...rest } = entry;
  return rest;
}
