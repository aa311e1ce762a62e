import { kindNamed } from '../../kinds/index.ts';
import type { ShownRecord } from '../../kinds/kind.ts';
import type { Address } from '../../manifests/resource.ts';
import type { PlatformClient, WritePermission } from '../../platform/client.ts';
import { PlatformError } from '../../platform/platform-error.ts';
import { UserError } from '../../problems/user-error.ts';
import { managedRecords, type State } from '../../state/state.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import { jsonEqual } from '../../values/json.ts';
import type { Plan } from '../decide/make-plan.ts';
import type { Observation } from '../decide/observed.ts';
import { isIgnoredUpdateWarning } from '../decide/write-response.ts';
import type { ObserveOptions } from '../observe/read-records.ts';
import { createRecheck, type Recheck } from '../observe/recheck.ts';
import { type Action, writes } from '../plan/plan-actions.ts';
import type { PlannedResource, PlanWarning, Remark } from '../plan/plan-document.ts';
import type { ApplyEvent, ApplyReport, ResourceResult } from './apply-report.ts';
import { runGraph } from './schedule.ts';
import { write } from './write.ts';
import {
  creates,
  failureOf,
  haltReason,
  MissingReference,
  type ResourceWrite,
  UnknownCreateCounter,
  UnrecordedIntent,
  UnsavedRecord,
  type WriteTools,
} from './writing.ts';

/**
 * Applies a plan in the order of its references, with as much concurrency as allowed. If a write fails, the resources that depend on it
 * are skipped. The apply sends no further writes after a refused API key, a failed write of the state, or several unknown creates in a row.
 * @throws PlatformError or UserError before the first write if the workspace cannot be read.
 */
export async function apply(input: ApplyInput): Promise<ApplyReport> {
  const { document } = input.plan;
  const nodes = document.resources.filter(({ action }) => writes.has(action));
  const run = new ApplyRun(input);
  if (nodes.some(({ action }) => sendingActions.has(action)) && !isWorkspaceConfirmed(input))
    await input.verifyWorkspace();
  const results = await runGraph(
    nodes.map(({ address, depends_on }) => ({ address, dependsOn: depends_on })),
    {
      // More intents than concurrent requests would only cause more unknown creates after a crash.
      concurrency: () => input.observing.client.atOnce(),
      run: (address, onRecorded) => run.write(address, onRecorded),
      halted: () => run.stopReason,
    },
  );
  run.reportSkipped(results);
  if (run.stopReason === undefined) await recordObserved(input);
  const { halted, stateError, warnings } = run;
  const interrupted = signalOf(input.stop);
  return {
    plan: document,
    results,
    warnings: warnings.filter(
      ({ address, next = [] }) =>
        // Advice to keep the former record is useless once the new record exists.
        !next.some(({ action }) => action === 'keep_record') || results.get(address ?? '')?.status !== 'done',
    ),
    interrupted,
    ...(halted !== undefined && interrupted === undefined && { halted }),
    ...(stateError !== undefined && { stateError }),
  };
}

/** The actions that send a request. All others only change the state. */
const sendingActions: ReadonlySet<Action> = new Set([...creates, 'update']);

/** True if the reads of the plan already confirmed the workspace. */
function isWorkspaceConfirmed({ plan: { observed } }: ApplyInput): boolean {
  const hasWorkspaceId = (record: ShownRecord): boolean => typeof record.workspace_id === 'string';
  for (const records of observed.lists.values()) if (records.some(hasWorkspaceId)) return true;
  for (const observation of observed.records.values())
    if (observation.status === 'shown' && hasWorkspaceId(observation.record)) return true;
  return false;
}

