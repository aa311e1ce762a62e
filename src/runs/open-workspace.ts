import path from 'node:path';
import type { PlanDocument } from '../engine/plan/plan-document.ts';
import { removeDrafts } from '../files/replace-file.ts';
import { kinds, lookups } from '../kinds/index.ts';
import { isSecretName } from '../manifests/value-forms.ts';
import type { PlatformClient } from '../platform/client.ts';
import { maxConcurrency } from '../platform/concurrency-limit.ts';
import { createClient } from '../platform/http-client.ts';
import type { UnexpectedFields } from '../platform/read-response.ts';
import { ResponseBudget } from '../platform/response-budget.ts';
import { Transport } from '../platform/transport.ts';
import { loadRules, NO_RULES, projectDiagnostics } from '../policies/load-rules.ts';
import type { RuleSet } from '../policies/rule.ts';
import { compareDiagnostics, positionText } from '../problems/diagnostic.ts';
import { UserError } from '../problems/user-error.ts';
import { PROJECT_FILES } from '../project/find-project.ts';
import { InvalidManifests, InvalidProject } from '../project/invalid-project.ts';
import { type LoadListener, loadDesired } from '../project/load-desired.ts';
import { loadProject } from '../project/load-project.ts';
import type { Desired, ProjectConfig, WorkspaceConfig } from '../project/project.ts';
import { declarationsOnce, type ReadDeclarations } from '../project/read-declarations.ts';
import { readCredentials, refuseOverrides, selectWorkspace, selectWorkspaces } from '../project/select-workspace.ts';
import type { StateSession } from '../state/session.ts';
import type { FreshState } from '../state/state.ts';
import { isObject } from '../values/json.ts';
import { Secret, symbolicLeaves } from '../values/value.ts';
import { cachingNames } from './names-on-platform.ts';
import type { LockOptions, PlatformOptions, RunContext } from './run-context.ts';
import { StateAccess } from './state-access.ts';

interface Opening {
  readonly project: ProjectConfig;
  readonly workspace: WorkspaceConfig;
  readonly declarations?: () => Promise<ReadDeclarations>;
}

/** The bytes of responses that a run may need per permitted character: records and versions, which also have fields outside the manifests. */
const BYTES_PER_CHARACTER = 4;

/** A selected workspace of a project, with access to its manifests, its state and its platform. */
export class OpenWorkspace extends StateAccess {
  readonly #declarations: (() => Promise<ReadDeclarations>) | undefined;
  /** Files that declare resources, relative to the project folder; empty until loaded. */
  manifests: ReadonlySet<string> = new Set();
  /** The rules of the project and of `--policy` files; empty until loaded. */
  ruleSet = NO_RULES;
  /** The source positions of each spec, if there are rules. */
  sources: Desired['sources'];

  /** @param declarations shared by several workspaces, so that the files are read once. */
  constructor(context: RunContext, { project, workspace, declarations }: Opening) {
    super(context, project, workspace);
    this.#declarations = declarations;
    this.keepSecret(workspace.apiKey);
    context.onWorkspace?.(this.selection);
  }

  /**
   * Loads the resources of the manifests, and reads all secrets. Warnings are logged.
   * @param listener receives resources and references while files are read.
   * @throws InvalidManifests
   */
  async desired(listener?: LoadListener): Promise<Desired> {
    const desired = requireValid(await this.declared('live', listener));
    for (const warning of desired.diagnostics) this.context.log.warn(`${positionText(warning)}: ${warning.message}`);
    return desired;
  }

  /**
   * Loads the resources of the manifests, and returns all problems with them. The modes `offline` and `lenient` allow missing variables and
   * secrets. `lenient` runs secret commands, so that all secrets can be redacted from platform data.
   */
  async declared(mode: 'live' | 'lenient' | 'offline', listener?: LoadListener): Promise<Desired> {
    const { project, workspace } = this;
    const { env } = this.context;
    const declarations = await this.#declarations?.();
    const { rules, diagnostics } = await this.loadRules();
    const source = { project, workspace, kinds, lookups, env, declarations, withSources: rules.length > 0 };
    const desired = await loadDesired({ ...source, mode, listener });
    this.remember(desired);
    if (diagnostics.length === 0) return desired;
    return { ...desired, diagnostics: [...desired.diagnostics, ...diagnostics].sort(compareDiagnostics) };
  }

  /** @throws UserError, InvalidProject */
  async loadRules(): Promise<RuleSet> {
    this.ruleSet = await loadRules(this.project, this.context.policies);
    return this.ruleSet;
  }

