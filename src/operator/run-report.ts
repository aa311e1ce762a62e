import type { ResourceResult } from '../engine/apply/apply-report.ts';
import type { Action } from '../engine/plan/plan-actions.ts';
import type { PlanDocument, Violation } from '../engine/plan/plan-document.ts';
import { kindNamed } from '../kinds/index.ts';
import type { Resource } from '../manifests/resource.ts';
import type { Diagnostic } from '../problems/diagnostic.ts';
import type { WorkspaceSelection } from '../problems/workspace-command.ts';
import type { RequestResult } from '../runs/drift-request/reconcile-request.ts';
import type { Orphan } from '../state/state-document.ts';
import type { Trigger } from './loop.ts';
import type { Receivers } from './notifications/receiver.ts';
import type { Mode } from './workspace-status.ts';

/** `invalid`: there are no valid manifests. `refused`: a guard or a policy stops the plan. `busy`: another run holds the lock. */
export const runResults = ['ok', 'failed', 'invalid', 'refused', 'busy', 'interrupted'] as const;

type RunResult = (typeof runResults)[number];

/** The reason why a run does not apply its changes. */
export type Hold =
  | { readonly reason: 'changing' | 'stopping' }
  | { readonly reason: 'report'; readonly denied: readonly Violation[] }
  /** A person froze the fleet. */
  | { readonly reason: 'frozen'; readonly by: string; readonly because: string }
  | { readonly reason: 'window'; readonly opensAt: Date | undefined }
  | { readonly reason: 'guard'; readonly guards: PlanDocument['guards'] }
  | { readonly reason: 'policy'; readonly violations: readonly Violation[] }
  /** A person must approve the plan with this digest, for the workspace with this address. */
  | { readonly reason: 'approval'; readonly digest: string; readonly address: string }
  /** These resources disappeared from the manifests a moment ago, so a file may be half-written. */
  | { readonly reason: 'leaving'; readonly addresses: readonly string[] };

/** A resource whose record changed on the platform since the last apply. */
export interface DriftedResource {
  readonly address: string;
  /** The paths of the changed fields; empty if the natural key of the resource now belongs to another record. */
  readonly fields: readonly string[];
  /** A digest of the displayed values of the fields. It changes if the drift changes. */
  readonly digest: string;
}

/** A resource whose record is missing from the platform. A watch never recreates a missing record. */
export interface MissingResource {
  readonly address: string;
  readonly id: string | null;
  /** ISO 8601: the time when the record was first missing; undefined if this is the first run in which it is missing. */
  readonly since: string | undefined;
}

export interface AppliedChange {
  readonly address: string;
  readonly action: Action;
  readonly result: ResourceResult;
}

export interface Invalid {
  readonly diagnostics: readonly Diagnostic[];
  /** The error, if there are no diagnostics. */
  readonly error: unknown;
}

/** Data about the drift request for the next run. */
export interface RequestMemory {
  /** The digest of the proposal on the host. */
  readonly key?: string | undefined;
  readonly kept?: RequestResult | undefined;
  /** Consecutive failures. */
  readonly failures: number;
  /** The reason why the last attempt failed. */
  readonly problem?: string | undefined;
  /** ISO 8601: the earliest time of the next attempt. */
  readonly retryAt?: string | undefined;
}

