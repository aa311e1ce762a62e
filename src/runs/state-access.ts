import { randomUUID } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { proxyFor, secretsOf } from '../platform/proxy.ts';
import type { Network } from '../platform/web-client.ts';
import { advice, command, UserError } from '../problems/user-error.ts';
import type { WorkspaceSelection } from '../problems/workspace-command.ts';
import type { ProjectConfig, WorkspaceConfig } from '../project/project.ts';
import type { StoreUser } from '../state/backends/backend.ts';
import { newSalt } from '../state/fingerprint.ts';
import type { LockHolder } from '../state/lock-info.ts';
import { findRescues, readRescue, recordOutcomes } from '../state/rescue.ts';
import { Seal } from '../state/seal.ts';
import { inSession, readState, type SessionOptions, type StateSession } from '../state/session.ts';
import type { FreshState, State } from '../state/state.ts';
import { backendOf, createStore, locateState, type StateLocation, searchAt } from '../state/state-location.ts';
import type { FoundState, LockRequest, StateStore } from '../state/store.ts';
import { Redactor } from '../values/redactor.ts';
import { Secret } from '../values/value.ts';
import { VERSION } from '../version.ts';
import { refuseSecondState } from './first-state.ts';
import { ciJob, commitOf, gitIn, marksOf, type RepositoryGit, userName } from './local-user.ts';
import type { LockOptions, RunContext } from './run-context.ts';

interface StateChange {
  /** The command, e.g. `apply`. */
  readonly operation: string;
  readonly options: LockOptions;
  /** The initial contents of a new state; generated if absent. */
  readonly fresh?: FreshState | undefined;
  /** True if the state was lost and its remaining files were quarantined, so that an empty state may be started. */
  readonly isLost?: boolean | undefined;
  /** Default: the store of the workspace. */
  readonly store?: StateStore | undefined;
}

/** Shorter secrets are redacted only from platform data, because in other text, ordinary words would be redacted too. */
const MIN_REDACTED_LENGTH = 8;

/** Reads and changes the state of one workspace. */
export class StateAccess {
  readonly project: ProjectConfig;
  readonly workspace: WorkspaceConfig;
  readonly store: StateStore;
  /** Encrypts and decrypts the stored data of this workspace. */
  readonly seal: Seal;
  /** The holder of the lock when the state was last read. */
  holder: LockHolder | undefined;
  readonly context: RunContext;
  /** Redacts all secrets, including short ones, from platform data. */
  protected readonly platformRedactor = new Redactor();
  #olderWarning: string | undefined;
  #rescueWarning: string | undefined;
  #isWarned = false;
  #commit: Promise<string | undefined> | undefined;

  constructor(context: RunContext, project: ProjectConfig, workspace: WorkspaceConfig) {
    this.context = context;
    this.project = project;
    this.workspace = workspace;
    this.seal = new Seal(workspace.state.seal);
    this.store = this.storeAt(workspace.state);
  }

  /** The selection of this workspace in suggested commands. */
  get selection(): WorkspaceSelection {
    const isOneOfMany = Object.keys(this.project.workspaces).length > 1;
    return this.context.selection ?? (isOneOfMany ? { workspace: this.workspace.name } : undefined);
  }

  get isStateLocal(): boolean {
    return backendOf(this.workspace.state).fileOf !== undefined;
  }

