import type { Concurrency } from '../platform/concurrency-limit.ts';

export interface SelectionOptions {
  /** Addresses; with what they refer to. */
  readonly target?: readonly string[];
  readonly selector?: Readonly<Record<string, string>>;
}

/** How the platform is spoken to. */
export interface PlatformOptions {
  /** Requests at once; `limits.concurrency` where absent. */
  readonly concurrency?: Concurrency;
  /** Seconds: the longest pause that the platform may ask for. */
  readonly maxWait?: number;
}

/** Rules that are lifted for one run. */
export interface Waiver {
  /** Names. */
  readonly rules: readonly string[];
  readonly because: string;
}

/** How a plan is made. */
export interface PlanningOptions extends SelectionOptions, PlatformOptions {
  /** Lifts what these rules object to in this plan, and nothing else. */
  readonly waiver?: Waiver | undefined;
  /** False: recorded records are not read, and the state stands in for them. A library call reads them where absent. */
  readonly refresh: boolean;
  /** Addresses of resources that may be replaced. */
  readonly allowReplace?: readonly string[];
  /** Sends again what the platform did not apply. */
  readonly retryIgnored?: boolean;
  /** Addresses of resources whose missing records are created again, or `all`. */
  readonly allowRecreate?: readonly string[];
  /** Go on where every record that was read is missing, which looks like a wrong key; with `allowRecreate: ['all']`. */
  readonly evenIfAll?: boolean;
  /** Says of each record that changes what leads to it. */
  readonly routes?: boolean;
  /** Compares every draft that may be newer than its published version with it. */
  readonly publications?: boolean;
}

export interface LockOptions {
  /** Seconds to wait for another run that holds the state; a library call waits for none where absent. */
  readonly lockTimeout: number;
  /** Write also where the state is older than its newest copy, or than the last one written on this machine. */
  readonly allowOlderState?: boolean;
}

export interface GuardOptions {
  readonly allowLargeChange?: boolean;
  readonly allowOwnerChange?: boolean;
  /** Apply manifests that are older than those of the last apply. */
  readonly allowOlderCommit?: boolean;
}
