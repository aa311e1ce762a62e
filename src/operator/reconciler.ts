import { entryWithoutWrite } from '../engine/apply/apply-resources.ts';
import type { PlanResult } from '../engine/engine.ts';
import { writes } from '../engine/plan/plan-actions.ts';
import type { PlanDocument } from '../engine/plan/plan-document.ts';
import { filesOnHost } from '../hosting/index.ts';
import { UserError } from '../problems/user-error.ts';
import { applyPlan, planInHistory } from '../runs/apply-plan.ts';
import type { ProjectOrigin } from '../runs/drift-request/request-target.ts';
import { withSession } from '../runs/open-workspace.ts';
import { changesIn } from '../runs/planning.ts';
import type { LockOptions, PlatformOptions, RunContext } from '../runs/run-context.ts';
import { type FreshState, openOrphans, type State } from '../state/state.ts';
import type { Clock } from './clock.ts';
import { DriftRequest } from './drift-request.ts';
import type { GracefulShutdown } from './graceful-shutdown.ts';
import { type ApplyPolicy, holdOf, windowState } from './hold.ts';
import type { LastGoodManifests, LoadedVersion } from './load-version.ts';
import { FleetFrozen, StateLocked } from './messages.ts';
import { receiversOf } from './notifications/receiver.ts';
import { driftIn, type PlannedRun, planRun } from './plan-run.ts';
import {
  type AppliedChange,
  type Hold,
  labelsOf,
  type MissingResource,
  naturalKeysOf,
  type RequestMemory,
  type RunReport,
} from './run-report.ts';

export interface WatchPolicy extends ApplyPolicy, PlatformOptions, LockOptions {
  readonly allowReplace?: readonly string[];
  /** Proposes drift in a pull request instead of correcting it. If absent, a run that applies changes also corrects drift. */
  readonly onDrift?: 'pull-request' | undefined;
}

interface ReconcilerOptions {
  readonly context: Omit<RunContext, 'interrupts'>;
  readonly shutdown: GracefulShutdown;
  readonly clock: Clock;
  readonly policy: WatchPolicy;
  /** The operation that the lock and the history record. */
  readonly operation: 'watch' | 'fleet';
  /** The name of the workspace in reports; by default, the name in the project file. */
  readonly address?: string | undefined;
  /** The identity of a new state, such as that of a plan that waits for approval; generated if absent. */
  readonly fresh?: FreshState | undefined;
  readonly manifests: LastGoodManifests;
  /** Milliseconds for which a resource must be missing from the manifests before it is released; 0 if no file can be half-written. */
  readonly removalDelay: number;
  /** Milliseconds for which another run may hold the lock. A longer time is reported as a failure. */
  readonly maxBusy: number;
  /** Returns the location of the loaded manifests in their repository. */
  readonly origin: (loaded: LoadedVersion) => ProjectOrigin;
  /** The data of an earlier run about the drift request. */
  readonly request?: RequestMemory | undefined;
  /** The missing records of an earlier run with their times, for modes that do not write the state. */
  readonly missing?: readonly MissingResource[] | undefined;
  /** True if a file has changed since the last run read the files. */
  hasUnreadChanges(): boolean;
  /** Aborted with a `FleetFrozen` as the reason if the fleet is frozen. A run then continues, but writes nothing more. */
  readonly frozen?: AbortSignal | undefined;
}

type RunRequest = Pick<RunReport, 'number' | 'triggers' | 'askedBy'>;
type RunOutcome = Omit<RunReport, keyof RunRequest | 'id' | 'mode' | 'startedAt' | 'seconds' | 'busy'>;

export const EMPTY_OUTCOME: RunOutcome = {
  result: 'failed',
  workspace: undefined,
  commit: undefined,
  fetchProblem: undefined,
  invalid: undefined,
  warnings: [],
  plan: undefined,
  drift: [],
  missing: [],
  orphans: [],
  hold: undefined,
  applied: [],
  notify: undefined,
  error: undefined,
};

