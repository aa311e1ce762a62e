import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { kinds, lookups } from '../kinds/index.ts';
import { Inputs } from '../manifests/inputs.ts';
import { isSecretName } from '../manifests/value-forms.ts';
import type { PlatformClient } from '../platform/client.ts';
import { createClient } from '../platform/http-client.ts';
import { proxyFor, secretsOf } from '../platform/proxy.ts';
import type { OddFields } from '../platform/read-answer.ts';
import { createTransport, type TransportOptions } from '../platform/transport.ts';
import { UserError } from '../problems/user-error.ts';
import { InvalidManifests } from '../project/invalid-manifests.ts';
import { type LoadListener, loadDesired } from '../project/load-desired.ts';
import type { Desired, ProjectConfig, WorkspaceConfig } from '../project/project.ts';
import type { ReadDeclarations } from '../project/read-declarations.ts';
import { selectWorkspace } from '../project/select-workspace.ts';
import { newSalt } from '../state/fingerprint.ts';
import { readState, type SessionOptions } from '../state/session.ts';
import type { FreshState, State } from '../state/state.ts';
import { createStore } from '../state/state-place.ts';
import type { LockHolder, LockRequest, StateStore } from '../state/store.ts';
import { Redactor } from '../values/redactor.ts';
import { Secret, specials } from '../values/value.ts';
import { VERSION } from '../version.ts';
import { marksOf, userName } from './local-user.ts';
import { openProject } from './open-project.ts';
import { refuseSecondState } from './refuse-second-state.ts';
import type { RunContext } from './run-context.ts';
import type { LockOptions, PlatformOptions } from './run-options.ts';
import { warningOfSkipped } from './skipped-records.ts';

interface Opening {
  readonly project: ProjectConfig;
  readonly workspace: WorkspaceConfig;
  readonly declarations?: () => Promise<ReadDeclarations>;
}

/** A project with one of its workspaces selected, and the means to reach its manifests, its state and its platform. */
export class OpenWorkspace {
  readonly project: ProjectConfig;
  readonly workspace: WorkspaceConfig;
  readonly store: StateStore;
  readonly #context: RunContext;
  /** For what the platform says: there a short secret is struck out too. */
  readonly #platformRedactor = new Redactor();
  #older: string | undefined;
  #isWarned = false;
  readonly #declarations: (() => Promise<ReadDeclarations>) | undefined;
  /** Files that declare resources, as far as they were read; relative to the project folder. */
  manifests: ReadonlySet<string> = new Set();
  /** Who held the lock when the state was read last. */
  holder: LockHolder | undefined;

  /** @param declarations gives what the files declare, where several workspaces share one reading of them. */
  constructor(context: RunContext, { project, workspace, declarations }: Opening) {
    this.#context = context;
    this.#declarations = declarations;
    this.project = project;
    this.workspace = workspace;
    this.store = this.storeAt(workspace.state);
    this.#keep(workspace.apiKey);
    for (const setting of Object.values(workspace.state)) if (setting instanceof Secret) this.#keep(setting);
    context.onWorkspace?.(this.workspaceFlag);
  }

