import type { ComparedDrafts } from '../engine/observe/plan-publications.ts';
import type { WritePermission } from '../platform/client.ts';
import type { Concurrency } from '../platform/concurrency-limit.ts';
import type { JointLimit } from '../platform/joint-limit.ts';
import type { RecordCache } from '../platform/record-cache.ts';
import type { RequestEvent } from '../platform/transport.ts';
import type { ExternalPolicies } from '../policies/rule.ts';
import type { WorkspaceSelection } from '../problems/workspace-command.ts';
import type { ProjectAtStartup } from '../project/load-project.ts';
import type { LocalPaths } from '../project/local-paths.ts';
import type { WorkspaceConfig } from '../project/project.ts';
import type { FailPoint, StoreUser } from '../state/backends/backend.ts';
import type { Redactor } from '../values/redactor.ts';
import type { Secret } from '../values/value.ts';

export interface RunLog {
  warn(message: string): void;
  info(message: string): void;
  debug(message: string): void;
}

/** The signals that end a run early. */
export interface RunSignals {
  /** Once this is aborted, nothing new is started. The reason is the name of the signal, or the `UserError` that ended the run. */
  readonly stop: AbortSignal;
  /** Once this is aborted, requests in flight are cancelled. */
  readonly requests: AbortSignal;
}

/**
 * The environment of a run. It is set by the command line, the watch loop, or a program that uses voxform as a library.
 * @internal
 */
export interface RunContext {
  /** Absolute path of the working folder. */
  readonly cwd: string;
  /** Absolute path of the project folder, if it is not the working folder. */
  readonly projectFolder?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The requested workspace. By default, the environment or the project selects one. */
  readonly workspace: string | undefined;
  /** The API key of the requested workspace, if it comes neither from the environment nor from the project. */
  readonly apiKey?: Secret | undefined;
  readonly log: RunLog;
  readonly interrupts: RunSignals;
  /** The time that the opened workspaces waited for their states in vain. */
  readonly outage?: StoreUser['outage'];
  /** The limit of requests in flight, if several runs share it. By default, each run has its own limit. */
  readonly shared?: JointLimit | undefined;
  /** Absolute path of the cache folder; nothing is cached if absent. */
  readonly cacheFolder?: string | undefined;
  /** The folders of the project's state and secrets, if they are not in the project folder. */
  readonly local?: LocalPaths | undefined;
  /** A project that was read before. If present, it is not read again, and no program is started in it, including git. */
  readonly startup?: ProjectAtStartup | undefined;
  /** The commit of the manifests, if voxform checked them out. */
  readonly commit?: string | undefined;
  /** The selection of this workspace in suggested commands, if its name is not sufficient. */
  readonly selection?: WorkspaceSelection;
  /** Rules that apply in addition to those of the project. */
  readonly policies?: ExternalPolicies | undefined;
  /** Receives every secret that the run reads. */
  readonly redactor: Redactor;
  now(): Date;
  /** Called when a workspace is opened, with its selection in suggested commands. */
  readonly onWorkspace?: ((selection: WorkspaceSelection) => void) | undefined;
  /** Called before a workspace is used. Throws to refuse the workspace. A watch loop calls this before each run. */
  readonly begin?: ((workspace: WorkspaceConfig) => Promise<void>) | undefined;
  /** A permission that each write requires in addition to the lock. */
  readonly writes?: WritePermission | undefined;
  /** Called after every attempt of a request. */
  readonly onRequest?: ((event: RequestEvent) => void) | undefined;
  /** Caches for programs that plan a workspace repeatedly. */
  readonly memory?: {
    readonly parseState: StoreUser['parse'];
    readonly comparedDrafts: ComparedDrafts;
    readonly answers: RecordCache;
  };
  /** Lets a test kill the run at a named point. */
  readonly failPoint: ((name: FailPoint) => void) | undefined;
}

export interface SelectionOptions {
  /** Addresses of resources. The resources that they refer to are included. */
  readonly target?: readonly string[];
  readonly selector?: Readonly<Record<string, string>>;
}

export interface PlatformOptions {
  /** The maximum number of concurrent requests. Default: `limits.concurrency`. */
  readonly concurrency?: Concurrency;
  /** The maximum pause in seconds that the platform may request. */
  readonly maxWait?: number;
}

export interface Waiver {
  readonly rules: readonly string[];
  readonly because: string;
}

export interface PlanningOptions extends SelectionOptions, PlatformOptions {
  /** Applies to this plan only. */
  readonly waiver?: Waiver | undefined;
  /** If false, managed records are not read, and their state entries are used instead. Default of library calls: true. */
  readonly refresh: boolean;
  /** Addresses of resources that may be replaced. */
  readonly allowReplace?: readonly string[];
  /** Sends fields again that the platform did not apply. */
  readonly retryIgnored?: boolean;
  /** Addresses of resources whose missing records are created again, or `all`. */
  readonly allowRecreate?: readonly string[];
  /** Continues even if all records are missing, which may mean a wrong API key. Requires `allowRecreate: ['all']`. */
  readonly evenIfAll?: boolean;
  /** Adds the routes by which calls reach each changed record. */
  readonly routes?: boolean;
  /** Compares every draft that may be unpublished with its published version. */
  readonly publications?: boolean;
}

export interface LockOptions {
  /** Seconds to wait for another run that holds the lock. Library calls do not wait by default. */
  readonly lockTimeout: number;
  /** Writes even if the state is older than its newest backup, or than the last state that this machine wrote. */
  readonly allowOlderState?: boolean;
}

export interface GuardOptions {
  readonly allowLargeChange?: boolean;
  readonly allowOwnerChange?: boolean;
  /** Applies manifests even if they are older than those of the last apply. */
  readonly allowOlderCommit?: boolean;
}