/** Compares the manifests with the platform in each run, and applies the differences if allowed. */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #removals: RemovalDebounce;
  readonly #missing: MissingSince;
  #busySince: number | undefined;
  /** The id of the current run; undefined until the run has the lock. */
  #runId: string | undefined;
  /** The identity of a new state. All runs use the same identity until the state exists, so that equal secrets have equal fingerprints. */
  #fresh: FreshState | undefined;
  readonly #request: DriftRequest;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    this.#removals = new RemovalDebounce(options.removalDelay);
    this.#missing = new MissingSince(options.missing);
    this.#request = new DriftRequest(options.request);
  }

  /** Never rejects: errors are part of the report. */
  async run(request: RunRequest): Promise<RunReport> {
    const { context, clock, policy, shutdown } = this.#options;
    const startedAt = context.now();
    const began = clock.now();
    let outcome = EMPTY_OUTCOME;
    this.#runId = undefined;
    try {
      for await (const step of this.#steps(request)) outcome = { ...outcome, ...step };
    } catch (error) {
      if (error instanceof StateLocked) this.#busySince ??= began;
      const result = shutdown.stop.aborted ? 'interrupted' : error instanceof StateLocked ? 'busy' : 'failed';
      outcome = { ...outcome, result, error };
    }
    const seconds = (clock.now() - began) / 1000;
    const [id, busy] = [this.#runId, this.#busy()];
    return { ...request, id, mode: policy.mode, startedAt, seconds, busy, ...outcome };
  }

  #busy(): RunReport['busy'] {
    const { clock, maxBusy } = this.#options;
    if (this.#busySince === undefined) return undefined;
    const milliseconds = clock.now() - this.#busySince;
    return { seconds: milliseconds / 1000, isLong: milliseconds > maxBusy };
  }

  /** Yields the results of the run step by step, so that a failure does not discard earlier results. */
  async *#steps({ askedBy, triggers }: RunRequest): AsyncGenerator<Partial<RunOutcome>> {
    const { manifests, shutdown, context, policy, address } = this.#options;
    const { loaded, invalid, fetchProblem } = await manifests.refresh(shutdown.requests);
    yield { invalid, fetchProblem };
    if (loaded === undefined) {
      yield { result: 'invalid' };
      return;
    }
    const { opened, version, warnings, resources } = loaded;
    yield {
      notify: await receiversOf(opened),
      workspace: {
        name: address ?? opened.workspace.name,
        id: opened.workspace.workspaceId,
        isSealed: opened.workspace.state.seal !== undefined,
      },
      selection: opened.selection,
      labels: labelsOf(resources),
      naturalKeys: naturalKeysOf(resources),
      commit: version.commit,
      files: this.#files(loaded),
      warnings: invalid === undefined ? warnings : [],
    };
    await context.begin?.(opened.workspace);
    const stored = await opened.state(this.#fresh ?? this.#options.fresh);
    this.#fresh = stored.serial === 0 ? { lineage: stored.lineage, salt: stored.salt } : undefined;
    if (opened.holder !== undefined) throw new StateLocked(opened.holder, opened.selection);
    this.#busySince = undefined;
    await using client = opened.connect(policy);
    const state = policy.mode !== 'apply' ? this.#missing.applyTo(stored) : stored;
    const keepsDrift = policy.onDrift !== undefined && policy.mode !== 'report';
    const plan = (from: State): Promise<PlannedRun> =>
      planRun(loaded, { state: from, client, options: policy, keepsDrift });
    const planned = await plan(state);
    const { document } = planned.plan;
    const [missing, orphans] = [missingIn(document), openOrphans(state)];
    this.#missing.note(missing, planned.observedAt);
    yield { plan: document, drift: driftIn(planned.drift), missing, orphans };
    const isNeeded = changesIn(document) > 0 || changesState(planned, state);
    const hold = this.#hold(loaded, document);
    if (!isNeeded || hold !== undefined) {
      const isHeld = changesIn(document) > 0 || hold?.reason === 'window';
      yield isHeld ? withHold(hold) : { result: 'ok' };
    } else yield await shutdown.writing(() => this.#apply({ loaded, state, planned, plan, askedBy }));
    if (policy.onDrift !== undefined && this.#freeze === undefined) {
      const facts = { opened, resources, state, client, drift: planned.drift };
      const request = await this.#request.update({
        ...facts,
        triggers,
        origin: this.#options.origin(loaded),
        signal: this.#noWrites,
      });
      yield { request };
    }
  }

  #files(loaded: LoadedVersion): string | undefined {
    const { version, opened } = loaded;
    const { commit } = version;
    const origin = commit === undefined ? undefined : this.#options.origin(loaded);
    if (commit === undefined || origin === undefined || 'checkout' in origin) return undefined;
    return filesOnHost({ ...origin, host: origin.host ?? opened.project.pullRequests.host, commit });
  }

  /** Takes the lock and applies the plan. Plans again if the state has changed since the plan was made. */
  async #apply({ loaded, state, planned, plan, askedBy }: ApplyInput): Promise<Partial<RunOutcome>> {
    const { policy, operation } = this.#options;
    const { opened } = loaded;
    const fresh = { lineage: state.lineage, salt: state.salt };
    this.#fresh = undefined;
    await opened.commit(loaded.version.commit);
    const { client } = planned.observing;
    return withSession(opened, { operation, options: policy, fresh, client }, async ({ session }) => {
      this.#runId = session.id;
      if (askedBy.length > 0) session.note({ asked_by: askedBy.join(', ') });
      const isSame = session.state.lineage === state.lineage && session.state.serial === state.serial;
      const current = isSame ? planned : await plan(session.state);
      const { document } = current.plan;
      session.note(planInHistory(document));
      const hold = this.#hold(loaded, document);
      if (hold !== undefined) {
        session.note({ result: 'refused', error: `held: ${hold.reason}` });
        return { plan: document, ...withHold(hold) };
      }
      if (policy.approved !== undefined) session.note({ approved_by: policy.approved.by });
      const report = await applyPlan({ opened, session, planned: current, onError: 'continue', stop: this.#noWrites });
      const actions = new Map(document.resources.map(({ address, action }) => [address, action]));
      const applied = [...report.results].map(
        ([address, result]): AppliedChange => ({ address, action: actions.get(address) ?? 'noop', result }),
      );
      const isComplete = applied.every(({ result }) => result.status === 'done');
      const stoppedBy = isComplete ? undefined : this.#freeze?.message;
      return {
        result: isComplete ? 'ok' : report.interrupted === undefined ? 'failed' : 'interrupted',
        error: stoppedBy && new UserError(stoppedBy),
        plan: { ...document, warnings: report.warnings },
        drift: driftIn(current.drift),
        orphans: openOrphans(session.state),
        applied,
      };
    });
  }

  /** The freeze that stopped the writes of the run, if any. */
  get #freeze(): FleetFrozen | undefined {
    const reason: unknown = this.#options.frozen?.reason;
    return reason instanceof FleetFrozen ? reason : undefined;
  }

  /** After this signal is aborted, nothing more is written. */
  get #noWrites(): AbortSignal {
    const { shutdown, frozen } = this.#options;
    return frozen === undefined ? shutdown.stop : AbortSignal.any([shutdown.stop, frozen]);
  }

  #hold({ opened }: LoadedVersion, document: PlanDocument): Hold | undefined {
    const { policy, shutdown, context, clock, hasUnreadChanges, address = opened.workspace.name } = this.#options;
    const forgotten = document.resources.filter(({ action }) => action === 'forget');
    const leaving = this.#removals.unsettledAmong(
      forgotten.map((resource) => resource.address),
      clock.now(),
    );
    return holdOf(document, {
      policy,
      address,
      leaving,
      window: () => windowState(opened.project.windows, context.now()),
      isStopping: shutdown.stop.aborted,
      frozen: this.#freeze,
      hasUnreadChanges,
    });
  }
}

