import type { Kind, ShownRecord } from '../kinds/kind.ts';
import { type Address, kindOf, recordKey } from '../manifests/resource.ts';
import type { PlatformClient } from '../platform/client.ts';
import { PlatformError } from '../platform/errors.ts';
import { UserError } from '../problems/user-error.ts';
import type { Fingerprints } from '../state/fingerprint.ts';
import type { StateSession } from '../state/session.ts';
import { jsonEqual } from '../values/json.ts';
import type { Secret } from '../values/value.ts';
import { kindNamed } from './kind-named.ts';
import type { Plan } from './plan.ts';
import { type PlannedResource, type PlanWarning, writes } from './plan-document.ts';
import { createSecondLook, ForeignRecord, type ObserveOptions } from './read.ts';
import type { ApplyEvent, ApplyReport, ResourceResult } from './report.ts';
import { runGraph } from './schedule.ts';
import { write } from './write.ts';
import { MissingReference, UnsavedRecord } from './write-errors.ts';

export interface ApplyInput {
  readonly plan: Plan;
  /** When the plan read the platform. */
  readonly observedAt: Date;
  readonly observing: ObserveOptions;
  readonly kinds: ReadonlyMap<string, Kind>;
  readonly client: PlatformClient;
  /** Open, and with the state that the plan was made from. */
  readonly session: StateSession;
  readonly fingerprints: Fingerprints;
  readonly concurrency: number;
  readonly onError: 'continue' | 'stop';
  /** Throws `UserError` where the platform answers for another workspace than the one that is meant. */
  verifyWorkspace(): Promise<void>;
  /** Once aborted nothing new is started; what is under way is finished. Its reason names the signal. */
  readonly stop: AbortSignal;
  secret(name: string): Secret;
  now(): Date;
  onEvent?(event: ApplyEvent): void;
}

/** A record that was read longer ago than this is read again before it is written over. */
const TRUSTED_MILLISECONDS = 60_000;

/**
 * Carries a plan out, in the order of its references and as parallel as allowed. What fails stops what depends on it and
 * nothing else, unless the API key is refused or the state cannot be written: then nothing new is started.
 */
export async function apply(input: ApplyInput): Promise<ApplyReport> {
  const { plan, session, stop } = input;
  const planned = new Map(plan.document.resources.map((resource) => [resource.address, resource]));
  const nodes = plan.document.resources.filter(({ action }) => writes.has(action));
  const warnings: PlanWarning[] = [...plan.document.warnings];
  const secondLook = createSecondLook(input.observing, {
    maxAgeMilliseconds: TRUSTED_MILLISECONDS,
    now: input.now,
  });
  // Not asked again during a long apply: creates must not cost reads.
  const waited = input.now().getTime() - input.observedAt.getTime() > TRUSTED_MILLISECONDS;
  const holders = new Map(
    [...session.state.resources].map(([address, entry]) => [recordKey(kindOf(address), entry.id), address]),
  );
  let halted: string | undefined;

  if (nodes.some(({ action }) => action === 'create') && !wasHeardFrom(input)) await input.verifyWorkspace();

  const run = async (address: Address): Promise<ResourceResult> => {
    const resource = planned.get(address) as PlannedResource;
    input.onEvent?.({ type: 'started', address, action: resource.action });
    const result = await attempt(resource);
    input.onEvent?.({ type: 'finished', address, action: resource.action, result });
    return result;
  };

  const attempt = async (resource: PlannedResource): Promise<ResourceResult> => {
    const { address, id } = resource;
    const kind = kindNamed(input.kinds, resource.kind);
    const observation = plan.observed.records.get(address);
    const isRecent = input.now().getTime() - input.observedAt.getTime() <= TRUSTED_MILLISECONDS;
    const wasSeen = observation?.status === 'shown' && observation.record.id === id;
    const mustLook = !wasSeen || !isRecent;
    try {
      const written = await write({
        client: input.client,
        session,
        fingerprints: input.fingerprints,
        workspaceId: input.observing.workspaceId,
        workspaceFlag: input.observing.workspaceFlag ?? '',
        kind,
        planned: resource,
        observation,
        settled: plan.settled.get(address),
        holders,
        secret: input.secret,
        lookAgain: mustLook && id !== null ? () => secondLook.at(kind, id) : undefined,
        isTaken: waited ? (key) => secondLook.holdsKey(kind, key) : undefined,
        now: input.now,
        warn: (message) => warnings.push({ address, message }),
      });
      return { status: 'done', id: written };
    } catch (error) {
      if (error instanceof MissingReference) {
        return { status: 'skipped', because: missingReason(error.address, planned.get(error.address)) };
      }
      halted ??= haltReason(error, input);
      return { status: 'failed', ...wordsOf(error, resource) };
    }
  };

  const results = await runGraph(
    nodes.map(({ address, depends_on }) => ({ address, dependsOn: depends_on })),
    {
      concurrency: input.concurrency,
      run,
      halted: () => halted ?? (stop.aborted ? 'the run was interrupted' : undefined),
    },
  );
  for (const { address, action } of nodes) {
    const result = results.get(address);
    if (result?.status === 'skipped') input.onEvent?.({ type: 'finished', address, action, result });
  }
  if (halted === undefined && !stop.aborted) await keepBooks(input);
  return { plan: plan.document, results, warnings, interrupted: signalOf(stop) };
}

