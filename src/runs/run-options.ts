import type { Concurrency } from '../platform/concurrency-limit.ts';

export interface SelectionOptions {
  /** Addresses. Their references are included. */
  readonly target?: readonly string[];
  readonly selector?: Readonly<Record<string, string>>;
}

/** How to call the platform. */
export interface PlatformOptions {
  /** Requests at once; by default `limits.concurrency`. */
  readonly concurrency?: Concurrency;
  /** Seconds. The longest pause that the platform may request. */
  readonly maxWait?: number;
}

/** Waives rules for one run. */
export interface Waiver {
  /** Names. */
  readonly rules: readonly string[];
  readonly because: string;
}

/** How to make a plan. */
export interface PlanningOptions extends SelectionOptions, PlatformOptions {
  /** Waives the violations of these rules in this plan only. */
  readonly waiver?: Waiver | undefined;
  /** False: recorded records are not read, and the state entries are used instead. Library calls read them by default. */
  readonly refresh: boolean;
  /** Addresses of resources that may be replaced. */
  readonly allowReplace?: readonly string[];
  /** Send fields again that the platform did not apply. */
  readonly retryIgnored?: boolean;
  /** Addresses of resources whose missing records are created again, or `all`. */
  readonly allowRecreate?: readonly string[];
  /** Go on if all records are missing, which looks like a wrong key; requires `allowRecreate: ['all']`. */
  readonly evenIfAll?: boolean;
  /** Add the routes that lead to each changing record. */
  readonly routes?: boolean;
  /** Compare every draft that may be unpublished with its published version. */
  readonly publications?: boolean;
}

export interface LockOptions {
  /** Seconds to wait for another run that holds the lock. Library calls do not wait by default. */
  readonly lockTimeout: number;
  /** Also write if the state is older than its newest backup, or than the last one written on this machine. */
  readonly allowOlderState?: boolean;
}

export interface GuardOptions {
  readonly allowLargeChange?: boolean;
  readonly allowOwnerChange?: boolean;
  /** Apply manifests that are older than those of the last apply. */
  readonly allowOlderCommit?: boolean;
}
