import { kindNamed } from '../../kinds/index.ts';
import type { ShownRecord } from '../../kinds/kind.ts';
import { type Address, idKey, kindOf } from '../../manifests/resource.ts';
import type { PlatformClient } from '../../platform/client.ts';
import { PlatformError } from '../../platform/platform-error.ts';
import { ForeignRecord } from '../../platform/workspace-check.ts';
import { UserError } from '../../problems/user-error.ts';
import type { Fingerprints } from '../../state/fingerprint.ts';
import type { StateSession } from '../../state/session.ts';
import { LostLock } from '../../state/state-errors.ts';
import type { Secret } from '../../values/value.ts';
import type { Plan } from '../decide/make-plan.ts';
import { isAboutKept } from '../decide/write-response.ts';
import type { ObserveOptions } from '../observe/observe-options.ts';
import { createRecheck } from '../observe/recheck.ts';
import { type Action, writes } from '../plan/plan-actions.ts';
import type { PlannedResource, PlanWarning } from '../plan/plan-document.ts';
import type { ApplyEvent, ApplyReport, Failure, ResourceResult } from './apply-report.ts';
import { refreshedEntry } from './refreshed-entry.ts';
import { runGraph } from './schedule.ts';
import { write } from './write.ts';
import { MissingReference, UnrecordedIntent, UnsavedRecord } from './writing.ts';

export interface ApplyInput {
  readonly plan: Plan;
  /** When the plan read the platform. */
  readonly observedAt: Date;
  readonly observing: ObserveOptions;
  readonly client: PlatformClient;
  /** Open, and with the state that the plan was made from. */
  readonly session: StateSession;
  readonly fingerprints: Fingerprints;
  readonly onError: 'continue' | 'stop';
  /** Reads something of the workspace that is meant, once. Throws where that fails, or where another one answers. */
  verifyWorkspace(): Promise<void>;
  /** Given where the plan is one part of several; a count of its own where absent. */
  readonly lostCreates?: LostCreates;
  /** Once aborted nothing new is started or sent; what was sent is finished. Its reason names the signal. */
  readonly stop: AbortSignal;
  secret(name: string): Secret;
  now(): Date;
  onEvent?(event: ApplyEvent): void;
}

/** A record that was read longer ago than this is read again before it is written over. */
const TRUSTED_MILLISECONDS = 60_000;

/** How many creates in a row are unknown, whatever their kind. Counted across the parts of a plan that is carried out in parts. */
export class LostCreates {
  inARow = 0;
}

/** A platform that loses so many answers in a row loses the next ones too, and each of them is a question for a person. */
const MOST_LOST_CREATES = 3;

/**
 * Carries a plan out, in the order of its references and as parallel as allowed. What fails stops what depends on it and
 * nothing else, unless the API key is refused, the state cannot be written or one create after the other has no answer: then
 * nothing new is started, and what waits for its turn to be sent is not sent.
 * @throws PlatformError or UserError, before the first write, where nothing of the workspace can be read.
 */
