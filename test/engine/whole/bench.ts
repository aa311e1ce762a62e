import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { BehaviourPatch } from '../../../src/emulator/behaviour.ts';
import type { RequestHook } from '../../../src/emulator/front-door.ts';
import type { ReceivedRequest } from '../../../src/emulator/request-log.ts';
import { DEFAULT_WORKSPACE_ID, type Emulator, startEmulator } from '../../../src/emulator/start.ts';
import { apply } from '../../../src/engine/apply/apply.ts';
import type { ApplyEvent, ApplyReport } from '../../../src/engine/apply/report.ts';
import { takeIn } from '../../../src/engine/apply/take-in.ts';
import { type Planned, planFor } from '../../../src/engine/engine.ts';
import { ReadAhead } from '../../../src/engine/observe/read-ahead.ts';
import { driftOf } from '../../../src/engine/plan/drift.ts';
import type { PlanDocument, PlannedResource } from '../../../src/engine/plan/plan-document.ts';
import { parseSavedPlan, sealed } from '../../../src/engine/plan/saved-plan.ts';
import type { PlanRequest } from '../../../src/engine/plan-request.ts';
import { resume } from '../../../src/engine/resume.ts';
import { kinds, lookups } from '../../../src/kinds/index.ts';
import type { Resource } from '../../../src/manifests/resource.ts';
import type { PlatformClient } from '../../../src/platform/client.ts';
import { createClient } from '../../../src/platform/http-client.ts';
import { createTransport } from '../../../src/platform/transport.ts';
import { createLocalStore } from '../../../src/state/backends/local/local-store.ts';
import type { JournalEvent } from '../../../src/state/journal.ts';
import { openSession, readState, type StateSession } from '../../../src/state/session.ts';
import type { State } from '../../../src/state/state.ts';
import type { StateStore } from '../../../src/state/store.ts';
import type { JsonObject } from '../../../src/values/json.ts';
import { fromForms, references, Secret } from '../../../src/values/value.ts';

/** A manifest without its file: the spec in the forms of a manifest, `$secret` and `$ref` included. */
export interface Manifest {
  readonly address: string;
  readonly spec: JsonObject;
  readonly id?: string;
  readonly previousNames?: readonly string[];
  readonly ignoreDrift?: readonly string[];
  readonly mayReplace?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
}

export function manifest(
  address: string,
  spec: JsonObject,
  metadata: Omit<Manifest, 'address' | 'spec'> = {},
): Manifest {
  return { address, spec, ...metadata };
}

export interface BenchOptions {
  readonly manifests?: readonly Manifest[];
  readonly behaviour?: BehaviourPatch;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly apiKey?: string;
  readonly onRequest?: RequestHook;
}

export type PlanOptions = Partial<
  Pick<
    PlanRequest,
    'refresh' | 'allowRecreate' | 'evenIfAll' | 'allowReplace' | 'guards' | 'selection' | 'workspace'
  >
>;

export interface ApplyOptions extends PlanOptions {
  /** A saved plan, applied as it is. */
  readonly saved?: PlanDocument;
  readonly onError?: 'continue' | 'stop';
  readonly stop?: AbortSignal;
  readonly concurrency?: number;
  /** Called between planning and applying. */
  readonly between?: (plan: PlanDocument) => void;
  readonly onEvent?: (event: ApplyEvent) => void;
}

const LINEAGE = { lineage: 'L1', salt: 'S1' };
const NO_GUARDS = { maxChangedPercent: 100, minResources: 1_000 };

/** A platform, a state and manifests, worked with as the command line does, without a process around it. */
export class Bench implements AsyncDisposable {
  readonly emulator: Emulator;
  readonly store: StateStore;
  readonly statePath: string;
  manifests: readonly Manifest[];
  secrets: Readonly<Record<string, string>>;
  apiKey: string;
  /** Stands still unless a test moves it. */
  now = new Date('2030-01-01T00:00:00Z');
  readonly #folder: string;

  constructor(emulator: Emulator, folder: string, options: BenchOptions) {
    this.emulator = emulator;
    this.#folder = folder;
    this.manifests = options.manifests ?? [];
    this.secrets = options.secrets ?? {};
    this.apiKey = options.apiKey ?? 'platform-key-0001';
    this.statePath = join(folder, 'state.json');
    this.store = createLocalStore({
      path: this.statePath,
      now: () => this.now,
      host: 'here',
      user: 'ann',
      pid: process.pid,
      version: '1.0.0',
    });
  }

  state(): Promise<State> {
    return readState(this.store, { workspaceId: DEFAULT_WORKSPACE_ID, fresh: LINEAGE });
  }