  /** The folder that state paths are relative to. */
  get #root(): string {
    return this.project.localRoot ?? this.project.root;
  }

  /**
   * Returns a store for this or another state of the workspace.
   * @param convertTo the form in which the state is written. The store then reads both forms.
   */
  storeAt(state: WorkspaceConfig['state'], convertTo?: 'sealed' | 'plain'): StateStore {
    return createStore(state, this.#storeUser(state, new Seal(state.seal, convertTo)));
  }

  /** Reads the settings of this machine that the store uses. */
  async prepareStore(): Promise<void> {
    const { state } = this.workspace;
    await backendOf(state).prepare?.(state, this.#storeUser(state));
  }

  #storeUser(state: WorkspaceConfig['state'], seal?: Seal): StoreUser {
    const { env, now, failPoint, redactor, cacheFolder, log, interrupts, memory, startup, outage } = this.context;
    for (const each of [...Object.values(state), state.seal?.identity])
      if (each instanceof Secret) this.keepSecret(each);
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
      outage,
      env,
      cacheFolder,
      parse: memory?.parseState,
      once: startup && ((name, read) => startup.once(name, read)),
      network: (address) => this.network(address),
      debug: (message) => log.debug(message),
      warn: (message) => log.warn(message),
      marks: marksOf(this.context, this.workspace.baseUrl),
      redact: redactor.redact,
      seal,
    };
  }

  /**
   * Returns the network settings for an address.
   * @throws UserError if the environment names an invalid proxy.
   */
  network(address: string): Network {
    const proxy = URL.canParse(address) ? proxyFor(new URL(address), this.context.env) : undefined;
    for (const secret of secretsOf(proxy)) this.#redact(secret);
    return { proxy, ca: this.workspace.ca };
  }

  /** Redacts a secret from all later output. */
  protected keepSecret(secret: Secret): void {
    if (!secret.isSet) return;
    this.platformRedactor.add(secret.reveal());
    this.#redact(secret.reveal());
  }

  /** Redacts all secrets, including short ones, from text that is sent to another system. */
  withoutSecrets(text: string): string {
    return this.platformRedactor.redact(this.context.redactor.redact(text));
  }

  #redact(secret: string): void {
    if (secret.length >= MIN_REDACTED_LENGTH) this.context.redactor.add(secret);
  }

  /**
   * Reads the state without a lock, and logs its warnings.
   * @param fresh the contents of a new state, if there is none yet; generated if absent.
   */
  async state(fresh?: FreshState): Promise<State> {
    const state = await this.stateWithoutWarnings(fresh);
    this.warnOfState();
    return state;
  }

  /**
   * Reads the state without a lock. Does not log its warnings, so that `warnOfState` can log them later.
   * @param signal cancels the read.
   */
  async stateWithoutWarnings(fresh = freshState(), signal?: AbortSignal): Promise<State> {
    const { workspaceId } = this.workspace;
    let older: string | undefined;
    this.holder = undefined;
    const state = await readState(this.store, {
      workspaceId,
      fresh,
      signal,
      onMissing: () => this.refuseSecondState(),
      onOlder: ({ message, hint }: UserError) => {
        older = hint === undefined ? message : `${message}. ${hint}`;
      },
      onHolder: (holder) => {
        this.holder = holder;
      },
    });
    this.#isWarned &&= older === this.#olderWarning;
    this.#olderWarning = older;
    const [rescue] = await findRescues(this.#root, state.lineage);
    this.#rescueWarning =
      rescue &&
      `${rescue.relativePath} contains ids that are not in the state yet. The next run that writes will record them.`;
    return state;
  }

  /** Warns if the state is older than a copy of it, or lacks results of an earlier run. */
  warnOfState(): void {
    if (this.#isWarned) return;
    for (const each of [this.#olderWarning, this.#rescueWarning]) if (each !== undefined) this.context.log.warn(each);
    this.#isWarned = true;
  }

  /** The warning if the state is older than a copy of it; otherwise undefined. */
  get olderState(): string | undefined {
    return this.#olderWarning;
  }

  /** Throws if this workspace has or had another state, because a workspace must not have two states. */
  refuseSecondState(): Promise<void> {
    return refuseSecondState(this, {
      marks: marksOf(this.context, this.workspace.baseUrl),
      findOther: (workspaceId) => this.#findElsewhere(workspaceId),
    });
  }

  /** Finds a state of the workspace under another name, or at its location before the settings changed. */
  async #findElsewhere(workspaceId: string): Promise<FoundState | undefined> {
    const inStore = await this.store.findOther?.(workspaceId);
    if (inStore !== undefined) return inStore;
    for (const location of await this.#otherLocations()) {
      try {
        const found = await searchAt(location, this.#storeUser(location))?.(workspaceId);
        if (found !== undefined) return found;
      } catch (error) {
        if (!(error instanceof UserError)) throw error;
        const shown = backendOf(location).describe(location, this.#root);
        this.context.log.warn(`cannot check ${shown} for another state of this workspace: ${error.message}`);
      }
    }
    return undefined;
  }

  /** Returns the shared stores that are known without settings: the repository of the manifests, and the database of a fleet. */
  async #otherLocations(): Promise<StateLocation[]> {
    const { local } = this.context;
    const { name: workspace, state } = this.workspace;
    const source = local?.source;
    const hasOrigin = source !== undefined || (await this.git?.('remote', 'get-url', 'origin'))?.code === 0;
    const locations = [
      local?.stateOf?.(workspace),
      hasOrigin ? locateState({ backend: 'git' }, { workspace, root: this.#root, source }) : undefined,
    ];
    return locations.filter((each) => each !== undefined).filter(({ backend }) => backend !== state.backend);
  }

  /** Runs work that changes the state, under the lock. First records the results that an earlier run could not store. */
  async inSession<T>(change: StateChange, work: (session: StateSession) => Promise<T>): Promise<T> {
    const options = this.sessionOptions(change.operation, change.options);
    const { fresh = options.fresh, isLost = false, store = this.store } = change;
    const { log } = this.context;
    await recordRescues(this.#root, store, { session: options, log });
    const onMissing = isLost ? undefined : options.onMissing;
    return inSession(store, { ...options, fresh, onMissing }, work);
  }

  sessionOptions(operation: string, { lockTimeout, allowOlderState = false }: LockOptions): SessionOptions {
    const { log, now } = this.context;
    return {
      lock: this.lockRequest(operation, lockTimeout),
      ...(allowOlderState && { allowOlder: (warning: string) => log.warn(warning) }),
      workspaceId: this.workspace.workspaceId,
      fresh: freshState(),
      onMissing: () => this.refuseSecondState(),
      version: VERSION,
      now,
    };
  }

  lockRequest(operation: string, timeoutSeconds: number): LockRequest {
    const { log, interrupts } = this.context;
    return {
      operation,
      timeoutSeconds,
      signal: interrupts.stop,
      commit: this.commit(),
      notice: (message) => log.info(message),
      warn: (message) => log.warn(message),
    };
  }

  /** Starts to determine the commit of the manifests, so that it is known when a run begins. */
  commit(known = this.context.commit): Promise<string | undefined> {
    this.#commit ??= known === undefined ? commitOf(this.git) : Promise.resolve(known);
    return this.#commit;
  }

  /** Runs git in the repository of the manifests. Undefined without a repository, if git must not run, or for fetched manifests. */
  get git(): RepositoryGit | undefined {
    const { commit, local, env, startup } = this.context;
    return (commit ?? local?.source ?? startup) === undefined ? gitIn(this.#root, env) : undefined;
  }
}

export function freshState(): FreshState {
  return { lineage: randomUUID(), salt: newSalt() };
}

/** Records results that earlier runs could not store, in its own session, so that the serial is new before states are compared. */
async function recordRescues(
  root: string,
  store: StateStore,
  { session: options, log }: { session: SessionOptions; log: RunContext['log'] },
): Promise<void> {
  if ((await findRescues(root)).length === 0) return;
  const { document } = await store.read();
  const rescues = document === undefined ? [] : await findRescues(root, document.lineage);
  if (rescues.length === 0) return;
  await inSession(store, forRescue(options), async (session) => {
    for (const rescue of rescues) {
      const records = await recordOutcomes(session, rescue, store);
      const { file, relativePath, damaged } = rescue;
      if (records.length > 0) log.info(`recorded from ${relativePath}: ${records.join(', ')}`);
      if (damaged === 0) await rm(file, { force: true });
      else {
        // The damaged lines may contain ids that exist nowhere else.
        await rename(file, `${file}.damaged`);
        log.warn(
          `${relativePath} has damaged lines (${damaged}), which were not recorded. Import the ids in them: the file is kept as ${relativePath}.damaged`,
        );
      }
    }
  });
}

/**
 * Records the results in a rescue file.
 * @returns `ADDRESS = ID` for each record that the state did not have.
 * @throws UserError if the file contains nothing for this state.
 */
export async function recordRescueFile(
  file: string,
  store: StateStore,
  options: SessionOptions,
): Promise<readonly string[]> {
  const rescue = await readRescue(file);
  if (rescue.damaged > 0 || rescue.entries.length === 0) {
    throw new UserError(`${file} is damaged, or is not a rescue file`, {
      hint: advice`Nothing was recorded. Import the ids that the failed run printed: ${command('import ADDRESS ID')}`,
    });
  }
  return inSession(store, forRescue(options), async (session) => {
    const [other] = rescue.entries.filter(({ lineage }) => lineage !== session.state.lineage);
    if (other !== undefined) {
      throw new UserError(`${file} belongs to another state (lineage ${other.lineage})`, {
        hint: `The state ${store.location} has the lineage ${session.state.lineage}. Select the workspace of the failed run with -w.`,
      });
    }
    const records = await recordOutcomes(session, rescue, store);
    if (!session.changed) throw new UserError(`nothing to record: the state already contains everything in ${file}`);
    return records;
  });
}

function forRescue(options: SessionOptions): SessionOptions {
  return { ...options, lock: { ...options.lock, operation: 'state rescue' } };
}
