import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { proxyFor, secretsOf } from '../platform/proxy.ts';
import type { Network } from '../platform/web-client.ts';
import { UserError } from '../problems/user-error.ts';
import type { Reach } from '../problems/workspace-command.ts';
import type { ProjectConfig, WorkspaceConfig } from '../project/project.ts';
import type { StoreUser } from '../state/backends/backend.ts';
import { newSalt } from '../state/fingerprint.ts';
import type { LockHolder } from '../state/lock-info.ts';
import { rescuesOf } from '../state/rescue.ts';
import { inSession, readState, type SessionOptions, type StateSession } from '../state/session.ts';
import type { FreshState, State } from '../state/state.ts';
import { backendOf, createStore, placeOf, type StatePlace, searchAt } from '../state/state-place.ts';
import type { LockRequest, StateElsewhere, StateStore } from '../state/store.ts';
import { Secret } from '../values/value.ts';
import { VERSION } from '../version.ts';
import { ciJob, commitOf, gitIn, marksOf, type RepositoryGit, userName } from './local-user.ts';
import { refuseSecondState } from './refuse-second-state.ts';
import { takeInWaiting } from './rescues.ts';
import type { RunContext } from './run-context.ts';
import type { LockOptions } from './run-options.ts';

interface StateChange {
  /** The command, e.g. `apply`. */
  readonly operation: string;
  readonly options: LockOptions;
  /** What a first state begins with; something new where absent. */
  readonly fresh?: FreshState | undefined;
  /** The state was lost, and what is left of it was set aside: an empty one may begin. */
  readonly isLost?: boolean | undefined;
}

/** Shorter secrets are still shown nowhere; but to strike them out of every text would strike out innocent words. */
export const SHORTEST_REDACTED = 8;

/** The state of one workspace, to be read and to be changed. */
export class StateAccess {
  readonly project: ProjectConfig;
  readonly workspace: WorkspaceConfig;
  readonly store: StateStore;
  /** Who held the lock when the state was read last. */
  holder: LockHolder | undefined;
  readonly #context: RunContext;
  #older: string | undefined;
  #waiting: string | undefined;
  #isWarned = false;
  #commit: Promise<string | undefined> | undefined;

  constructor(context: RunContext, project: ProjectConfig, workspace: WorkspaceConfig) {
    this.#context = context;
    this.project = project;
    this.workspace = workspace;
    this.store = this.storeAt(workspace.state);
  }

  /** How a command that a person is told to run means this workspace. */
  get reach(): Reach {
    const isOneOfMany = Object.keys(this.project.workspaces).length > 1;
    return this.#context.reach ?? (isOneOfMany ? { workspace: this.workspace.name } : undefined);
  }

  /** True where the state is in files of this machine. */
  get isStateLocal(): boolean {
    return backendOf(this.workspace.state).fileOf(this.workspace.state) !== undefined;
  }

