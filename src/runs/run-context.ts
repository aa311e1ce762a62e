import type { ComparedDrafts } from '../engine/observe/plan-publications.ts';
import type { AnswerMemory } from '../platform/answer-memory.ts';
import type { JointLimit } from '../platform/joint-limit.ts';
import type { RequestEvent } from '../platform/transport-options.ts';
import type { OtherPolicies } from '../policies/policy-source.ts';
import type { Reach } from '../problems/workspace-command.ts';
import type { LocalPaths } from '../project/local-paths.ts';
import type { WorkspaceConfig } from '../project/project.ts';
import type { FailPoint, StoreUser } from '../state/backends/backend.ts';
import type { Redactor } from '../values/redactor.ts';

/** Receives the messages of a run. */
export interface RunLog {
  warn(message: string): void;
  info(message: string): void;
  debug(message: string): void;
}

/** Ends a run early. */
export interface RunSignals {
  /** Once aborted, nothing new is started. Its reason is the name of the signal. */
  readonly stop: AbortSignal;
  /** Once aborted, requests in flight are cancelled. */
  readonly requests: AbortSignal;
}

/** The environment of a run: set by the command line, the watch loop, or a program that uses voxform as a library. */
export interface RunContext {
  /** Absolute path of the working folder. */
  readonly cwd: string;
  /** Absolute path of the project folder, if it differs. */
  readonly projectFolder?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The requested workspace. By default, the environment or the project selects one. */
  readonly workspace: string | undefined;
  readonly log: RunLog;
  readonly interrupts: RunSignals;
  /** A limit of requests in flight that several runs share; by default, each run has its own. */
  readonly shared?: JointLimit | undefined;
  /** Absolute path of the folder for parsed manifests; nothing is cached if absent. */
  readonly cacheFolder?: string | undefined;
  /** The folders of the project's state and secrets, if they are not beside its files. */
  readonly local?: LocalPaths | undefined;
  /** The commit of the manifests, if whoever checked them out knows it. */
  readonly commit?: string | undefined;
  /** How a user's command names this workspace, if its name is not enough. */
  readonly reach?: Reach;
  /** Rules that apply in addition to those of the project. */
  readonly policies?: OtherPolicies | undefined;
  /** Receives every secret that the run reads. */
  readonly redactor: Redactor;
  now(): Date;
  /** Called when a workspace is opened, with the way a command names it. */
  readonly onWorkspace?: ((reach: Reach) => void) | undefined;
  /** Called before a workspace is used; throws to refuse it. A loop that opens a workspace once calls it before each run. */
  readonly begin?: ((workspace: WorkspaceConfig) => Promise<void>) | undefined;
  /** Called after every attempt of a request. */
  readonly onRequest?: ((event: RequestEvent) => void) | undefined;
  /** Set by programs that plan a workspace repeatedly. */
  readonly parseState?: StoreUser['parse'];
  readonly comparedDrafts?: ComparedDrafts;
  readonly answers?: AnswerMemory;
  /** Lets a test kill the run at this point. */
  readonly failPoint: ((name: FailPoint) => void) | undefined;
}