export async function apply(input: ApplyInput): Promise<ApplyReport> {
  const { plan, session, stop } = input;
  const planned = new Map(plan.document.resources.map((resource) => [resource.address, resource]));
  const nodes = plan.document.resources.filter(({ action }) => writes.has(action));
  let warnings: PlanWarning[] = [...plan.document.warnings];
  const recheck = createRecheck(input.observing, {
    maxAgeMilliseconds: TRUSTED_MILLISECONDS,
    now: input.now,
  });
  // Not asked again during a long apply: creates must not cost reads.
  const waited = input.now().getTime() - input.observedAt.getTime() > TRUSTED_MILLISECONDS;
  const holders = new Map(
    [...session.state.resources].map(([address, entry]) => [idKey(kindOf(address), entry.id), address]),
  );
  const listed = new Map(
    [...plan.observed.lists].map(([kind, records]) => [kind, new Set(records.map((record) => record.id))]),
  );
  const { lostCreates = new LostCreates() } = input;
  let halted: string | undefined;
  let stateError: string | undefined;
  const ended = new AbortController();
  const halt = (because: string | undefined): void => {
    if (because === undefined) return;
    halted ??= because;
    ended.abort();
  };
  const halting = (): string | undefined => halted ?? (stop.aborted ? 'the run was interrupted' : undefined);
  const client = input.client.writingUntil(AbortSignal.any([stop, ended.signal]));
  const told = new Set<Address>();

  if (nodes.some(({ action }) => sends.has(action)) && !wasHeardFrom(input)) await input.verifyWorkspace();

  const run = async (address: Address, handedOver: () => void): Promise<ResourceResult> => {
    const resource = planned.get(address) as PlannedResource;
    input.onEvent?.({ type: 'started', address, action: resource.action });
    const result = await attempt(resource, handedOver);
    told.add(address);
    input.onEvent?.({ type: 'finished', address, action: resource.action, result });
    return result;
  };

  const attempt = async (resource: PlannedResource, handedOver: () => void): Promise<ResourceResult> => {
    const { address } = resource;
    const id = resource.recreates ?? resource.id;
    const kind = kindNamed(resource.kind);
    const observation = plan.observed.records.get(address);
    const isRecent = input.now().getTime() - input.observedAt.getTime() <= TRUSTED_MILLISECONDS;
    const wasSeen = observation?.status === 'shown' && observation.record.id === id;
    const mustLook = !wasSeen || !isRecent;
    let notApplied: readonly string[] = [];
    try {
      const written = await write({
        client,
        session,
        fingerprints: input.fingerprints,
        workspaceId: input.observing.workspaceId,
        kind,
        planned: resource,
        observation,
        settled: plan.settled.get(address),
        holders,
        secret: input.secret,
        recheck: mustLook && id !== null ? () => recheck.at(kind, id) : undefined,
        isTaken: waited ? (key) => recheck.holdsKey(kind, key) : undefined,
        stoodBefore: (each) => listed.get(kind.name)?.has(each) === true,
        findByKey: (key) => recheck.withKey(kind, key),
        now: input.now,
        handedOver,
        ignored: (paths) => {
          notApplied = [...paths].sort();
          const taken = new Set((resource.not_applied ?? []).filter((path) => !paths.has(path)));
          warnings = warnings.filter((each) => each.address !== address || !isAboutKept(each, taken));
        },
        warn(remark) {
          // What stands since an earlier apply is in the plan already.
          const isSaid = warnings.some((each) => each.address === address && each.message === remark.message);
          if (!isSaid) warnings.push({ address, ...remark });
        },
      });
      if (creates.has(resource.action)) lostCreates.inARow = 0;
      return { status: 'done', id: written, ...(notApplied.length > 0 && { notApplied }) };
    } catch (error) {
      if (error instanceof MissingReference) {
        return { status: 'skipped', because: missingReason(error.address, planned.get(error.address)) };
      }
      if (error instanceof PlatformError && error.reason === 'held-back') {
        return { status: 'skipped', because: halting() ?? error.message };
      }
      if (creates.has(resource.action)) count(lostCreates, error, session.state.pending.has(address));
      if (error instanceof UnrecordedIntent || error instanceof UnsavedRecord) {
        stateError ??= error.cause instanceof Error ? error.cause.message : String(error.cause);
      }
      const { inARow } = lostCreates;
      const outage = inARow < MOST_LOST_CREATES ? undefined : `${inARow} creates in a row are unknown`;
      halt(haltReason(error, input) ?? outage);
      if (error instanceof UnrecordedIntent) {
        return { status: 'skipped', because: halting() ?? 'the state could not be written' };
      }
      return { status: 'failed', ...failureOf(error, resource) };
    }
  };

  const results = await runGraph(
    nodes.map(({ address, depends_on }) => ({ address, dependsOn: depends_on })),
    {
      // More intents than requests that may be sent would only be more unknown creates after a crash.
      concurrency: () => input.client.atOnce,
      run,
      halted: halting,
    },
  );
  for (const { address, action } of nodes) {
    const result = results.get(address);
    if (result?.status === 'skipped' && !told.has(address))
      input.onEvent?.({ type: 'finished', address, action, result });
  }
  if (halted === undefined && !stop.aborted) await recordLearnt(input);
  const interrupted = signalOf(stop);
  return {
    plan: plan.document,
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

const creates: ReadonlySet<Action> = new Set(['create', 'replace']);
/** Those that go to the platform: the others only put something down in the state. */
const sends: ReadonlySet<Action> = new Set([...creates, 'update']);

/** A create that was never sent says nothing about the platform. */
function count(lost: LostCreates, error: unknown, isUnknown: boolean): void {
  if (isUnknown) lost.inARow += 1;
  else if (error instanceof PlatformError && error.reason === 'status') lost.inARow = 0;
}

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

function missingReason(address: Address, planned: PlannedResource | undefined): string {
  if (planned === undefined) return `${address} has no record`;
  return `${address} has no record yet (${planned.action})`;
}

function haltReason(error: unknown, { onError, session }: ApplyInput): string | undefined {
  const isUnstored = error instanceof UnrecordedIntent || error instanceof UnsavedRecord;
  const cause = isUnstored ? error.cause : error;
  if (cause instanceof LostLock) return 'another run or `voxform state unlock` took the state lock';
  if (isUnstored || session.broken) return 'the state could not be written';
  if (error instanceof ForeignRecord) return 'the API key belongs to another workspace';
  if (error instanceof PlatformError && (error.status === 401 || error.status === 403)) {
    return 'the platform refuses the API key';
  }
  if (error instanceof PlatformError && error.reason === 'aborted') return 'the run was interrupted';
  return onError === 'stop' ? 'another resource failed' : undefined;
}

function failureOf(error: unknown, { action, address }: PlannedResource): Omit<Failure, 'status'> {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof UserError)
    return {
      error: message,
      ...(error.hint !== undefined && { hint: error.hint }),
      ...(error.next.length > 0 && { next: error.next }),
    };
  if (error instanceof PlatformError && error.outcome === 'lost' && creates.has(action)) {
    return {
      error: message,
      hint: `${address} may or may not have been created. It stays unknown and is never resent automatically. Run plan to resolve it.`,
    };
  }
  return { error: message };
}

function signalOf(stop: AbortSignal): ApplyReport['interrupted'] {
  if (!stop.aborted) return undefined;
  return stop.reason === 'SIGTERM' ? 'SIGTERM' : 'SIGINT';
}