  async plan(options: PlanOptions = {}): Promise<PlanDocument> {
    return (await this.#planned(options)).plan.document;
  }

  /** The same with reading begun before, as while manifests are parsed: a turn a number, with as much else in between. */
  async planAhead(turns: Iterator<number>): Promise<PlanDocument> {
    const client = this.#client();
    try {
      const input = this.#reconciling({ client, state: await this.state(), options: {} });
      const ahead = new ReadAhead({ ...input, workspaceId: DEFAULT_WORKSPACE_ID, concurrency: 2 });
      for (const { address, spec } of input.desired) {
        ahead.declared(address);
        for (const { kind } of references(spec)) ahead.refersTo(kind);
        for (let left = turns.next().value ?? 0; left > 0; left--) await setImmediate();
      }
      ahead.manifestsRead();
      return (await planFor({ ...input, ahead })).plan.document;
    } finally {
      await client.close();
    }
  }

  async drift(): Promise<PlanDocument> {
    return driftOf((await this.#planned({})).plan);
  }

  /** Plans and carries the plan out, or carries a saved one out. */
  apply(options: ApplyOptions = {}): Promise<ApplyReport> {
    const { saved, onError = 'continue', stop = new AbortController().signal, onEvent } = options;
    return this.#inSession(async (session, client) => {
      const input = this.#reconciling({ client, state: session.state, options });
      const planned =
        saved === undefined
          ? await planFor(input)
          : await resume({
              ...input,
              // As a file carries it.
              saved: parseSavedPlan(JSON.stringify(sealed(saved)), { file: 'plan', version: '1.0.0' }),
              secret: (name) => this.#secret(name),
            });
      options.between?.(planned.plan.document);
      return apply({
        verifyWorkspace: () => Promise.resolve(),
        plan: planned.plan,
        observedAt: planned.observedAt,
        observing: planned.observing,
        fingerprints: planned.fingerprints,
        kinds,
        client,
        session,
        concurrency: options.concurrency ?? 8,
        onError,
        stop,
        secret: (name) => this.#secret(name),
        now: () => this.now,
        ...(onEvent !== undefined && { onEvent }),
      });
    });
  }

  takeIn(address: string, id: string): Promise<'taken' | 'already'> {
    return this.#inSession(async (session, client) => {
      const kind = kinds.get(address.slice(0, address.indexOf('/')));
      if (kind === undefined) throw new Error(`${address} has no kind`);
      const workspaceId = DEFAULT_WORKSPACE_ID;
      return takeIn({ address, id, kind, client, session, workspaceId, now: () => this.now });
    });
  }

  record(event: JournalEvent): Promise<void> {
    return this.#inSession((session) => session.record(event));
  }

  /** The requests that the platform received since the last call of this. */
  requests(): readonly ReceivedRequest[] {
    const seen = this.emulator.requests;
    this.emulator.clearRequests();
    return seen;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.emulator.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #planned(options: PlanOptions): Promise<Planned> {
    const client = this.#client();
    try {
      return await planFor(this.#reconciling({ client, state: await this.state(), options }));
    } finally {
      await client.close();
    }
  }

  #reconciling({
    client,
    state,
    options,
  }: {
    client: PlatformClient;
    state: State;
    options: PlanOptions;
  }): PlanRequest {
    return {
      desired: this.manifests.map((each) => this.#resource(each)),
      state,
      selection: options.selection ?? { targets: [], labels: {} },
      client,
      kinds,
      lookups,
      workspace: options.workspace ?? {
        name: 'staging',
        id: DEFAULT_WORKSPACE_ID,
        baseUrl: this.emulator.url,
      },
      guards: options.guards ?? NO_GUARDS,
      concurrency: 8,
      refresh: options.refresh ?? true,
      allowRecreate: options.allowRecreate ?? [],
      evenIfAll: options.evenIfAll ?? false,
      allowReplace: options.allowReplace ?? [],
      version: '1.0.0',
      now: () => this.now,
    };
  }

  async #inSession<T>(run: (session: StateSession, client: PlatformClient) => Promise<T>): Promise<T> {
    const session = await openSession(this.store, {
      lock: { operation: 'apply', timeoutSeconds: 0, notice: () => undefined },
      workspaceId: DEFAULT_WORKSPACE_ID,
      fresh: LINEAGE,
      version: '1.0.0',
      now: () => this.now,
    });
    const client = this.#client();
    try {
      return await run(session, client);
    } finally {
      await client.close();
      await session.close();
    }
  }

  #client(): PlatformClient {
    const transport = createTransport({
      baseUrl: this.emulator.url,
      apiKey: new Secret('API_KEY', this.apiKey),
      concurrency: 8,
      requestsPerSecond: null,
      timeoutSeconds: 10,
      wait: async () => undefined,
    });
    return createClient({ transport, workspaceId: DEFAULT_WORKSPACE_ID });
  }

  #resource(each: Manifest): Resource {
    const slash = each.address.indexOf('/');
    return {
      address: each.address,
      kind: each.address.slice(0, slash),
      name: each.address.slice(slash + 1),
      labels: each.labels ?? {},
      id: each.id,
      previousNames: each.previousNames ?? [],
      ignoreDrift: each.ignoreDrift ?? [],
      mayReplace: each.mayReplace ?? false,
      spec: fromForms(each.spec, (name) => this.#secret(name)) as Resource['spec'],
      source: { file: `${each.address}.yaml`, line: 1 },
    };
  }

  #secret(name: string): Secret {
    return new Secret(name, this.secrets[name]);
  }
}

/** To be disposed of, or taken with `await using`. */
export async function testBench(options: BenchOptions = {}): Promise<Bench> {
  const folder = await mkdtemp(join(tmpdir(), 'voxform-bench-'));
  const emulator = await startEmulator({
    seed: 'bench',
    ...(options.behaviour !== undefined && { behaviour: options.behaviour }),
    ...(options.apiKey !== undefined && { apiKey: options.apiKey }),
    ...(options.onRequest !== undefined && { onRequest: options.onRequest }),
  });
  return new Bench(emulator, folder, options);
}

/** `Agent/a: noop`, one a resource: what most tests look at. */
export function actionsOf({ resources }: PlanDocument): Record<string, string> {
  return Object.fromEntries(resources.map(({ address, action }) => [address, action]));
}

export function plannedAt({ resources }: PlanDocument, address: string): PlannedResource {
  const found = resources.find((resource) => resource.address === address);
  if (found === undefined) throw new Error(`the plan has no ${address}`);
  return found;
}

/** `POST /api/v1/agents`, one a request that writes. */
export function writesIn(requests: readonly ReceivedRequest[]): string[] {
  return requests.filter(({ method }) => method !== 'GET').map(({ method, path }) => `${method} ${path}`);
}
