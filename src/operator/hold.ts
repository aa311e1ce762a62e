import { Cron } from 'croner';
import { approvalDigest } from '../engine/plan/plan-digest.ts';
import type { PlanDocument } from '../engine/plan/plan-document.ts';
import { denials } from '../policies/waivers.ts';
import type { ApplyWindow } from '../project/watch-schema.ts';
import { unliftedGuards } from '../runs/apply-plan.ts';
import { changesIn } from '../runs/planning.ts';
import type { GuardOptions } from '../runs/run-context.ts';
import type { FleetFrozen } from './messages.ts';
import type { Hold } from './run-report.ts';
import type { Mode } from './workspace-status.ts';

/** The rules that decide whether a plan may be applied. */
export interface ApplyPolicy extends GuardOptions {
  readonly mode: Mode;
  /** In mode `approve`: the `approvalDigest` of the only plan that may be applied. */
  readonly approved?: { readonly digest: string; readonly by: string } | undefined;
}

interface HoldFacts {
  readonly policy: ApplyPolicy;
  readonly address: string;
  /** The addresses of resources that may be in a half-written file. */
  readonly leaving: readonly string[];
  readonly isStopping: boolean;
  readonly frozen: FleetFrozen | undefined;
  window(): WindowState;
  /** True if a file has changed since the last run read the files. */
  hasUnreadChanges(): boolean;
}

/** Returns the reason why a plan must not be applied now; undefined if it may be applied. */
export function holdOf(
  document: PlanDocument,
  { policy, address, leaving, window, isStopping, frozen, hasUnreadChanges }: HoldFacts,
): Hold | undefined {
  const denied = denials(document.violations);
  if (policy.mode === 'report') return { reason: 'report', denied };
  const tripped = unliftedGuards(document.guards, policy);
  const isRefused = tripped.length + denied.length > 0;
  if (policy.mode === 'approve' && !isRefused && changesIn(document) > 0) {
    const digest = approvalDigest(document);
    if (digest !== policy.approved?.digest) return { reason: 'approval', digest, address };
  }
  const state = window();
  if (!state.open) return { reason: 'window', opensAt: state.opensAt };
  if (denied.length > 0) return { reason: 'policy', violations: denied };
  if (tripped.length > 0) return { reason: 'guard', guards: tripped };
  if (frozen !== undefined) return { reason: 'frozen', by: frozen.by, because: frozen.because };
  if (isStopping) return { reason: 'stopping' };
  if (hasUnreadChanges()) return { reason: 'changing' };
  return leaving.length > 0 ? { reason: 'leaving', addresses: leaving } : undefined;
}

/** The state of the apply windows: open, or the time of the next opening. */
type WindowState = { readonly open: true } | { readonly open: false; readonly opensAt: Date | undefined };

/** Returns the state of the apply windows; always open if there are none. A daylight saving time change does not shorten a window. */
export function windowState(windows: readonly ApplyWindow[], now: Date): WindowState {
  if (windows.length === 0 || windows.some((window) => isOpen(window, now))) return { open: true };
  const openings = windows.flatMap((window) => nextOpening(window, now) ?? []);
  const first = Math.min(...openings.map((date) => date.getTime()));
  return { open: false, opensAt: Number.isFinite(first) ? new Date(first) : undefined };
}

/** True if the time since the window opened is at most the duration of the window. */
function isOpen(window: ApplyWindow, now: Date): boolean {
  // The cron library uses whole seconds, and searches for a time that is later than the given time.
  const since = new Date(now.getTime() - window.seconds * 1000);
  const opened = nextOpening(window, since);
  return opened !== undefined && opened.getTime() <= now.getTime();
}

function nextOpening({ cron, timeZone }: ApplyWindow, after: Date): Date | undefined {
  return new Cron(cron, { mode: '5-part', timezone: timeZone, paused: true }).nextRun(after) ?? undefined;
}