  /** The folder for what belongs to the state. */
  get #root(): string {
    return this.project.localRoot ?? this.project.root;
  }

  /** A store of this workspace, its own or another one. */
  storeAt(state: WorkspaceConfig['state']): StateStore {
    return createStore(state, this.#storeUser(state));
  }

  #storeUser(state: WorkspaceConfig['state']): StoreUser {
    const { env, now, failPoint, redactor, cacheFolder, log, interrupts, parseState: parse } = this.#context;
    for (const each of Object.values(state)) {
      if (each instanceof Secret && each.isSet && each.reveal().length >= SHORTEST_REDACTED)
        redactor.add(each.reveal());
    }
    return {
      root: this.#root,
      host: hostname(),
      user: userName(env),
      pid: process.pid,
      job: ciJob(env),
      version: VERSION,
      now,
      failPoint,
      stop: interrupts.stop,
      env,
      cacheFolder,
      parse,
      network: (address) => this.network(address),
      debug: (message) => log.debug(message),
      warn: (message) => log.warn(message),
      marks: marksOf(this.#context, this.workspace.baseUrl),
      redact: redactor.redact,
    };
  }

  /** How an address is reached. Throws `UserError` where the environment names a proxy that is none. */
  network(address: string): Network {
    const { env, redactor } = this.#context;
    const proxy = URL.canParse(address) ? proxyFor(new URL(address), env) : undefined;
    for (const secret of secretsOf(proxy)) if (secret.length >= SHORTEST_REDACTED) redactor.add(secret);
    return { proxy, ca: this.workspace.ca };
  }

  /**
   * The state as it is now, for commands that take no lock. What is to be known about it is warned of.
   * @param fresh what it begins with where there is none; something new where absent.
   */
  async state(fresh?: FreshState): Promise<State> {
    const state = await this.stateAhead(fresh);
    this.warnOfState();
    return state;
  }

  /** The same without a word: `warnOfState` says it when its turn comes. @param until gives it up once nobody needs it any more. */
  async stateAhead(fresh = freshState(), until?: AbortSignal): Promise<State> {
    const { workspaceId } = this.workspace;
    let older: string | undefined;
    this.holder = undefined;
    const state = await readState(this.store, {
      workspaceId,
      fresh,
      until,
      beginning: () => this.refuseSecond(),
      onOlder: ({ message, hint }: UserError) => {
        older = hint === undefined ? message : `${message}. ${hint}`;
      },
      onHolder: (holder) => {
        this.holder = holder;
      },
    });
    this.#isWarned &&= older === this.#older;
    this.#older = older;
    const [rescue] = await rescuesOf(this.#root, state.lineage);
    this.#waiting =
      rescue &&
      `${rescue.shown} holds ids that are not in the state yet: the next run that writes records them`;
    return state;
  }

  /** That the state is an older one, or lacks what an earlier run could not store. */
  warnOfState(): void {
    if (this.#isWarned) return;
    for (const each of [this.#older, this.#waiting]) if (each !== undefined) this.#context.log.warn(each);
    this.#isWarned = true;
  }

  /** That the state which was read is an older one, for the plan that is made from it. */
  get olderState(): string | undefined {
    return this.#older;
  }

  /** Throws where a state of this workspace lies under another name, so that none may be begun. */
  refuseSecond(): Promise<void> {
    const { project, workspace, reach } = this;
    const { location } = this.store;
    const marks = marksOf(this.#context, this.workspace.baseUrl);
    const { cwd } = this.#context;
    return refuseSecondState({
      project,
      workspace,
      location,
      reach,
      marks,
      cwd,
      elsewhere: (workspaceId) => this.#elsewhere(workspaceId),
    });
  }

  /** A state of the workspace beside the configured one, or where it may have been before the settings changed. */
  async #elsewhere(workspaceId: string): Promise<StateElsewhere | undefined> {
    const beside = await this.store.elsewhere?.(workspaceId);
    if (beside !== undefined) return beside;
    for (const place of await this.#otherPlaces()) {
      try {
        const found = await searchAt(place, this.#storeUser(place))?.(workspaceId);
        if (found !== undefined) return found;
      } catch (error) {
        if (!(error instanceof UserError)) throw error;
        const shown = backendOf(place).locationOf(place, this.#root);
        this.#context.log.warn(
          `cannot check whether a state of this workspace is near ${shown}: ${error.message}`,
        );
      }
    }
    return undefined;
  }

  /** Shared stores that are known without settings: the repository of the manifests, and the database of a fleet. */
  async #otherPlaces(): Promise<StatePlace[]> {
    const { local } = this.#context;
    const { name: workspace, state } = this.workspace;
    const source = local?.source;
    const hasOrigin = source !== undefined || (await this.git?.('remote', 'get-url', 'origin'))?.code === 0;
    const places = [
      local?.stateOf?.(workspace),
      hasOrigin ? placeOf({ backend: 'git' }, { workspace, root: this.#root, source }) : undefined,
    ];
    return places.filter((each) => each !== undefined).filter(({ backend }) => backend !== state.backend);
  }

  /** Does work that changes the state, under its lock. What an earlier run could not store is recorded before. */
  async inSession<T>(change: StateChange, work: (session: StateSession) => Promise<T>): Promise<T> {
    const options = this.sessionOptions(change.operation, change.options);
    const { fresh = options.fresh, isLost = false } = change;
    const { log } = this.#context;
    await takeInWaiting(this.#root, this.store, { session: options, log });
    const beginning = isLost ? undefined : options.beginning;
    return inSession(this.store, { ...options, fresh, beginning }, work);
  }

  /** What the right to change the state is asked with. */
  sessionOptions(operation: string, { lockTimeout, allowOlderState = false }: LockOptions): SessionOptions {
    const { log, now } = this.#context;
    return {
      lock: this.lockRequest(operation, lockTimeout),
      ...(allowOlderState && { allowOlder: (warning: string) => log.warn(warning) }),
      workspaceId: this.workspace.workspaceId,
      fresh: freshState(),
      beginning: () => this.refuseSecond(),
      version: VERSION,
      now,
    };
  }

  lockRequest(operation: string, timeoutSeconds: number): LockRequest {
    const { log, interrupts } = this.#context;
    return {
      operation,
      timeoutSeconds,
      signal: interrupts.stop,
      commit: this.commit(),
      notice: (message) => log.info(message),
      warn: (message) => log.warn(message),
    };
  }

  /** Begins to find out which commit the manifests are, so that it is known when a run begins. */
  commit(known = this.#context.commit): Promise<string | undefined> {
    this.#commit ??= known === undefined ? commitOf(this.git) : Promise.resolve(known);
    return this.#commit;
  }

  /** Git in the repository of the manifests; undefined if they are in none, or if voxform fetched them. */
  get git(): RepositoryGit | undefined {
    const { commit, local, env } = this.#context;
    return commit === undefined && local?.source === undefined ? gitIn(this.#root, env) : undefined;
  }
}

/** What a state begins with where there is none yet. */
export function freshState(): FreshState {
  return { lineage: randomUUID(), salt: newSalt() };
}