export interface RunReport {
  /** The number of the run in this process, starting at 1. */
  readonly number: number;
  /** The id of the run in the history; undefined if it did not take the lock. */
  readonly id?: string | undefined;
  readonly triggers: readonly Trigger[];
  /** The people who requested the run. */
  readonly askedBy: readonly string[];
  readonly mode: Mode;
  readonly startedAt: Date;
  readonly seconds: number;
  readonly result: RunResult;
  /** The time for which another run has held the lock. `isLong`: it exceeds `maxBusy`. */
  readonly busy?: { readonly seconds: number; readonly isLong: boolean } | undefined;
  readonly workspace:
    | {
        readonly name: string;
        readonly id: string;
        /** True if the state of the workspace is sealed. */
        readonly isSealed?: boolean;
      }
    | undefined;
  /** The command-line options for the workspace. */
  readonly selection?: WorkspaceSelection;
  /** The URL of the workspace page, if the public address of the page is known. */
  readonly url?: string | undefined;
  /** Labels of the resources, such as `team=sales`; undefined if no manifests could be read. */
  readonly labels?: readonly string[] | undefined;
  /** The natural keys of resources by address, such as phone numbers. */
  readonly naturalKeys?: ReadonlyMap<string, string> | undefined;
  /** The commit of the manifests in use. */
  readonly commit: string | undefined;
  /** The URL template of manifests on the host of the repository, with `{file}` and `{line}`, if known. */
  readonly files?: string | undefined;
  /** The error of a failed fetch of the newest manifests. */
  readonly fetchProblem: unknown;
  /** The problems of the newest manifests. The run then uses the last valid ones, if any. */
  readonly invalid: Invalid | undefined;
  readonly warnings: readonly Diagnostic[];
  readonly plan: PlanDocument | undefined;
  readonly drift: readonly DriftedResource[];
  readonly missing: readonly MissingResource[];
  readonly orphans: readonly Orphan[];
  readonly hold: Hold | undefined;
  readonly applied: readonly AppliedChange[];
  /** The notification receivers of the project version in use. */
  readonly notify: Receivers | undefined;
  /** The data of the drift request; undefined if the run did not update the drift request. */
  readonly request?: RequestMemory | undefined;
  readonly error: unknown;
}

export interface RunObserver {
  began?(): void;
  finished(report: RunReport): void;
  /** Called when a person pauses or resumes the runs. */
  paused?(isPaused: boolean): void;
}

/** Returns the addresses of resources whose drift was corrected; none if a pull request proposes to accept drift. */
export function correctedAddresses(report: Pick<RunReport, 'applied' | 'request'>): ReadonlySet<string> {
  return report.request === undefined ? doneAddresses(report) : new Set();
}

export function doneAddresses({ applied }: Pick<RunReport, 'applied'>): ReadonlySet<string> {
  return new Set(applied.filter(({ result }) => result.status === 'done').map(({ address }) => address));
}

export function countDone({ applied }: Pick<RunReport, 'applied'>): number {
  return applied.filter(({ result }) => result.status === 'done').length;
}

const MAX_LABELS = 500;
/** Matches the labels that are stored. Others are too long, or contain characters that databases reject. */
const LABEL = /^[^\0\p{Cs}]{1,255}$/u;

/** Returns the sorted labels of the resources as `key=value`, at most `MAX_LABELS`. */
export function labelsOf(resources: readonly Pick<Resource, 'labels'>[]): readonly string[] {
  const all = resources.flatMap(({ labels }) => Object.entries(labels));
  const named = new Set(all.map(([key, value]) => `${key}=${value}`).filter((each) => LABEL.test(each)));
  return [...named].sort().slice(0, MAX_LABELS);
}

/** Returns the natural keys that manifests declare in plain text, by address. */
export function naturalKeysOf(
  resources: readonly Pick<Resource, 'address' | 'kind' | 'spec'>[],
): ReadonlyMap<string, string> {
  const keys = resources.map(({ address, kind, spec }) => [address, kindNamed(kind)?.naturalKey?.(spec)?.key] as const);
  return new Map(keys.flatMap(([address, key]) => (key === undefined ? [] : [[address, key] as const])));
}

/** False if the run must be retried before the usual interval ends. */
export function isHealthy(result: RunResult): boolean {
  return result === 'ok' || result === 'refused' || result === 'invalid';
}

/** Returns the milliseconds until the apply window opens; undefined if no changes wait for a window. */
export function millisecondsUntilWindow({ hold }: Pick<RunReport, 'hold'>, now: Date): number | undefined {
  if (hold?.reason !== 'window' || hold.opensAt === undefined) return undefined;
  return Math.max(0, hold.opensAt.getTime() - now.getTime());
}
