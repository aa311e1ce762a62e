import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import type { BehaviourPatch } from '../../src/emulator/behaviour.ts';
import type { ReceivedRequest } from '../../src/emulator/faults.ts';
import type { RequestHook } from '../../src/emulator/request-pipeline.ts';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import type { ApplyReport } from '../../src/engine/apply/apply-report.ts';
import { type ApplyInput, apply } from '../../src/engine/apply/apply-resources.ts';
import { importById } from '../../src/engine/apply/import-record.ts';
import { driftOf } from '../../src/engine/decide/drift-view.ts';
import { type PlanResult, planFor } from '../../src/engine/engine.ts';
import type { PlanRequest } from '../../src/engine/observe/observe.ts';
import { ReadAhead } from '../../src/engine/observe/read-ahead.ts';
import { withDigest } from '../../src/engine/plan/plan-digest.ts';
import type { PlanDocument, PlannedResource } from '../../src/engine/plan/plan-document.ts';
import { parseSavedPlan } from '../../src/engine/plan/saved-plan.ts';
import { revalidatePlan } from '../../src/engine/revalidate-plan.ts';
import type { Files } from '../../src/files/files.ts';
import { kinds } from '../../src/kinds/index.ts';
import type { Resource } from '../../src/manifests/resource.ts';
import type { PlatformClient } from '../../src/platform/client.ts';
import { createClient } from '../../src/platform/http-client.ts';
import { Transport, type TransportOptions } from '../../src/platform/transport.ts';
import type { LocalStoreOptions } from '../../src/state/backends/local/local-store.ts';
import type { JournalEvent } from '../../src/state/journal-lines.ts';
import { openSession, readState, type StateSession } from '../../src/state/session.ts';
import type { State } from '../../src/state/state.ts';
import type { StateStore } from '../../src/state/store.ts';
import type { JsonObject } from '../../src/values/json.ts';
import { fromForms, references, Secret } from '../../src/values/value.ts';
import { sessionOptions, storeAt } from '../state/temporary-state.ts';
import { resource } from './resources.ts';

export const VERSION = '1.2.3';

/** A resource whose spec has the syntax of a manifest: `$secret` and `$ref` are resolved when a run starts. */
export interface Manifest {
  readonly address: string;
  readonly spec: JsonObject;
  readonly metadata: Partial<Resource>;
}

export function manifest(address: string, spec: JsonObject, metadata: Partial<Resource> = {}): Manifest {
  return { address, spec, metadata };
}

type Declared = Resource | Manifest;

interface BenchOptions {
  readonly onRequest?: RequestHook;
  readonly files?: Files;
  readonly parse?: LocalStoreOptions['parse'];
  /** Another store than files on this machine. */
  readonly storeIn?: (folder: string, now: () => Date) => StateStore;
}

export type PlanOptions = Partial<Omit<PlanRequest, 'desired' | 'state' | 'ahead'>>;

export interface ApplyOptions extends PlanOptions, Partial<Pick<ApplyInput, 'onError' | 'stop' | 'onEvent'>> {
  /** Called between planning and applying. */
  readonly between?: (plan: PlanDocument) => void | Promise<void>;
  readonly verifyWorkspace?: (client: PlatformClient) => Promise<void>;
}

const fresh = { lineage: 'L1', salt: 'S1' };
const API_KEY = 'the-api-key';

/** A platform, and the state of a project for it. Tests use it like the command line, without a process. */
export class Bench implements AsyncDisposable {
  readonly emulator: Emulator;
  readonly store: StateStore;
  readonly statePath: string;
  /** For changes by other users of the platform. Each run opens its own client. */
  readonly client: PlatformClient;
  /** The values of `$secret` by name. */
  secrets: Record<string, string> = { KEY: 'sk-first-secret', OTHER: 'sk-other-secret' };
  /** Constant unless a test advances it. */
  time = Date.parse('2030-01-01T00:00:00Z');
  readonly #folder: string;

  private constructor(emulator: Emulator, folder: string, { storeIn, ...files }: Omit<BenchOptions, 'onRequest'>) {
    this.emulator = emulator;
    this.#folder = folder;
    this.statePath = join(folder, 'state.json');
    this.store = storeIn?.(folder, this.now) ?? storeAt(this.statePath, { now: this.now, ...files });
    this.client = this.connect();
  }

  /** Starts a bench that is disposed of at the end of the test. */
  static async open(behaviour: BehaviourPatch = {}, options: BenchOptions = {}): Promise<Bench> {
    const bench = await Bench.start(behaviour, options);
    onTestFinished(() => bench[Symbol.asyncDispose]());
    return bench;
  }

