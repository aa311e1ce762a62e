import { onTestFinished } from 'vitest';
import type { BehaviourPatch } from '../../src/emulator/behaviour.ts';
import { type Emulator, startEmulator } from '../../src/emulator/start.ts';
import { type ApplyInput, apply } from '../../src/engine/apply/apply.ts';
import type { ApplyReport } from '../../src/engine/apply/report.ts';
import { takeIn } from '../../src/engine/apply/take-in.ts';
import { type Planned, planFor } from '../../src/engine/engine.ts';
import { driftOf } from '../../src/engine/plan/drift.ts';
import type { Action, PlanDocument, PlannedResource } from '../../src/engine/plan/plan-document.ts';
import type { PlanRequest } from '../../src/engine/plan-request.ts';
import { type Resuming, resume } from '../../src/engine/resume.ts';
import { kinds, lookups } from '../../src/kinds/index.ts';
import type { Resource } from '../../src/manifests/resource.ts';
import type { PlatformClient } from '../../src/platform/client.ts';
import { createClient } from '../../src/platform/http-client.ts';
import { createTransport, type TransportOptions } from '../../src/platform/transport.ts';
import { openSession, readState, type StateSession } from '../../src/state/session.ts';
import type { State } from '../../src/state/state.ts';
import type { StateStore } from '../../src/state/store.ts';
import { Secret } from '../../src/values/value.ts';
import { sessionOptions, statePath, storeAt } from '../state/temporary-state.ts';

export const VERSION = '1.2.3';

export type PlanOptions = Partial<
  Pick<
    PlanRequest,
    | 'selection'
    | 'refresh'
    | 'routes'
    | 'publications'
    | 'allowRecreate'
    | 'evenIfAll'
    | 'allowReplace'
    | 'retryIgnored'
    | 'guards'
    | 'concurrency'
    | 'workspace'
    | 'client'
  >
>;
export type ApplyOptions = PlanOptions &
  Partial<Pick<ApplyInput, 'onError' | 'stop' | 'concurrency' | 'onEvent' | 'verifyWorkspace'>>;

/** A platform and a project's state of it, both gone with the test. The clock stands until it is moved. */
export class Workspace {
  readonly emulator: Emulator;
  readonly store: StateStore;
  readonly client: PlatformClient;
  /** By name: what `$secret` gives. */
  secrets: Record<string, string> = { KEY: 'sk-first-secret', OTHER: 'sk-other-secret' };
  time = Date.parse('2030-01-01T00:00:00Z');
  readonly fresh = { lineage: 'L1', salt: 'S1' };

  constructor(emulator: Emulator, store: StateStore) {
    this.emulator = emulator;
    this.store = store;
    this.client = this.connect();
  }

  static async open(behaviour: BehaviourPatch = {}, { path }: { path?: string } = {}): Promise<Workspace> {
    const emulator = await startEmulator({ seed: 1, behaviour, apiKey: 'the-api-key' });
    const workspace = new Workspace(emulator, storeAt(path ?? (await statePath())));
    onTestFinished(() => workspace.close());
    return workspace;
  }

  async close(): Promise<void> {
    await this.client.close();
    await this.emulator.close();
  }

  /** Another client of the same platform. Pauses between tries take no time. */
  connect(
    apiKey = 'the-api-key',
    workspaceId = this.emulator.workspaceId,
    more: Partial<Pick<TransportOptions, 'requestsPerSecond' | 'wait'>> = {},
  ): PlatformClient {
    const transport = createTransport({
      baseUrl: this.emulator.url,
      apiKey: new Secret('API_KEY', apiKey),
      concurrency: 8,
      requestsPerSecond: null,
      timeoutSeconds: 10,
      wait: () => Promise.resolve(),
      ...more,
    });
    return createClient({ transport, workspaceId });
  }

  readonly now = (): Date => new Date(this.time);
  readonly secret = (name: string): Secret => new Secret(name, this.secrets[name]);

  get #input(): Omit<
    PlanRequest,
    'desired' | 'state' | 'selection' | 'refresh' | 'allowRecreate' | 'evenIfAll' | 'allowReplace' | 'guards'
  > {
    const { emulator, client, now } = this;
    return {
      client,
      kinds,
      lookups,
      workspace: { name: 'test', id: emulator.workspaceId, baseUrl: emulator.url },
      concurrency: 4,
      version: VERSION,
      now,
    };
  }

  state(): Promise<State> {
    return readState(this.store, { workspaceId: this.emulator.workspaceId, fresh: this.fresh });
  }