  /** A store of this workspace, its own or another one. */
  storeAt(state: WorkspaceConfig['state']): StateStore {
    const { env, now, failPoint } = this.#context;
    return createStore(state, {
      root: this.project.root,
      host: hostname(),
      user: userName(env),
      pid: process.pid,
      version: VERSION,
      now,
      failPoint,
      marks: marksOf(this.#context, this.workspace.baseUrl),
    });
  }

  /**
   * What the manifests declare, with every secret read. Warnings are logged.
   * @param listener is told of what turns up on the way.
   * @throws InvalidManifests
   */
  async desired(listener?: LoadListener): Promise<Desired> {
    const desired = await this.declared('live', listener);
    if (desired.diagnostics.some(({ severity }) => severity === 'error')) {
      throw new InvalidManifests(desired.diagnostics);
    }
    return desired;
  }

  /** The same with whatever is wrong in it; `offline` also does without what is not set. */
  async declared(mode: 'live' | 'offline', listener?: LoadListener): Promise<Desired> {
    const { project, workspace } = this;
    const { env } = this.#context;
    const declarations = await this.#declarations?.();
    const desired = await loadDesired({
      project,
      workspace,
      kinds,
      lookups,
      env,
      mode,
      declarations,
      listener,
    });
    this.manifests = new Set(desired.resources.map(({ source }) => source.file));
    for (const { spec } of desired.resources) {
      for (const special of specials(spec)) if (special instanceof Secret) this.#keep(special);
    }
    return desired;
  }

  /** The secret of that name as it is now. Throws `UserError` where it is not set. */
  secretNamed(): (name: string) => Secret {
    const inputs = new Inputs({
      root: this.project.root,
      env: this.#context.env,
      secretsDir: this.workspace.secretsDir,
      vars: {},
      mustBeSet: true,
    });
    return (name) => {
      if (!isSecretName(name)) {
        throw new UserError(`${JSON.stringify(name)} is not a valid name of a secret`, {
          next: [{ action: 'save_plan' }],
        });
      }
      const found = inputs.secret(name);
      if (!('value' in found)) {
        throw new UserError(found.message, {
          hint: 'The plan needs it. Set the value it had when the plan was made.',
        });
      }
      this.#keep(found.value);
      return found.value;
    };
  }

  /** What a command that a person is told to run needs to mean this workspace; nothing where it is the only one. */
  get workspaceFlag(): string {
    return Object.keys(this.project.workspaces).length > 1 ? ` -w ${this.workspace.name}` : '';
  }

  /** How many requests may run at once. */
  concurrency(options: PlatformOptions): number {
    return options.concurrency ?? this.project.limits.concurrency;
  }

  /** A client of the platform. To be closed. With odd fields `kept` it is for showing records, never for acting on them. */
  connect(options: PlatformOptions, odd?: OddFields): PlatformClient {
    const { log, interrupts, onRequest } = this.#context;
    const { limits } = this.project;
    const { proxy, ca } = this.network(this.workspace.baseUrl);
    if (proxy !== undefined) log.debug(`through the proxy ${proxy.shown} (${proxy.variable})`);
    const transport = createTransport({
      proxy,
      ca,
      baseUrl: this.workspace.baseUrl,
      apiKey: this.workspace.apiKey,
      concurrency: this.concurrency(options),
      requestsPerSecond: limits.requestsPerSecond,
      timeoutSeconds: limits.timeoutSeconds,
      maxWaitSeconds: options.maxWait,
      signal: interrupts.requests,
      redact: (text) => this.#platformRedactor.redact(text),
      onNotice: (text) => log.info(text),
      onRequest: (event) => {
        onRequest?.(event);
        const { method, path, status, error, attempt, milliseconds } = event;
        const again = attempt === 1 ? '' : `, attempt ${attempt}`;
        log.debug(`${method} ${path} ${status ?? error} ${Math.round(milliseconds)} ms${again}`);
      },
    });
    const client = createClient({ transport, workspaceId: this.workspace.workspaceId, odd });
    return warningOfSkipped(client, (text) => log.debug(text));
  }

  /** How an address is reached. Throws `UserError` where the environment names a proxy that is none. */
  network(address: string): Pick<TransportOptions, 'proxy' | 'ca'> {
    const { env, redactor } = this.#context;
    const proxy = URL.canParse(address) ? proxyFor(new URL(address), env) : undefined;
    for (const secret of secretsOf(proxy)) if (secret.length >= SHORTEST_REDACTED) redactor.add(secret);
    return { proxy, ca: this.workspace.ca };
  }

  /** The state as it is now, for commands that take no lock. An older one than the last known is warned of. */
  async state(): Promise<State> {
    const state = await this.stateAhead();
    this.warnOfOlder();
    return state;
  }

  /** The same without a word: `warnOfOlder` says it when its turn comes. */
  async stateAhead(): Promise<State> {
    const { workspaceId } = this.workspace;
    let older: string | undefined;
    this.holder = undefined;
    const onHolder = (holder: LockHolder): void => {
      this.holder = holder;
    };
    const onOlder = ({ message, hint }: UserError): void => {
      older = hint === undefined ? message : `${message}. ${hint}`;
    };
    const beginning = () => this.refuseSecond();
    const state = await readState(this.store, {
      workspaceId,
      fresh: freshState(),
      beginning,
      onOlder,
      onHolder,
    });
    this.#isWarned &&= older === this.#older;
    this.#older = older;
    return state;
  }

  warnOfOlder(): void {
    if (this.#older !== undefined && !this.#isWarned) this.#context.log.warn(this.#older);
    this.#isWarned = true;
  }

  /** That the state which was read is an older one, for the plan that is made from it. */
  get olderState(): string | undefined {
    return this.#older;
  }

  /** Throws where a state of this workspace lies under another name, so that none may be begun. */
  refuseSecond(): Promise<void> {
    const { project, workspace, workspaceFlag } = this;
    const { location } = this.store;
    const marks = marksOf(this.#context, this.workspace.baseUrl);
    return refuseSecondState({ project, workspace, location, workspaceFlag, marks, cwd: this.#context.cwd });
  }

  /** What the right to change the state is asked with; `fresh` is what a first one begins with. */
  sessionOptions(
    operation: string,
    { lockTimeout, allowOlderState = false }: LockOptions,
    fresh: FreshState = freshState(),
  ): SessionOptions {
    const { log } = this.#context;
    return {
      lock: this.lockRequest(operation, lockTimeout),
      ...(allowOlderState && { allowOlder: (warning: string) => log.warn(warning) }),
      workspaceId: this.workspace.workspaceId,
      fresh,
      beginning: () => this.refuseSecond(),
      version: VERSION,
      now: this.#context.now,
    };
  }

  lockRequest(operation: string, timeoutSeconds: number): LockRequest {
    const { log, interrupts } = this.#context;
    return {
      operation,
      timeoutSeconds,
      signal: interrupts.stop,
      notice: (message) => log.info(message),
      warn: (message) => log.warn(message),
    };
  }

  #keep(secret: Secret): void {
    if (!secret.isSet) return;
    this.#platformRedactor.add(secret.reveal());
    if (secret.reveal().length >= SHORTEST_REDACTED) this.#context.redactor.add(secret.reveal());
  }
}

/** What a state begins with where there is none yet. */
export function freshState(): FreshState {
  return { lineage: randomUUID(), salt: newSalt() };
}

/** Shorter secrets are still shown nowhere; but to strike them out of every text would strike out innocent words. */
const SHORTEST_REDACTED = 8;

/** Opens the project of the context's folder with the workspace that flags and environment select. */
export async function openWorkspace(
  context: RunContext,
  { requireKey }: { readonly requireKey: boolean },
): Promise<OpenWorkspace> {
  const { env } = context;
  const project = await openProject(context);
  const workspace = selectWorkspace(project, { name: context.workspace, env, requireKey });
  if (requireKey) noteOtherKey(context, project.workspaces[workspace.name]?.apiKey, workspace);
  return new OpenWorkspace(context, { project, workspace });
}

/** Warns where another key than the one that the workspace names is sent to its address. */
function noteOtherKey({ log }: RunContext, own: Secret | undefined, { name, apiKey }: WorkspaceConfig): void {
  if (own === undefined || own.name === apiKey.name) return;
  if (own.isSet && own.reveal() === apiKey.reveal()) return;
  log.warn(`Using ${apiKey.name} instead of ${own.name}, the api_key of the workspace ${name}.`);
}