  /** Returns a bench after an apply, with an empty list of requests. */
  static async applied(desired: readonly Declared[], behaviour: BehaviourPatch = {}): Promise<Bench> {
    const bench = await Bench.open(behaviour);
    await bench.apply(desired);
    bench.requests();
    return bench;
  }

  /** Starts a bench for `await using`, in tests that need many. */
  static async start(behaviour: BehaviourPatch = {}, { onRequest, ...options }: BenchOptions = {}): Promise<Bench> {
    const folder = await mkdtemp(join(tmpdir(), 'voxform-bench-'));
    const emulator = await startEmulator({
      seed: 1,
      behaviour,
      apiKey: API_KEY,
      ...(onRequest !== undefined && { onRequest }),
    });
    return new Bench(emulator, folder, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    await this.emulator.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Opens another client of the platform. Its backoff takes no time. */
  connect({ apiKey = API_KEY, ...more }: { apiKey?: string } & Partial<Omit<TransportOptions, 'apiKey'>> = {}) {
    const transport = new Transport({
      baseUrl: this.emulator.url,
      apiKey: new Secret('API_KEY', apiKey),
      concurrency: 8,
      requestsPerSecond: null,
      timeoutSeconds: 10,
      wait: () => Promise.resolve(),
      ...more,
    });
    return createClient({ transport, workspaceId: this.emulator.workspaceId });
  }

  state(): Promise<State> {
    return readState(this.store, { workspaceId: this.emulator.workspaceId, fresh });
  }

  /** Returns the id in the state for an address; an empty string if there is none. */
  async idOf(address: string): Promise<string> {
    return (await this.state()).resources.get(address)?.id ?? '';
  }

  async plan(desired: readonly Declared[], options: PlanOptions = {}): Promise<PlanDocument> {
    return (await this.#planned(desired, options)).plan.document;
  }

  /** Plans with records that are read ahead of the manifests, with the given numbers of event loop turns in between. */
  async planAhead(manifests: readonly Manifest[], turns: Iterator<number>): Promise<PlanDocument> {
    return this.#connected({}, async (client) => {
      const input = this.#request(manifests, { client, state: await this.state() });
      const ahead = new ReadAhead({ ...input, workspaceId: this.emulator.workspaceId, concurrency: 2 });
      for (const { address, spec } of input.desired) {
        ahead.declared(address);
        for (const { kind } of references(spec)) ahead.refersTo(kind);
        for (let left = turns.next().value ?? 0; left > 0; left--) await setImmediate();
      }
      ahead.manifestsRead();
      return (await planFor({ ...input, ahead })).plan.document;
    });
  }

  async drift(desired: readonly Declared[]): Promise<PlanDocument> {
    return driftOf((await this.#planned(desired, { evenIfAll: true })).plan);
  }

  /** Plans and applies with the lock, also without changes. */
  apply(desired: readonly Declared[], options: ApplyOptions = {}): Promise<ApplyReport> {
    return this.#connected(options, (client) =>
      this.#inSession(async (session) => {
        const { state } = session;
        const planned = await planFor(this.#request(desired, { ...planOptions(options), client, state }));
        return this.#carryOut(planned, { session, client, options });
      }),
    );
  }

  /** Applies a plan after a round trip through a file. */
  applySaved(plan: PlanDocument, options: ApplyOptions = {}): Promise<ApplyReport> {
    return this.#connected(options, (client) =>
      this.#inSession(async (session) => {
        const saved = reread(plan);
        const { desired: _, ...request } = this.#request([], { ...planOptions(options), client, state: session.state });
        const planned = await revalidatePlan({ ...request, saved, secret: this.#secret });
        return this.#carryOut(planned, { session, client, options });
      }),
    );
  }

  /** Applies, and returns the writes of this apply. */
  async writesOf(desired: readonly Declared[], options?: ApplyOptions): Promise<readonly string[]> {
    this.requests();
    await this.apply(desired, options);
    return this.writes;
  }

  import(address: string, id: string): Promise<'imported' | 'already'> {
    const kind = kinds.get(address.slice(0, address.indexOf('/')));
    if (kind === undefined) throw new Error(`no kind for ${address}`);
    const { client, now } = this;
    const { workspaceId } = this.emulator;
    return this.#inSession((session) => importById({ address, id, kind, client, workspaceId, session, now }));
  }

  record(event: JournalEvent): Promise<void> {
    return this.#inSession((session) => session.record(event));
  }

  /** Returns the requests that the platform received since the previous call. */
  requests(): readonly ReceivedRequest[] {
    const requests = this.emulator.requests;
    this.emulator.clearRequests();
    return requests;
  }

