import { type PlanResult, planFor } from '../engine/engine.ts';
import { ReadAhead } from '../engine/observe/read-ahead.ts';
import type { OnReadProgress } from '../engine/observe/read-records.ts';
import { dashboardOf, withDashboardLinks } from '../engine/plan/dashboard-links.ts';
import type { PlanDocument } from '../engine/plan/plan-document.ts';
import type { Resource } from '../manifests/resource.ts';
import type { PlatformClient } from '../platform/client.ts';
import type { LoadListener } from '../project/load-desired.ts';
import type { LockInfo } from '../state/lock-info.ts';
import type { State } from '../state/state.ts';
import { isLoopback } from '../values/loopback.ts';
import { VERSION } from '../version.ts';
import { commitId } from './local-user.ts';
import type { OpenWorkspace } from './open-workspace.ts';
import type { PlanningOptions, PlatformOptions, RunLog } from './run-context.ts';
import type { StateAccess } from './state-access.ts';

/** Reads the state without a lock, and warns if another run holds the lock. */
export async function readStateWithoutLock(opened: OpenWorkspace): Promise<State> {
  const state = await opened.stateWithoutWarnings();
  warnIfLocked(opened.context.log, opened.holder);
  opened.warnOfState();
  return state;
}

function warnIfLocked(log: RunLog, holder: LockInfo | undefined): void {
  if (holder === undefined) return;
  const job = holder.job === undefined ? '' : ` (${holder.job.name} ${holder.job.url})`;
  log.warn(
    `${holder.operation} by ${holder.who}${job} has been running since ${holder.since}: results may be incomplete, and creates in flight are shown as unknown`,
  );
}

/** The inputs that planning and applying a saved plan have in common. */
export interface PlanContext {
  readonly opened: OpenWorkspace;
  readonly state: State;
  readonly client: PlatformClient;
  readonly options: PlatformOptions;
  readonly onProgress?: OnReadProgress | undefined;
}

export interface Planning extends PlanContext {
  readonly desired: readonly Resource[];
  readonly options: PlanningOptions;
  /** Reads that were started while the manifests were loaded. */
  readonly ahead?: ReadAhead | undefined;
}

export type PlanSources = Pick<Planning, 'desired' | 'state' | 'client' | 'ahead'>;

/** Reads that were started before the manifests were loaded, and the state at that time. */
export interface Prefetch extends Pick<Planning, 'state' | 'client'> {
  readonly holder: LockInfo | undefined;
  readonly ahead: ReadAhead;
}

type LoadingOptions = PlatformOptions & Partial<Pick<PlanningOptions, 'refresh' | 'target' | 'selector'>>;

/**
 * Loads the manifests and runs the work with them. If all resources will be compared, the platform is read at the same time, and the client
 * of `early` is closed after the work. If the manifests are invalid, the run ends without waiting for these reads.
 * @throws InvalidManifests, even if the state or the platform also has an error.
 */
export async function withManifests<T>(
  opened: OpenWorkspace,
  options: LoadingOptions,
  work: (loaded: { readonly desired: readonly Resource[]; readonly early: Prefetch | undefined }) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const prefetch = startReads(opened, options, controller.signal);
  // The callbacks of a promise run in the order in which they were added.
  const listener: LoadListener = {
    onDeclaration: (address, spec) => void prefetch.then((early) => early?.ahead.declared(address, spec)),
    onReference: (kind) => void prefetch.then((early) => early?.ahead.refersTo(kind)),
  };
  try {
    // A local state is available at once, so records can be read while manifests load.
    if (opened.isStateLocal) await prefetch;
    const { resources } = await opened.desired(listener);
    const early = await prefetch;
    early?.ahead.manifestsRead();
    return await work({ desired: resources, early });
  } finally {
    controller.abort();
    await (await prefetch)?.client.close();
  }
}

/** Loads the inputs of a plan without a lock, and runs the work with them. */
export function withPlanInputs<T>(
  opened: OpenWorkspace,
  options: LoadingOptions,
  work: (prepared: PlanSources) => Promise<T>,
): Promise<T> {
  return withManifests(opened, options, async ({ desired, early }) => {
    if (early !== undefined) {
      warnIfLocked(opened.context.log, early.holder);
      opened.warnOfState();
      return work({ desired, ...early });
    }
    const state = await readStateWithoutLock(opened);
    return opened.withClient(options, (client) => work({ desired, state, client }));
  });
}

/** Starts to read the state and the platform. Never rejects: an error occurs again when the result is needed. */
async function startReads(
  opened: OpenWorkspace,
  options: LoadingOptions,
  signal: AbortSignal,
): Promise<Prefetch | undefined> {
  const isUnfiltered = (options.target ?? []).length === 0 && Object.keys(options.selector ?? {}).length === 0;
  if (!isUnfiltered || options.refresh === false) return undefined;
  let client: PlatformClient | undefined;
  try {
    // Connect first, so that the modules of the client load while the state is being read.
    client = opened.connect(options);
    const state = await opened.stateWithoutWarnings(undefined, signal);
    const { holder, workspace, context } = opened;
    const reads = { client, workspaceId: workspace.workspaceId, concurrency: opened.concurrency(options) };
    return { holder, state, client, ahead: new ReadAhead({ ...reads, state, now: context.now }) };
  } catch {
    await client?.close();
    return undefined;
  }
}

