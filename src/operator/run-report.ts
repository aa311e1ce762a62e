import type { ResourceResult } from '../engine/apply/apply-report.ts';
import type { Action } from '../engine/plan/plan-actions.ts';
import type { PlanDocument, Violation } from '../engine/plan/plan-document.ts';
import type { Resource } from '../manifests/resource.ts';
import type { Diagnostic } from '../problems/diagnostic.ts';
import type { Reach } from '../problems/workspace-command.ts';
import type { KeptRequest } from '../runs/drift-request/keep-request.ts';
import type { Orphan } from '../state/state-document.ts';
import type { Trigger } from './loop.ts';
import type { Receivers } from './notifications/receiver.ts';

/**
 * What came of a run. `invalid`: there are no manifests that could be used. `refused`: a guard or a policy stands in the way. `busy`: another run
 * holds the state.
 */
export const runResults = ['ok', 'failed', 'invalid', 'refused', 'busy', 'interrupted'] as const;

type RunResult = (typeof runResults)[number];

export type WatchMode = 'report' | 'apply' | 'approve';

/** Why changes that a plan has are not carried out by this run. */
export type Hold =
  | { readonly why: 'changing' | 'stopping' }
  | { readonly why: 'report'; readonly denied: readonly Violation[] }
  | { readonly why: 'window'; readonly opensAt: Date | undefined }
  | { readonly why: 'guard'; readonly guards: PlanDocument['guards'] }
  | { readonly why: 'policy'; readonly violations: readonly Violation[] }
  /** A person must approve the plan with that digest, of that workspace. */
  | { readonly why: 'approval'; readonly digest: string; readonly address: string }
  /** They left the manifests just now: a file may be half written. */
  | { readonly why: 'leaving'; readonly addresses: readonly string[] };

/** What of one record changed on the platform since the last apply. */
export interface DriftedResource {
  readonly address: string;
  /** Empty where another record was found by its natural key. */
  readonly fields: readonly string[];
  /** A digest of what the platform shows in them: equal while the drift stays the same. */
  readonly digest: string;
}

/** A record that the platform does not show. No watch makes it again. */
export interface MissingResource {
  readonly address: string;
  readonly id: string | null;
  /** ISO 8601; undefined where this run is the first to miss it. */
  readonly since: string | undefined;
}

export interface AppliedChange {
  readonly address: string;
  readonly action: Action;
  readonly result: ResourceResult;
}

/** Manifests that cannot be used. */
export interface Invalid {
  readonly diagnostics: readonly Diagnostic[];
  /** Where there are no diagnostics. */
  readonly error: unknown;
}

/** What a run leaves of the request of its workspace for the next one, as plain data. */
export interface RequestMemory {
  /** Of the proposal that is on the host. */
  readonly key?: string | undefined;
  readonly kept?: KeptRequest | undefined;
  /** In a row. */
  readonly failures: number;
  /** Why the last one failed. */
  readonly problem?: string | undefined;
  /** ISO 8601: not before then. */
  readonly retryAt?: string | undefined;
}

export interface RunReport {
  /** From 1. */
  readonly number: number;
  /** In the history; undefined where it took no lock. */
  readonly id?: string | undefined;
  readonly triggers: readonly Trigger[];
  /** People who asked for it. */
  readonly askedBy: readonly string[];
  readonly mode: WatchMode;
  readonly startedAt: Date;
  readonly seconds: number;
  readonly result: RunResult;
  /** Since another run was first found to hold the state, until the lock is seen free; long after two intervals. */
  readonly busy?: { readonly seconds: number; readonly isLong: boolean } | undefined;
  readonly workspace: { readonly name: string; readonly id: string } | undefined;
  /** What a command needs to mean that workspace. */
  readonly reach?: Reach;
  /** Of the resources, as `team=sales`; undefined where no manifests could be read. */
  readonly labels?: readonly string[] | undefined;
  /** That the manifests in force are of. */
  readonly commit: string | undefined;
  /** Why the newest manifests could not be fetched. */
  readonly fetchProblem: unknown;
  /** What is wrong with the newest manifests; the last good ones are in force then, where there are any. */
  readonly invalid: Invalid | undefined;
  readonly warnings: readonly Diagnostic[];
  readonly plan: PlanDocument | undefined;
  readonly drift: readonly DriftedResource[];
  readonly missing: readonly MissingResource[];
  /** Open ones, as the run left them. */
  readonly orphans: readonly Orphan[];
  readonly hold: Hold | undefined;
  readonly applied: readonly AppliedChange[];
  /** Whom the manifests in force want told. */
  readonly notify: Receivers | undefined;
  /** How the request stands that accepts the drift; undefined where none is kept, or the run did not come to it. */
  readonly request?: RequestMemory | undefined;
  /** What made it fail. */
  readonly error: unknown;
}

export interface RunObserver {
  began?(): void;
  finished(report: RunReport): void;
  /** Told when a person pauses the runs, or resumes them. */
  paused?(isPaused: boolean): void;
}

/** Addresses whose drift the run has corrected: none where it is left to a request. */
export function correctedIn(report: Pick<RunReport, 'applied' | 'request'>): ReadonlySet<string> {
  return report.request === undefined ? doneAddresses(report) : new Set();
}

export function doneAddresses({ applied }: Pick<RunReport, 'applied'>): ReadonlySet<string> {
  return new Set(applied.filter(({ result }) => result.status === 'done').map(({ address }) => address));
}

export function doneIn({ applied }: Pick<RunReport, 'applied'>): number {
  return applied.filter(({ result }) => result.status === 'done').length;
}

const MOST_LABELS = 500;
/** Longer ones are left out, and those that no database takes. */
const LABEL = /^[^\0\p{Cs}]{1,255}$/u;

/** As a report has them. */
export function labelsOf(resources: readonly Pick<Resource, 'labels'>[]): readonly string[] {
  const all = resources.flatMap(({ labels }) => Object.entries(labels));
  const named = new Set(all.map(([key, value]) => `${key}=${value}`).filter((each) => LABEL.test(each)));
  return [...named].sort().slice(0, MOST_LABELS);
}