  /** Returns the POSTs and PUTs since the last call of `requests`, as `METHOD path` with ids. */
  get writes(): string[] {
    return this.emulator.requests
      .filter(({ method }) => method !== 'GET')
      .map(({ method, path }) => `${method} ${path}`);
  }

  readonly now = (): Date => new Date(this.time);
  readonly #secret = (name: string): Secret => new Secret(name, this.secrets[name]);

  async #planned(desired: readonly Declared[], options: PlanOptions): Promise<PlanResult> {
    return this.#connected(options, async (client) =>
      planFor(this.#request(desired, { ...options, client, state: await this.state() })),
    );
  }

  #request(
    desired: readonly Declared[],
    options: PlanOptions & { readonly client: PlatformClient; readonly state: State },
  ): PlanRequest {
    const { workspaceId: id, url: baseUrl } = this.emulator;
    return {
      desired: desired.map((each) => this.#resource(each)),
      selection: { targets: [], labels: {} },
      workspace: { name: 'test', id, baseUrl },
      guards: { maxChangedPercent: 50, minResources: 10 },
      concurrency: 8,
      refresh: true,
      allowRecreate: [],
      evenIfAll: false,
      allowReplace: [],
      version: VERSION,
      now: this.now,
      ...options,
    };
  }

  #resource(each: Declared): Resource {
    if ('kind' in each) return each;
    return resource(each.address, fromForms(each.spec, this.#secret) as Resource['spec'], each.metadata);
  }

  async #carryOut(
    planned: PlanResult,
    { session, client, options }: { session: StateSession; client: PlatformClient; options: ApplyOptions },
  ): Promise<ApplyReport> {
    await options.between?.(planned.plan.document);
    return apply({
      ...planned,
      verifyWorkspace: async () => options.verifyWorkspace?.(client),
      session,
      onError: options.onError ?? 'continue',
      stop: options.stop ?? new AbortController().signal,
      secret: this.#secret,
      now: this.now,
      ...(options.onEvent !== undefined && { onEvent: options.onEvent }),
    });
  }

  async #connected<T>(
    { client, concurrency = 8 }: { readonly client?: PlatformClient; readonly concurrency?: number },
    run: (client: PlatformClient) => Promise<T>,
  ): Promise<T> {
    if (client !== undefined) return run(client);
    const own = this.connect({ concurrency });
    try {
      return await run(own);
    } finally {
      await own.close();
    }
  }

  async #inSession<T>(run: (session: StateSession) => Promise<T>): Promise<T> {
    const { workspaceId } = this.emulator;
    const session = await openSession(this.store, sessionOptions({ workspaceId, fresh, now: this.now }));
    try {
      return await run(session);
    } finally {
      await session.close();
    }
  }
}

function planOptions({ onError, stop, onEvent, between, verifyWorkspace, ...options }: ApplyOptions): PlanOptions {
  return options;
}

/** Returns a saved plan as it is read from its file. */
export function reread(plan: PlanDocument): PlanDocument {
  return parseSavedPlan(JSON.stringify(withDigest(plan)), { file: 'p.json', version: VERSION });
}

/** Returns the only resource of a plan at an address. */
export function at(plan: PlanDocument, address: string): PlannedResource {
  const found = plan.resources.find((each) => each.address === address);
  if (found === undefined) throw new Error(`the plan has no ${address}: ${actionsIn(plan)}`);
  return found;
}

/** Returns `action address` of everything except no-ops. */
export function actionsIn(plan: PlanDocument): string[] {
  return plan.resources.filter(({ action }) => action !== 'noop').map(({ action, address }) => `${action} ${address}`);
}

/** Returns the action of each address, including no-ops. */
export function actionsOf({ resources }: PlanDocument): Record<string, string> {
  return Object.fromEntries(resources.map(({ address, action }) => [address, action]));
}

/** Returns the result of each planned write: `done`, `failed: …` or `skipped: …`. */
export function outcomes(report: ApplyReport): Record<string, string> {
  const entries = [...report.results].map(([address, result]): [string, string] => {
    if (result.status === 'done') return [address, 'done'];
    return [address, result.status === 'failed' ? `failed: ${result.error}` : `skipped: ${result.because}`];
  });
  return Object.fromEntries(entries);
}

/** Returns the warnings except those of fields that an update may erase. */
export function besidesResends({ warnings }: Pick<PlanDocument, 'warnings'>): PlanDocument['warnings'] {
  return warnings.filter(({ message }) => !message.startsWith('This resends all of '));
}