  async reconcile(desired: readonly Resource[], options: PlanOptions = {}, state?: State): Promise<Planned> {
    return planFor({
      ...this.#input,
      desired,
      state: state ?? (await this.state()),
      selection: { targets: [], labels: {} },
      refresh: true,
      allowRecreate: [],
      evenIfAll: false,
      allowReplace: [],
      guards: { maxChangedPercent: 50, minResources: 10 },
      ...options,
    });
  }

  async plan(desired: readonly Resource[], options: PlanOptions = {}): Promise<PlanDocument> {
    return (await this.reconcile(desired, options)).plan.document;
  }

  async drift(desired: readonly Resource[]): Promise<PlanDocument> {
    return driftOf((await this.reconcile(desired, { evenIfAll: true })).plan);
  }

  /** Plans and applies, as the command line does: under the lock, whether or not there is something to write. */
  async apply(desired: readonly Resource[], options: ApplyOptions = {}): Promise<ApplyReport> {
    return this.#inSession(async (session) => {
      const planned = await this.reconcile(desired, options, session.state);
      return this.carryOut(planned, session, options);
    });
  }

  async applySaved(
    saved: PlanDocument,
    options: ApplyOptions & Partial<Resuming> = {},
  ): Promise<ApplyReport> {
    return this.#inSession(async (session) => {
      const planned = await resume({
        ...this.#input,
        ...options,
        state: session.state,
        saved,
        secret: this.secret,
      });
      return this.carryOut(planned, session, options);
    }, saved.state);
  }

  carryOut(planned: Planned, session: StateSession, options: ApplyOptions = {}): Promise<ApplyReport> {
    return apply({
      verifyWorkspace: options.verifyWorkspace ?? (() => Promise.resolve()),
      plan: planned.plan,
      observedAt: planned.observedAt,
      observing: planned.observing,
      fingerprints: planned.fingerprints,
      kinds,
      client: options.client ?? this.client,
      session,
      concurrency: options.concurrency ?? 4,
      onError: options.onError ?? 'continue',
      stop: options.stop ?? new AbortController().signal,
      secret: this.secret,
      now: this.now,
      ...(options.onEvent !== undefined && { onEvent: options.onEvent }),
    });
  }

  async import(address: string, id: string): Promise<'taken' | 'already'> {
    return this.#inSession(async (session) =>
      takeIn({
        address,
        id,
        kind: kindOf(address),
        client: this.client,
        workspaceId: this.emulator.workspaceId,
        session,
        now: this.now,
      }),
    );
  }

  async session(): Promise<StateSession> {
    return openSession(
      this.store,
      sessionOptions({ workspaceId: this.emulator.workspaceId, fresh: this.fresh, now: this.now }),
    );
  }

  async #inSession<T>(use: (session: StateSession) => Promise<T>, fresh = this.fresh): Promise<T> {
    const session = await openSession(
      this.store,
      sessionOptions({ workspaceId: this.emulator.workspaceId, fresh, now: this.now }),
    );
    try {
      return await use(session);
    } finally {
      await session.close();
    }
  }

  /** The POSTs and PUTs so far, as `METHOD path`, with ids as they are. */
  get writes(): string[] {
    return this.emulator.requests
      .filter(({ method }) => method !== 'GET')
      .map(({ method, path }) => `${method} ${path}`);
  }
}

function kindOf(address: string) {
  const kind = kinds.get(address.slice(0, address.indexOf('/')));
  if (kind === undefined) throw new Error(`no kind for ${address}`);
  return kind;
}

/** The one resource of a plan at an address. */
export function at(plan: PlanDocument, address: string): PlannedResource {
  const found = plan.resources.find((each) => each.address === address);
  if (found === undefined) throw new Error(`the plan has no ${address}: ${actionsIn(plan)}`);
  return found;
}

/** `action address` of everything that is not a noop. */
export function actionsIn(plan: PlanDocument): string[] {
  return plan.resources
    .filter(({ action }) => action !== 'noop')
    .map(({ action, address }) => `${action} ${address}`);
}

/** What became of each planned write: `done`, `failed: …` or `skipped: …`. */
export function outcomes(report: ApplyReport): Record<string, string> {
  return Object.fromEntries(
    [...report.results].map(([address, result]) => [
      address,
      result.status === 'done'
        ? 'done'
        : result.status === 'failed'
          ? `failed: ${result.error}`
          : `skipped: ${result.because}`,
    ]),
  );
}

export function isWrite(action: Action): boolean {
  return ['create', 'update', 'replace', 'adopt', 'forget'].includes(action);
}