  /** Remembers the files and source positions of the manifests, and redacts their secrets from all later output. */
  remember({ resources, sources }: Desired): void {
    this.sources = sources;
    this.manifests = new Set(resources.map(({ source }) => source.file));
    for (const secret of this.workspace.secrets.all) this.keepSecret(secret);
    for (const { spec } of resources) {
      for (const leaf of symbolicLeaves(spec)) if (leaf instanceof Secret) this.keepSecret(leaf);
    }
  }

  /**
   * Reads the secrets of a plan. Returns a function that gets a secret by name.
   * @throws UserError if a secret is not set.
   */
  async secretsOf({ secrets: fingerprints }: Pick<PlanDocument, 'secrets'>): Promise<(name: string) => Secret> {
    const { secrets } = this.workspace;
    const names = Object.keys(fingerprints);
    const invalidName = names.find((name) => !isSecretName(name));
    if (invalidName !== undefined) {
      throw new UserError(`${JSON.stringify(invalidName)} is not a valid secret name`, {
        next: [{ action: 'save_plan' }],
      });
    }
    await secrets.read(names);
    for (const name of names) {
      const problem = secrets.problem(name);
      if (problem !== undefined) {
        throw new UserError(problem.message, {
          hint: 'The plan needs this secret. Set it to the value that it had when the plan was made.',
        });
      }
      this.keepSecret(secrets.named(name));
    }
    return (name) => secrets.named(name);
  }

  /** Returns the maximum number of concurrent requests. The client may send fewer. */
  concurrency(options: PlatformOptions): number {
    return maxConcurrency(options.concurrency ?? this.project.limits.concurrency);
  }

  /** Opens a platform client. The caller must close it. A client that keeps unexpected fields is only for display. */
  connect(options: PlatformOptions, unexpectedFields?: UnexpectedFields): PlatformClient {
    const { log, interrupts, onRequest, shared, memory, cacheFolder } = this.context;
    const { limits, maxCharacters } = this.project;
    const { proxy, ca } = this.network(this.workspace.baseUrl);
    if (proxy !== undefined) log.debug(`Requests go through the proxy ${proxy.shown} (${proxy.variable})`);
    const transport = new Transport({
      proxy,
      ca,
      baseUrl: this.workspace.baseUrl,
      apiKey: this.workspace.apiKey,
      concurrency: options.concurrency ?? limits.concurrency,
      shared,
      requestsPerSecond: limits.requestsPerSecond,
      timeoutSeconds: limits.timeoutSeconds,
      // Commands outside of runs may read millions of calls, but do not keep them.
      budget: memory && maxCharacters ? new ResponseBudget(BYTES_PER_CHARACTER * maxCharacters) : undefined,
      maxWaitSeconds: options.maxWait,
      signal: interrupts.requests,
      redact: this.platformRedactor.redact,
      onNotice: (text) => log.info(text),
      onRequest: (event) => {
        onRequest?.(event);
        const { method, path, status, error, attempt, milliseconds } = event;
        const attemptText = attempt === 1 ? '' : `, attempt ${attempt}`;
        log.debug(`${method} ${path} ${status ?? error} ${Math.round(milliseconds)} ms${attemptText}`);
      },
    });
    const cache = unexpectedFields === undefined ? memory?.answers : undefined;
    cache?.beginRound();
    const client = createClient({
      transport,
      workspaceId: this.workspace.workspaceId,
      unexpectedFields,
      cache,
    });
    const close = async (): Promise<void> => {
      const { foreign } = client.workspaceCheck;
      if (foreign > 0)
        log.debug(`Records of other workspaces skipped: ${foreign}. The API key has access to several workspaces.`);
      await client.close();
    };
    const mayCache = (name: string) => this.withoutSecrets(name) === name;
    const list = { cacheFolder, workspace: this.workspace, mayCache };
    const caching = [...lookups.values()].reduce<PlatformClient>(
      (each, { name, listedThrough }) =>
        listedThrough(each, (records) => cachingNames(records, { ...list, lookup: name })),
      client,
    );
    return { ...caching, close, [Symbol.asyncDispose]: close };
  }

  /** Runs work with a client. The client is closed even if the work fails. */
  async withClient<T>(options: PlatformOptions, work: (client: PlatformClient) => Promise<T>): Promise<T> {
    await using client = this.connect(options);
    return await work(client);
  }
}

/** @throws InvalidManifests if there are errors. */
export function requireValid(desired: Desired): Desired {
  const { diagnostics } = desired;
  if (diagnostics.some(({ severity }) => severity === 'error')) throw new InvalidManifests(diagnostics);
  return desired;
}