/** True where something that the plan read says of which workspace it is: it has been checked then. */
function wasHeardFrom({ plan: { observed } }: ApplyInput): boolean {
  const says = (record: ShownRecord): boolean => typeof record.workspace_id === 'string';
  for (const records of observed.lists.values()) if (records.some(says)) return true;
  for (const seen of observed.records.values()) if (seen.status === 'shown' && says(seen.record)) return true;
  return false;
}

/** Puts down what was learnt of resources that needed no write: baselines first seen, released fields, renames. */
async function keepBooks({ plan, session }: ApplyInput): Promise<void> {
  const notes = plan.document.resources.filter(({ action }) => !writes.has(action));
  await Promise.all(
    notes.map(async ({ address, previous_address }) => {
      const entry = plan.settled.get(address);
      const { resources, pending } = session.state;
      if (
        previous_address !== undefined &&
        (resources.has(previous_address) || pending.has(previous_address))
      ) {
        await session.record({ type: 'renamed', from: previous_address, to: address });
      }
      if (entry === undefined || jsonEqual(entry, session.state.resources.get(address))) return;
      await session.record({ type: 'saved', address, entry });
    }),
  );
}

function missingReason(address: Address, planned: PlannedResource | undefined): string {
  if (planned === undefined) return `${address} has no record`;
  return `${address} has no record yet (${planned.action})`;
}

function haltReason(error: unknown, { onError, session }: ApplyInput): string | undefined {
  if (error instanceof UnsavedRecord || session.broken) return 'the state could not be written';
  if (error instanceof ForeignRecord) return 'the API key belongs to another workspace';
  if (error instanceof PlatformError && (error.status === 401 || error.status === 403)) {
    return 'the platform refuses the API key';
  }
  if (error instanceof PlatformError && error.reason === 'aborted') return 'the run was interrupted';
  return onError === 'stop' ? 'another resource failed' : undefined;
}

function wordsOf(error: unknown, { action, address }: PlannedResource): { error: string; hint?: string } {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof UserError)
    return { error: message, ...(error.hint !== undefined && { hint: error.hint }) };
  if (
    error instanceof PlatformError &&
    error.outcome === 'lost' &&
    (action === 'create' || action === 'replace')
  ) {
    return {
      error: message,
      hint: `Nobody knows whether ${address} was created. It is kept as unknown, and never sent again by itself: plan shows what to do.`,
    };
  }
  return { error: message };
}

function signalOf(stop: AbortSignal): ApplyReport['interrupted'] {
  if (!stop.aborted) return undefined;
  return stop.reason === 'SIGTERM' ? 'SIGTERM' : 'SIGINT';
}
