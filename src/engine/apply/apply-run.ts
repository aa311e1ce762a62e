import { kindNamed } from '../../kinds/index.ts';
import { type Address, idKey, kindOf } from '../../manifests/resource.ts';
import type { PlatformClient } from '../../platform/client.ts';
import { PlatformError } from '../../platform/platform-error.ts';
import type { Plan } from '../decide/make-plan.ts';
import { isAboutKept } from '../decide/write-response.ts';
import type { ObserveOptions } from '../observe/observe-options.ts';
import { createRecheck, type Recheck } from '../observe/recheck.ts';
import type { PlannedResource, PlanWarning, Remark } from '../plan/plan-document.ts';
import type { ApplyEvent, ResourceResult } from './apply-report.ts';
import { creates, failureOf, haltReason, LostCreates, missingReason } from './failed-write.ts';
import { write } from './write.ts';
import {
  MissingReference,
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
  /** Reads something of the workspace that is meant, once. Throws where that fails, or where another one answers. */
  verifyWorkspace(): Promise<void>;
  /** Given where the plan is one part of several; a count of its own where absent. */
  readonly lostCreates?: LostCreates | undefined;
  /** Once aborted nothing new is started or sent; what was sent is finished. Its reason names the signal. */
  readonly stop: AbortSignal;
  onEvent?(event: ApplyEvent): void;
}

/** A record that was read longer ago than this is read again before it is written over. */
const TRUSTED_MILLISECONDS = 60_000;

/** An apply under way: what its writes share, and what they learn. */
export class ApplyRun {
  /** Why nothing new is begun any more, but for an interruption. */
  halted: string | undefined;
  stateError: string | undefined;
  /** Those of the plan, and of answers so far. */
  warnings: readonly PlanWarning[];
  readonly #input: ApplyInput;
  readonly #planned: ReadonlyMap<Address, PlannedResource>;
  readonly #holders: Map<string, Address>;
  /** Ids that lists showed before anything was created, by kind. */
  readonly #listed: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #recheck: Recheck;
  readonly #client: PlatformClient;
  readonly #lostCreates: LostCreates;
  /** Not asked again during a long apply: creates must not cost reads. */
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

  /** Why nothing new is begun any more. */
  get stopped(): string | undefined {
    return this.halted ?? (this.#input.stop.aborted ? 'the run was interrupted' : undefined);
  }

  /** Writes one resource. Never rejects. */
  async write(address: Address, handedOver: () => void): Promise<ResourceResult> {
    const resource = this.#planned.get(address) as PlannedResource;
    const { action } = resource;
    this.#started.add(address);
    this.#input.onEvent?.({ type: 'started', address, action });
    const result = await this.#attempt(resource, handedOver).catch((error: unknown) =>
      this.#failed(resource, error),
    );
    this.#input.onEvent?.({ type: 'finished', address, action, result });
    return result;
  }

  /** Tells of resources whose turn never came. */
  tellSkipped(results: ReadonlyMap<Address, ResourceResult>): void {
    for (const { address, action } of this.#planned.values()) {
      const result = results.get(address);
      if (result !== undefined && !this.#started.has(address))
        this.#input.onEvent?.({ type: 'finished', address, action, result });
    }
  }

  async #attempt(resource: PlannedResource, handedOver: () => void): Promise<ResourceResult> {
    let notApplied: readonly string[] = [];
    const id = await write({
      ...this.#writeOf(resource),
      handedOver,
      ignored: (paths) => {
        notApplied = [...paths].sort();
        this.#forgetTaken(resource, paths);
      },
    });
    if (creates.has(resource.action)) this.#lostCreates.reset();
    return { status: 'done', id, ...(notApplied.length > 0 && { notApplied }) };
  }

  #writeOf(resource: PlannedResource): Omit<ResourceWrite, 'handedOver' | 'ignored'> {
    const { plan, observing, session, fingerprints, secret, now } = this.#input;
    const { address } = resource;
    const id = resource.recreates ?? resource.id;
    const kind = kindNamed(resource.kind);
    const observation = plan.observed.records.get(address);
    const wasSeen = observation?.status === 'shown' && observation.record.id === id;
    const mustLook = !wasSeen || this.#isStale();
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
      recheck: mustLook && id !== null ? () => recheck.at(kind, id) : undefined,
      isTaken: this.#beganLate ? (key) => recheck.holdsKey(kind, key) : undefined,
      stoodBefore: (each) => this.#listed.get(kind.name)?.has(each) === true,
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
    if (creates.has(resource.action))
      this.#lostCreates.count(error, session.state.pending.has(resource.address));
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

  /** What stands since an earlier apply is in the plan already. */
  #warn(address: Address, remark: Remark): void {
    const isSaid = this.warnings.some((each) => each.address === address && each.message === remark.message);
    if (!isSaid) this.warnings = [...this.warnings, { address, ...remark }];
  }

  /** Drops the warnings about fields that the platform ignored before and has now applied. */
  #forgetTaken({ address, not_applied = [] }: PlannedResource, ignored: ReadonlySet<string>): void {
    const taken = new Set(not_applied.filter((path) => !ignored.has(path)));
    this.warnings = this.warnings.filter((each) => each.address !== address || !isAboutKept(each, taken));
  }
}
