import { kindNamed } from '../../kinds/index.ts';
import { type Address, idKey, kindOf } from '../../manifests/resource.ts';
import type { PlatformClient } from '../../platform/client.ts';
import { PlatformError } from '../../platform/platform-error.ts';
import type { Plan } from '../decide/make-plan.ts';
import { isAboutKept } from '../decide/write-response.ts';
import type { ObserveOptions } from '../observe/read-records.ts';
import { createRecheck, type Recheck } from '../observe/recheck.ts';
import type { PlannedResource, PlanWarning, Remark } from '../plan/plan-document.ts';
import type { ApplyEvent, ResourceResult } from './apply-report.ts';
import { write } from './write.ts';
import {
  creates,
  failureOf,
  haltReason,
  LostCreates,
  MissingReference,
  missingReason,
  type ResourceWrite,
  UnrecordedIntent,
  UnsavedRecord,
  type WriteTools,
} from './writing.ts';

export interface ApplyInput extends WriteTools {
  readonly plan: Plan;
  /** When the plan read the platform. */
  readonly observedAt: Date;
  readonly observing: ObserveOptions;
  readonly onError: 'continue' | 'stop';
  /** Reads the workspace once. Throws if that fails or if another workspace answers. */
  verifyWorkspace(): Promise<void>;
  /** Set if the plan is one part of several; otherwise a run counts its own. */
  readonly lostCreates?: LostCreates | undefined;
  /** Once aborted, nothing more is sent; requests in flight finish. Its reason is the name of the signal. */
  readonly stop: AbortSignal;
  onEvent?(event: ApplyEvent): void;
}

/** A record that was read longer ago than this is read again before it is updated. */
const TRUSTED_MILLISECONDS = 60_000;

/** An apply in progress: the data that its writes share and collect. */
export class ApplyRun {
  /** The reason why nothing more is started; undefined also after an interruption. */
  halted: string | undefined;
  stateError: string | undefined;
  /** Warnings of the plan and of the answers so far. */
  warnings: readonly PlanWarning[];
  readonly #input: ApplyInput;
  readonly #planned: ReadonlyMap<Address, PlannedResource>;
  readonly #holders: Map<string, Address>;
  /** By kind: ids that lists showed before the first create. */
  readonly #listed: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #recheck: Recheck;
  readonly #client: PlatformClient;
  readonly #lostCreates: LostCreates;
  /** Computed once: a long apply must not add a read to each create. */
  readonly #beganLate: boolean;
  readonly #started = new Set<Address>();
  readonly #ended = new AbortController();

  constructor(input: ApplyInput) {
    const { plan, session, observing, now, stop, lostCreates = new LostCreates() } = input;
    this.warnings = plan.document.warnings;
    this.#input = input;
    this.#planned = new Map(plan.document.resources.map((resource) => [resource.address, resource]));
    this.#holders = new Map(
      [...session.state.resources].map(([address, entry]) => [idKey(kindOf(address), entry.id), address]),
    );
    this.#listed = new Map(
      [...plan.observed.lists].map(([kind, records]) => [kind, new Set(records.map(({ id }) => id))]),
    );
    this.#recheck = createRecheck(observing, { maxAgeMilliseconds: TRUSTED_MILLISECONDS, now });
    this.#client = observing.client.writingUntil(AbortSignal.any([stop, this.#ended.signal]), session);
    this.#lostCreates = lostCreates;
    this.#beganLate = this.#isStale();
  }

  /** The reason why nothing more is started. */
  get stopped(): string | undefined {
    return this.halted ?? (this.#input.stop.aborted ? 'the run was interrupted' : undefined);
  }

  /** Writes one resource. Never rejects. */
  async write(address: Address, onRecorded: () => void): Promise<ResourceResult> {
    const resource = this.#planned.get(address) as PlannedResource;
    const { action } = resource;
    this.#started.add(address);
    this.#input.onEvent?.({ type: 'started', address, action });
    const result = await this.#attempt(resource, onRecorded).catch((error: unknown) => this.#failed(resource, error));
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

  async #attempt(resource: PlannedResource, onRecorded: () => void): Promise<ResourceResult> {
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
      isTaken: this.#beganLate ? (key) => recheck.holdsKey(kind, key) : undefined,
      existedBefore: (each) => this.#listed.get(kind.name)?.has(each) === true,
      findByKey: (key) => recheck.withKey(kind, key),
      now,
      warn: (remark) => this.#warn(address, remark),
    };
  }

  #failed(resource: PlannedResource, error: unknown): ResourceResult {
    const { session } = this.#input;
    if (error instanceof MissingReference) {
      return { status: 'skipped', because: missingReason(error.address, this.#planned.get(error.address)) };
    }
    if (error instanceof PlatformError && error.reason === 'held-back') {
      return { status: 'skipped', because: this.stopped ?? error.message };
    }
    if (creates.has(resource.action)) this.#lostCreates.count(error, session.state.pending.has(resource.address));
    if (error instanceof UnrecordedIntent || error instanceof UnsavedRecord) {
      this.stateError ??= error.cause instanceof Error ? error.cause.message : String(error.cause);
    }
    this.#halt(haltReason(error, this.#input) ?? this.#lostCreates.outage);
    if (error instanceof UnrecordedIntent) {
      return { status: 'skipped', because: this.stopped ?? 'the state could not be written' };
    }
    return { status: 'failed', ...failureOf(error, resource) };
  }

  #halt(because: string | undefined): void {
    if (because === undefined) return;
    this.halted ??= because;
    this.#ended.abort();
  }

  #isStale(): boolean {
    const { now, observedAt } = this.#input;
    return now().getTime() - observedAt.getTime() > TRUSTED_MILLISECONDS;
  }

  /** The plan already contains warnings that remain from earlier applies. */
  #warn(address: Address, remark: Remark): void {
    const isReported = this.warnings.some((each) => each.address === address && each.message === remark.message);
    if (!isReported) this.warnings = [...this.warnings, { address, ...remark }];
  }

  /** Removes the warnings about ignored fields that the platform has applied now. */
  #dropAppliedWarnings({ address, not_applied = [] }: PlannedResource, ignored: ReadonlySet<string>): void {
    const taken = new Set(not_applied.filter((path) => !ignored.has(path)));
    this.warnings = this.warnings.filter((each) => each.address !== address || !isAboutKept(each, taken));
  }
}
