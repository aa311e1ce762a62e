import { approvalDigest } from '../engine/plan/approval-digest.ts';
import type { PlanDocument } from '../engine/plan/plan-document.ts';
import { denials } from '../policies/waivers.ts';
import { unliftedGuards } from '../runs/apply-plan.ts';
import { changesIn } from '../runs/planning.ts';
import type { GuardOptions } from '../runs/run-context.ts';
import type { Hold, WatchMode } from './run-report.ts';
import type { WindowState } from './windows.ts';

/** Which plans may be applied. */
export interface ApplyPolicy extends GuardOptions {
  readonly mode: WatchMode;
  /** In mode `approve`: the `approvalDigest` of the only plan that may be applied. */
  readonly approved?: { readonly digest: string; readonly by: string } | undefined;
}

interface HoldFacts {
  readonly policy: ApplyPolicy;
  /** Of the workspace. */
  readonly address: string;
  /** Resources that may be in a half-written file. */
  readonly leaving: readonly string[];
  readonly isStopping: boolean;
  window(): WindowState;
  /** True if files have changed that no run has read yet. */
  hasNews(): boolean;
}

/** Why nothing of a plan may be written now; undefined if it may be applied. */
export function holdOf(
  document: PlanDocument,
  { policy, address, leaving, window, isStopping, hasNews }: HoldFacts,
): Hold | undefined {
  const denied = denials(document.violations);
  if (policy.mode === 'report') return { why: 'report', denied };
  const tripped = unliftedGuards(document.guards, policy);
  const isRefused = tripped.length + denied.length > 0;
  if (policy.mode === 'approve' && !isRefused && changesIn(document) > 0) {
    const digest = approvalDigest(document);
    if (digest !== policy.approved?.digest) return { why: 'approval', digest, address };
  }
  const state = window();
  if (!state.open) return { why: 'window', opensAt: state.opensAt };
  if (denied.length > 0) return { why: 'policy', violations: denied };
  if (tripped.length > 0) return { why: 'guard', guards: tripped };
  if (isStopping) return { why: 'stopping' };
  if (hasNews()) return { why: 'changing' };
  return leaving.length > 0 ? { why: 'leaving', addresses: leaving } : undefined;
}