/** Records first baselines, released fields, renames and missing records of resources that need no write. */
async function recordObserved({ plan, session, now }: ApplyInput): Promise<void> {
  const notes = plan.document.resources.filter(({ action }) => !writes.has(action));
  const at = now().toISOString();
  await Promise.all(
    notes.map(async (resource) => {
      const { address, previous_address } = resource;
      const { state } = session;
      const entry = entryWithoutWrite(resource, { plan, state, at });
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
  return stop.reason === 'SIGTERM' || stop.reason instanceof UserError ? 'SIGTERM' : 'SIGINT';
}

interface RefreshInput {
  readonly plan: Plan;
  readonly state: State;
  /** ISO 8601: the time that is saved as `missing_since` of newly missing records. */
  readonly at: string;
}

/** Returns the new state entry of a resource that needs no write; undefined if the entry does not change. */
export function entryWithoutWrite(
  { address, previous_address: before = address }: PlannedResource,
  { plan, state, at }: RefreshInput,
): ResourceEntry | undefined {
  const current = state.resources.get(address) ?? state.resources.get(before);
  const settled = plan.settled.get(address);
  // Saving the entry would resolve the unknown create.
  if (settled === undefined && (state.pending.has(address) || state.pending.has(before))) return undefined;
  const entry = settled ?? current;
  if (entry === undefined) return undefined;
  const updated = withMissing(entry, plan.observed.records.get(address), at);
  return jsonEqual(updated, current) ? undefined : updated;
}

function withMissing(entry: ResourceEntry, observation: Observation | undefined, at: string): ResourceEntry {
  if (observation?.status === 'missing') return { missing_since: at, ...entry };
  if (observation?.status !== 'shown' || observation.record.id !== entry.id || entry.missing_since === undefined)
    return entry;
  const { missing_since: _, ...rest } = entry;
  return rest;
}

export interface ApplyInput extends WriteTools {
  readonly plan: Plan;
  /** The time when the plan read the platform. */
  readonly observedAt: Date;
  readonly observing: ObserveOptions;
  readonly onError: 'continue' | 'stop';
  /** Reads the workspace once. Throws if that fails, or if the API key belongs to another workspace. */
  verifyWorkspace(): Promise<void>;
  /** The counter that several parts of a plan share. If absent, the run has its own. */
  readonly lostCreates?: UnknownCreateCounter | undefined;
  /** After an abort, no further requests are sent, but requests in flight finish. The reason is the name of a signal, or an error. */
  readonly stop: AbortSignal;
  /** Also required for each write, in addition to the permission of the session. */
  readonly permission?: WritePermission | undefined;
  onEvent?(event: ApplyEvent): void;
}

function combinePermissions(session: WritePermission, other: WritePermission | undefined): WritePermission {
  if (other === undefined) return session;
  return {
    get mayWrite() {
      return session.mayWrite && other.mayWrite;
    },
    async renew() {
      await session.renew();
      await other.renew();
    },
  };
}

/** A record is read again before its update if its last read is older than this. */
const MAX_READ_AGE_MS = 60_000;

/**
 * The number of records from which a list may have several pages, even if the platform ignores the requested page size. If a record is
 * deleted meanwhile, another one may move to a page that was already read, and is then missing from the list.
 */
const MIN_PAGED = 20;

/** The data of an apply in progress, which its writes share. */
class ApplyRun {
  /** The reason why no further write is started; undefined for an interruption. */
  halted: string | undefined;
  stateError: string | undefined;
  /** Warnings of the plan and of the responses so far. */
  warnings: readonly PlanWarning[];
  readonly #input: ApplyInput;
  readonly #planned: ReadonlyMap<Address, PlannedResource>;
  readonly #holders: Map<string, Address>;
  /** The ids that lists contained before the first create, by kind. */
  readonly #listed: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #recheck: Recheck;
  readonly #client: PlatformClient;
  readonly #lostCreates: UnknownCreateCounter;
  /** True if the plan was stale at the start. Computed only once, so that a long apply does not add a read to each create. */
  readonly #wasStale: boolean;
  readonly #started = new Set<Address>();
  readonly #abort = new AbortController();

  constructor(input: ApplyInput) {
    const { plan, session, observing, now, stop, permission, lostCreates = new UnknownCreateCounter() } = input;
    this.warnings = plan.document.warnings;
    this.#input = input;
    this.#planned = new Map(plan.document.resources.map((resource) => [resource.address, resource]));
    this.#holders = managedRecords(session.state);
    this.#listed = new Map(
      [...plan.observed.lists].map(([kind, records]) => [kind, new Set(records.map(({ id }) => id))]),
    );
    this.#recheck = createRecheck(observing, { maxAgeMilliseconds: MAX_READ_AGE_MS, now });
    this.#client = observing.client.writingUntil(
      AbortSignal.any([stop, this.#abort.signal]),
      combinePermissions(session, permission),
    );
    this.#lostCreates = lostCreates;
    this.#wasStale = this.#isStale();
  }

  /** The reason why no further write is started, if any. */
  get stopReason(): string | undefined {
    const { aborted, reason } = this.#input.stop;
    if (this.halted !== undefined || !aborted) return this.halted;
    return reason instanceof UserError ? reason.message : 'the run was interrupted';
  }

  /** Writes one resource. Never rejects. */
  async write(address: Address, onRecorded: () => void): Promise<ResourceResult> {
    const resource = this.#planned.get(address) as PlannedResource;
    const { action } = resource;
    this.#started.add(address);
    this.#input.onEvent?.({ type: 'started', address, action });
    const result = await this.#writeResource(resource, onRecorded).catch((error: unknown) =>
      this.#resultOfError(resource, error),
    );
    this.#input.onEvent?.({ type: 'finished', address, action, result });
    return result;
  }

  /** Reports the resources that were never started. */
  reportSkipped(results: ReadonlyMap<Address, ResourceResult>): void {
    for (const { address, action } of this.#planned.values()) {
      const result = results.get(address);
      if (result !== undefined && !this.#started.has(address))
        this.#input.onEvent?.({ type: 'finished', address, action, result });
    }
  }

  async #writeResource(resource: PlannedResource, onRecorded: () => void): Promise<ResourceResult> {
    let notApplied: readonly string[] = [];
    const id = await write({
      ...this.#writeOf(resource),
      onRecorded,
      ignored: (paths) => {
        notApplied = [...paths].sort();
        this.#dropAppliedWarnings(resource, paths);
      },
    });
    if (creates.has(resource.action)) this.#lostCreates.reset();
    return { status: 'done', id, ...(notApplied.length > 0 && { notApplied }) };
  }

  #writeOf(resource: PlannedResource): Omit<ResourceWrite, 'onRecorded' | 'ignored'> {
    const { plan, observing, session, fingerprints, secret, now } = this.#input;
    const { address } = resource;
    const id = resource.recreates ?? resource.id;
    const kind = kindNamed(resource.kind);
    const observation = plan.observed.records.get(address);
    const wasSeen = observation?.status === 'shown' && observation.record.id === id;
    const mustRead = !wasSeen || this.#isStale();
    const recheck = this.#recheck;
    const listed = this.#listed.get(kind.name);
    return {
      client: this.#client,
      session,
      fingerprints,
      workspaceId: observing.workspaceId,
      kind,
      planned: resource,
      observation,
      settled: plan.settled.get(address),
      holders: this.#holders,
      secret,
      recheck: mustRead && id !== null ? () => recheck.at(kind, id) : undefined,
      isTaken:
        this.#wasStale || (listed !== undefined && listed.size >= MIN_PAGED)
          ? (key) => recheck.holdsKey(kind, key)
          : undefined,
      existedBefore: (each) => listed?.has(each) === true,
      findByKey: (key) => recheck.withKey(kind, key),
      now,
      warn: (remark) => this.#warn(address, remark),
    };
  }

  #resultOfError(resource: PlannedResource, error: unknown): ResourceResult {
    const { session } = this.#input;
    if (error instanceof MissingReference) {
      const planned = this.#planned.get(error.address);
      const detail = planned === undefined ? '' : ` yet (${planned.action})`;
      return { status: 'skipped', because: `${error.address} has no record${detail}` };
    }
    if (error instanceof PlatformError && error.reason === 'held-back') {
      return { status: 'skipped', because: this.stopReason ?? error.message };
    }
    if (creates.has(resource.action)) this.#lostCreates.count(error, session.state.pending.has(resource.address));
    if (error instanceof UnrecordedIntent || error instanceof UnsavedRecord) {
      this.stateError ??= error.cause instanceof Error ? error.cause.message : String(error.cause);
    }
    this.#halt(haltReason(error, this.#input) ?? this.#lostCreates.haltReason);
    if (error instanceof UnrecordedIntent) {
      return { status: 'skipped', because: this.stopReason ?? 'the state could not be written' };
    }
    return { status: 'failed', ...failureOf(error, resource) };
  }

  #halt(reason: string | undefined): void {
    if (reason === undefined) return;
    this.halted ??= reason;
    this.#abort.abort();
  }

  #isStale(): boolean {
    const { now, observedAt } = this.#input;
    return now().getTime() - observedAt.getTime() > MAX_READ_AGE_MS;
  }

  /** Adds a warning, unless the plan already contains it, for example from an earlier apply. */
  #warn(address: Address, remark: Remark): void {
    const isReported = this.warnings.some((each) => each.address === address && each.message === remark.message);
    if (!isReported) this.warnings = [...this.warnings, { address, ...remark }];
  }

  /** Removes the warnings about fields that the platform ignored earlier and has applied now. */
  #dropAppliedWarnings({ address, not_applied = [] }: PlannedResource, ignored: ReadonlySet<string>): void {
    const applied = new Set(not_applied.filter((path) => !ignored.has(path)));
    this.warnings = this.warnings.filter((each) => each.address !== address || !isIgnoredUpdateWarning(each, applied));
  }
}
