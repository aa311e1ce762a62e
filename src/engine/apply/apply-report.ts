import type { NextStep } from '../../problems/next-step.ts';
import type { Advice } from '../../problems/user-error.ts';
import type { Action } from '../plan/plan-actions.ts';
import type { PlanDocument, PlanWarning } from '../plan/plan-document.ts';

export type ResourceResult =
  | {
      readonly status: 'done';
      readonly id: string | null;
      /** Fields of which the platform kept its own value; present only where there are any. */
      readonly notApplied?: readonly string[];
    }
  | Failure
  /** Not reached; `because` names the reason, e.g. `Agent/x failed`. */
  | { readonly status: 'skipped'; readonly because: string };

export interface Failure {
  readonly status: 'failed';
  readonly error: string;
  /** The error as a history keeps it, where that is another text. */
  readonly recorded?: string;
  readonly hint?: string | undefined;
  /** The hint, its commands as data. */
  readonly advice?: Advice | undefined;
  /** What helps, as data. */
  readonly next?: readonly NextStep[];
}

export interface ApplyReport {
  readonly plan: PlanDocument;
  /** By address: every resource whose action is create, update, replace, adopt or forget. */
  readonly results: ReadonlyMap<string, ResourceResult>;
  /** The plan's warnings and those of the answers. */
  readonly warnings: readonly PlanWarning[];
  readonly interrupted: 'SIGINT' | 'SIGTERM' | undefined;
  /** Why nothing new was started before the end, as a clause; absent after an interruption, which says so itself. */
  readonly halted?: string;
  /** What the state failed with, where that halted it. */
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