/** Returns the prefetched reads, if the state has not changed since. */
export function readAheadIfCurrent(early: Prefetch | undefined, { lineage, serial }: State): ReadAhead | undefined {
  const isSame = early?.state.lineage === lineage && early.state.serial === serial;
  return isSame ? early.ahead : undefined;
}

export function commonPlanInput({ opened, state, client, options, onProgress }: PlanContext) {
  const { name, workspaceId, baseUrl } = opened.workspace;
  return {
    state,
    client,
    workspace: { name, id: workspaceId, baseUrl },
    concurrency: opened.concurrency(options),
    version: VERSION,
    now: opened.context.now,
    onProgress,
  };
}

/** Plans all resources in scope. Reads the platform and writes nothing. */
export async function planWorkspace(planning: Planning): Promise<PlanResult> {
  const { desired, options, opened, ahead } = planning;
  const planned = await planFor({
    ...commonPlanInput(planning),
    ahead,
    desired,
    selection: { targets: options.target ?? [], labels: options.selector ?? {} },
    refresh: options.refresh,
    allowRecreate: options.allowRecreate ?? [],
    evenIfAll: options.evenIfAll ?? false,
    allowReplace: options.allowReplace ?? [],
    retryIgnored: options.retryIgnored ?? false,
    guards: opened.project.guards,
    routes: options.routes ?? false,
    publications: options.publications ? 'all' : options.routes ? 'changes' : undefined,
    comparedDrafts: opened.context.memory?.comparedDrafts,
  });
  const { document } = planned.plan;
  const linked = withDashboardLinks(document, dashboardOf(opened.workspace));
  return withStateWarnings({ ...planned, plan: { ...planned.plan, document: linked } }, planning);
}

/** Adds a warning about an older state, and a warning or a guard about manifests that may be older than the last applied ones. */
async function withStateWarnings(planned: PlanResult, { opened, state }: PlanContext): Promise<PlanResult> {
  const { plan } = planned;
  const { document } = plan;
  const commit = changesIn(document) > 0 ? await olderCommit(opened, state) : undefined;
  const messages = [opened.olderState, commit?.isCertain === false ? commit.message : undefined];
  const warnings = messages.filter((each) => each !== undefined).map((message) => ({ address: null, message }));
  const guards: PlanDocument['guards'] =
    commit?.isCertain === true ? [{ guard: 'older_commit', message: commit.message }] : [];
  if (warnings.length + guards.length === 0) return planned;
  const all = { warnings: [...warnings, ...document.warnings], guards: [...document.guards, ...guards] };
  return { ...planned, plan: { ...plan, document: { ...document, ...all } } };
}

/** Returns the number of resources that an apply would write. */
export function changesIn({ summary }: PlanDocument): number {
  return summary.create + summary.update + summary.replace + summary.adopt + summary.forget;
}

interface OlderCommit {
  readonly message: string;
  /** False if the clone is too shallow to compare the commits, or if neither commit contains the other. */
  readonly isCertain: boolean;
}

/** The exit code of `git merge-base --is-ancestor` for a commit that is not an ancestor. */
const NOT_ANCESTOR = 1;

/**
 * Checks whether the manifests may be older than the last applied ones, for example in a clone that was not pulled. An apply would then
 * undo a colleague's changes. Returns undefined if they are not older, and for a platform on this machine. Manifests that voxform fetched
 * itself are the newest of their ref, so they are not checked.
 */
async function olderCommit(
  opened: Pick<StateAccess, 'commit' | 'git' | 'workspace'>,
  { appliedCommit: applied }: Pick<State, 'appliedCommit'>,
): Promise<OlderCommit | undefined> {
  if (applied === undefined || isLoopback(new URL(opened.workspace.baseUrl).hostname)) return undefined;
  const { git } = opened;
  const head = commitId(await opened.commit());
  if (git === undefined || head === undefined || head === applied) return undefined;
  const [contains, isContained, shallow] = await Promise.all([
    git('merge-base', '--is-ancestor', applied, head),
    git('merge-base', '--is-ancestor', head, applied),
    git('rev-parse', '--is-shallow-repository'),
  ]);
  if (contains?.code === 0) return undefined;
  const last = `the last applied commit is ${applied.slice(0, 10)}`;
  const current = `these manifests (${head.slice(0, 10)})`;
  const certain = (message: string) => ({ message: `${last}${message}`, isCertain: true });
  const possible = (message: string) => ({ message: `${last}${message}`, isCertain: false });
  if (isContained?.code === 0) return certain(`, which is newer than ${current}`);
  if (shallow?.out.toString().trim() === 'true')
    return possible(`. This clone is too shallow to check whether ${current} are older; fetch the full history`);
  if (contains?.code === NOT_ANCESTOR) return possible(`, which is not in the history of ${current}`);
  return certain(', which this clone does not have: run git pull');
}
