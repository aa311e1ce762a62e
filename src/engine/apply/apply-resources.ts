import type { ShownRecord } from '../../kinds/kind.ts';
import { type Action, writes } from '../plan/plan-actions.ts';
import type { ApplyReport } from './apply-report.ts';
import { type ApplyInput, ApplyRun } from './apply-run.ts';
import { creates } from './failed-write.ts';
import { refreshedEntry } from './refreshed-entry.ts';
import { runGraph } from './schedule.ts';

/**
 * Carries a plan out, in the order of its references and as parallel as allowed. What fails stops what depends on it and
 * nothing else, unless the API key is refused, the state cannot be written or one create after the other has no answer: then
 * nothing new is started, and what waits for its turn to be sent is not sent.
 * @throws PlatformError or UserError, before the first write, where nothing of the workspace can be read.
 */
export async function apply(input: ApplyInput): Promise<ApplyReport> {
  const { document } = input.plan;
  const nodes = document.resources.filter(({ action }) => writes.has(action));
  const run = new ApplyRun(input);
  if (nodes.some(({ action }) => sends.has(action)) && !wasHeardFrom(input)) await input.verifyWorkspace();
  const results = await runGraph(
    nodes.map(({ address, depends_on }) => ({ address, dependsOn: depends_on })),
    {
      // More intents than requests that may be sent would only be more unknown creates after a crash.
      concurrency: () => input.observing.client.atOnce(),
      run: (address, handedOver) => run.write(address, handedOver),
      halted: () => run.stopped,
    },
  );
  run.tellSkipped(results);
  if (run.stopped === undefined) await recordLearnt(input);
  const { halted, stateError, warnings } = run;
  const interrupted = signalOf(input.stop);
  return {
    plan: document,
    results,
    warnings: warnings.filter(
      ({ address, next = [] }) =>
        // Once the new record is created, nothing keeps the former one.
        !next.some(({ action }) => action === 'keep_record') || results.get(address ?? '')?.status !== 'done',
    ),
    interrupted,
    ...(halted !== undefined && interrupted === undefined && { halted }),
    ...(stateError !== undefined && { stateError }),
  };
}

/** Those that go to the platform: the others only put something down in the state. */
const sends: ReadonlySet<Action> = new Set([...creates, 'update']);

/** True where something that the plan read says of which workspace it is: it has been checked then. */
function wasHeardFrom({ plan: { observed } }: ApplyInput): boolean {
  const says = (record: ShownRecord): boolean => typeof record.workspace_id === 'string';
  for (const records of observed.lists.values()) if (records.some(says)) return true;
  for (const seen of observed.records.values()) if (seen.status === 'shown' && says(seen.record)) return true;
  return false;
}

/** Puts down what was learnt of resources that needed no write: baselines first seen, released fields, renames, what is missing. */
async function recordLearnt({ plan, session, now }: ApplyInput): Promise<void> {
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