interface ApplyInput {
  readonly loaded: LoadedVersion;
  readonly state: State;
  readonly planned: PlannedRun;
  readonly askedBy: readonly string[];
  plan(from: State): Promise<PlannedRun>;
}

function withHold(hold: Hold | undefined): Partial<RunOutcome> {
  const isRefused = hold?.reason === 'guard' || hold?.reason === 'policy';
  return { result: isRefused ? 'refused' : 'ok', hold };
}

/** True if resources that need no write to the platform change the state. */
function changesState({ plan }: PlanResult, state: State): boolean {
  return plan.document.resources.some((resource) => {
    if (writes.has(resource.action)) return false;
    if (entryWithoutWrite(resource, { plan, state, at: '' }) !== undefined) return true;
    const { previous_address: before } = resource;
    return before !== undefined && (state.resources.has(before) || state.pending.has(before));
  });
}

function missingIn({ resources }: PlanDocument): MissingResource[] {
  return resources
    .filter(({ missing }) => missing === true)
    .map(({ address, id, missing_since }) => ({ address, id, since: missing_since }));
}

/** Remembers when records were first missing, for modes that do not write the state. */
class MissingSince {
  #since: ReadonlyMap<string, string>;

  /** @param missing the missing records of an earlier run. */
  constructor(missing: readonly MissingResource[] = []) {
    this.#since = new Map(
      missing.flatMap(({ address, id, since }) => (since === undefined ? [] : [[keyOf(address, id), since]])),
    );
  }

  /** Remembers the missing records of a run. */
  note(missing: readonly MissingResource[], at: Date): void {
    this.#since = new Map(
      missing.map(({ address, id, since }) => {
        const key = keyOf(address, id);
        return [key, since ?? this.#since.get(key) ?? at.toISOString()];
      }),
    );
  }

  /** Returns the state with the remembered times. */
  applyTo(state: State): State {
    if (this.#since.size === 0) return state;
    // Fields are copied one by one: a state may be a class instance with getters.
    const { lineage, serial, salt, workspaceId, pending, orphans } = state;
    const resources = new Map(
      [...state.resources].map(([address, entry]) => {
        const since = this.#since.get(keyOf(address, entry.id));
        return [address, since === undefined ? entry : { missing_since: since, ...entry }];
      }),
    );
    return { lineage, serial, salt, workspaceId, pending, orphans, resources };
  }
}

function keyOf(address: string, id: string | null): string {
  return JSON.stringify([address, id]);
}

/** Remembers when resources disappeared from the manifests. A resource that disappears for a moment may be in a half-written file. */
class RemovalDebounce {
  readonly #settledAfter: number;
  readonly #since = new Map<string, number>();

  /** @param settledAfter milliseconds after which a disappeared resource counts as removed. */
  constructor(settledAfter: number) {
    this.#settledAfter = settledAfter;
  }

  /** Returns the addresses that have not been missing for long enough. Reappearing resets the timer. */
  unsettledAmong(missing: readonly string[], now: number): readonly string[] {
    for (const address of this.#since.keys()) if (!missing.includes(address)) this.#since.delete(address);
    return missing.filter((address) => {
      const since = this.#since.get(address) ?? now;
      this.#since.set(address, since);
      return now - since < this.#settledAfter;
    });
  }
}
