import type { NextStep } from '../../problems/next-step.ts';
import type { Advice } from '../../problems/user-error.ts';
import type { Action } from '../plan/plan-actions.ts';
import { type PlanDocument, type PlannedResource, type PlanWarning, renamedIn } from '../plan/plan-document.ts';

export type ResourceResult =
  | {
      readonly status: 'done';
      readonly id: string | null;
      /** Fields for which the platform kept its own value; absent if there are none. */
      readonly notApplied?: readonly string[];
    }
  | Failure
  /** The resource was not started. `because` is the reason, such as `Agent/x failed`. */
  | { readonly status: 'skipped'; readonly because: string };

export interface Failure {
  readonly status: 'failed';
  readonly error: string;
  /** The text for the history, if it differs from `error`. */
  readonly recorded?: string;
  readonly hint?: string | undefined;
  /** The hint, with its commands as data. */
  readonly advice?: Advice | undefined;
  readonly next?: readonly NextStep[];
}

export interface ApplyReport {
  readonly plan: PlanDocument;
  /** The results by address, for every resource whose action is create, update, replace, adopt or forget. */
  readonly results: ReadonlyMap<string, ResourceResult>;
  /** Warnings of the plan and of the responses. */
  readonly warnings: readonly PlanWarning[];
  readonly interrupted: 'SIGINT' | 'SIGTERM' | undefined;
  /** The reason why no further write was started, as a clause; absent after an interruption, which is in `interrupted`. */
  readonly halted?: string;
  /** The error from writing the state, if it stopped the apply. */
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

/** Returns the resources whose rename was recorded and that had no other change. A run that ended early records no such renames. */
export function renamedBy({ plan, halted, interrupted }: ApplyReport): readonly PlannedResource[] {
  return halted === undefined && interrupted === undefined ? renamedIn(plan.resources) : [];
}