interface Requirements {
  readonly requireKey: boolean;
  /** If false, the state is not opened, and the secrets in its settings are not read. Default: true. */
  readonly requireState?: boolean;
}

/** Opens the selected workspace of the project in the context's folder. Flags and environment variables select it. */
export async function openWorkspace(
  context: RunContext,
  { requireKey, requireState = true }: Requirements,
): Promise<OpenWorkspace> {
  const { env, apiKey } = context;
  const project = await openProject(context);
  const workspace = selectWorkspace(project, { name: context.workspace, env, apiKey });
  const signal = context.interrupts.requests;
  if (requireKey) await readCredentials([workspace], signal);
  else if (requireState) await workspace.secrets.read(secretsOfSettings(workspace.state), { signal });
  if (requireKey && apiKey === undefined)
    warnOfOtherKey(context, project.workspaces[workspace.name]?.apiKey, workspace);
  await context.begin?.(workspace);
  return new OpenWorkspace(context, { project, workspace });
}

function secretsOfSettings(settings: unknown): string[] {
  if (settings instanceof Secret) return [settings.name];
  return isObject(settings) ? Object.values(settings).flatMap(secretsOfSettings) : [];
}

/** Warns if the key differs from the workspace's own `api_key`. */
function warnOfOtherKey({ log }: RunContext, own: Secret | undefined, { name, apiKey }: WorkspaceConfig): void {
  if (own === undefined || own.name === apiKey.name) return;
  if (own.isSet && own.reveal() === apiKey.reveal()) return;
  log.warn(`Using ${apiKey.name} instead of ${own.name}, the api_key of the workspace ${name}.`);
}

/**
 * Loads the project of the context's folder.
 * @throws InvalidProject with all problems of the project file.
 */
export function openProject(context: RunContext): Promise<ProjectConfig> {
  const { cwd, projectFolder = cwd, env, cacheFolder, local, startup } = context;
  return loadProject({ cwd: projectFolder, env, cacheFolder, local, startup }).catch(async (error: unknown) => {
    throw error instanceof InvalidProject ? await withAllProblems(error, context) : error;
  });
}

/** Adds all other problems of the project file. Manifests are checked only if the project file is valid. */
async function withAllProblems(error: InvalidProject, { env, workspace: name }: RunContext): Promise<InvalidProject> {
  const diagnostics = await projectDiagnostics(error, { kinds, lookups, env, name });
  return new InvalidProject(
    diagnostics.filter(({ file, severity }) => PROJECT_FILES.includes(file) && severity === 'error'),
  );
}

/** Opens workspaces of the context's project. The files of the project are read once. */
export async function openWorkspaces(
  context: RunContext,
  names: readonly string[] | 'all',
): Promise<readonly OpenWorkspace[]> {
  const project = await openProject(context);
  const selected = selectWorkspaces(project, names, context.env);
  if (selected.length > 1) refuseOverrides(context.env);
  await readCredentials(selected, context.interrupts.requests);
  const declarations = declarationsOnce(project, { kinds, lookups });
  const outage = { milliseconds: 0 };
  return selected.map((workspace) => new OpenWorkspace({ ...context, outage }, { project, workspace, declarations }));
}

export interface SessionRequest {
  /** The operation that the lock names, e.g. `apply`. */
  readonly operation: string;
  readonly options: LockOptions & PlatformOptions;
  /** The initial contents of a new state; generated if absent. */
  readonly fresh?: FreshState | undefined;
  /** An open client, which stays open. By default, a new client is opened and closed. */
  readonly client?: PlatformClient | undefined;
}

/** Runs work that changes the state and calls the platform. Closes the session first, then the client, unless the caller passed it. */
export async function withSession<T>(
  opened: OpenWorkspace,
  { operation, options, fresh, client: given }: SessionRequest,
  work: (writable: { session: StateSession; client: PlatformClient }) => Promise<T>,
): Promise<T> {
  const inSession = (client: PlatformClient): Promise<T> =>
    opened.inSession({ operation, options, fresh }, (session) =>
      work({ session, client }).finally(() => removeManifestDrafts(opened)),
    );
  // The client is opened before the lock is taken: if no request can be sent, no lock is needed.
  return given === undefined ? opened.withClient(options, inSession) : inSession(given);
}

/** Removes the temporary files that killed commands left next to the manifests. The caller must hold the lock. */
function removeManifestDrafts({ project: { root, file }, manifests }: OpenWorkspace): Promise<void> {
  const files = file === undefined ? manifests : [...manifests, file];
  return removeDrafts([...files].map((each) => path.join(root, each)));
}
