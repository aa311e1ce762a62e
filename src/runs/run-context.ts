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

/** Whom a run tells what it does, in sentences. */
export interface RunLog {
  warn(message: string): void;
  info(message: string): void;
  debug(message: string): void;
}

/** What ends a run before its end. */
export interface RunSignals {
  /** Once aborted nothing new is begun. Its reason is the name of the signal. */
  readonly stop: AbortSignal;
  /** Once aborted, requests under way are given up. */
  readonly requests: AbortSignal;
}

/** What a run gets from whoever starts it: the command line, the watch loop, or a program that uses voxform as a library. */
export interface RunContext {
  /** Absolute path of the folder to work in. */
  readonly cwd: string;
  /** Absolute path of the project folder, where it is another one. */
  readonly projectFolder?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The workspace asked for; the environment's or the project's own choice where absent. */
  readonly workspace: string | undefined;
  readonly log: RunLog;
  readonly interrupts: RunSignals;
  /** Requests in flight of all runs that have it; each has its own alone where absent. */
  readonly shared?: JointLimit | undefined;
  /** Absolute path of the folder where parsed manifests are kept for the next run; none are where absent. */
  readonly cacheFolder?: string | undefined;
  /** Where the state and secrets of the project lie, where that is not beside its files. */
  readonly local?: LocalPaths | undefined;
  /** Of the manifests, where whoever checked them out knows it. */
  readonly commit?: string | undefined;
  /** How a person's command means this workspace, where its name is not enough. */
  readonly reach?: Reach;
  /** Rules that hold beside those of the project. */
  readonly policies?: OtherPolicies | undefined;
  /** Learns every secret that the run reads. */
  readonly redactor: Redactor;
  now(): Date;
  /** Told, whenever a workspace is opened, how a command means it. */
  readonly onWorkspace?: ((reach: Reach) => void) | undefined;
  /** Called before a workspace is used. Throws where it must not be. A loop that opens a workspace once calls it before each run. */
  readonly begin?: ((workspace: WorkspaceConfig) => Promise<void>) | undefined;
  /** Told after every try of a request. */
  readonly onRequest?: ((event: RequestEvent) => void) | undefined;
  /** These of a program that plans one workspace again and again. */
  readonly parseState?: StoreUser['parse'];
  readonly comparedDrafts?: ComparedDrafts;
  readonly answers?: AnswerMemory;
  /** Where a test makes the run die. */
  readonly failPoint: ((name: FailPoint) => void) | undefined;
}
