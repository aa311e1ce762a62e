import type { NextStep } from '../../problems/next-step.ts';
import type { Advice } from '../../problems/user-error.ts';
import type { Action } from '../plan/plan-actions.ts';
import { type PlanDocument, type PlannedResource, type PlanWarning, renamedIn } from '../plan/plan-document.ts';

export type ResourceResult =
  | {
      readonly status: 'done';
      readonly id: string | null;
      /** Fields that kept the platform's own value; absent if there are none. */
      readonly notApplied?: readonly string[];
    }
  | Failure
  /** Not reached. `because` is the reason, such as `Agent/x failed`. */
  | { readonly status: 'skipped'; readonly because: string };

export interface Failure {
  readonly status: 'failed';
  readonly error: string;
  /** The error for the history, if its text differs. */
  readonly recorded?: string;
  readonly hint?: string | undefined;
  /** The hint, with its commands as data. */
  readonly advice?: Advice | undefined;
  readonly next?: readonly NextStep[];
}

export interface ApplyReport {
  readonly plan: PlanDocument;
  /** By address: every resource whose action is create, update, replace, adopt or forget. */
  readonly results: ReadonlyMap<string, ResourceResult>;
  /** Warnings of the plan and of the answers. */
  readonly warnings: readonly PlanWarning[];
  readonly interrupted: 'SIGINT' | 'SIGTERM' | undefined;
  /** The reason why no further write was started, as a clause; absent after an interruption, which reports itself. */
  readonly halted?: string;
  /** The error of the state, if it stopped the apply. */
  readonly stateError?: string;
}

export type ApplyEvent =
  | { readonly type: 'started'; readonly address: string; readonly action: Action }
  | {
      readonly type: 'finished';
      readonly address: string;
      readonly action: Action;
      readonly result: ResourceResult;
    };

/** Recorded renames without another change. A run that ended early records none. */
export function renamedBy({ plan, halted, interrupted }: ApplyReport): readonly PlannedResource[] {
  return halted === undefined && interrupted === undefined ? renamedIn(plan.resources) : [];
}
