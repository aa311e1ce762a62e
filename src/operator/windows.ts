import { Cron } from 'croner';
import type { ApplyWindow } from '../project/watch-schema.ts';

/** Whether changes may be applied now, or when they may next. */
export type WindowState =
  | { readonly open: true }
  | { readonly open: false; readonly opensAt: Date | undefined };

/** The state of the windows at a time. Without windows, always open. A window lasts its full duration, also when clocks change. */
export function windowState(windows: readonly ApplyWindow[], now: Date): WindowState {
  if (windows.length === 0 || windows.some((window) => isOpen(window, now))) return { open: true };
  const openings = windows.flatMap((window) => opening(window, now) ?? []);
  const first = Math.min(...openings.map((date) => date.getTime()));
  return { open: false, opensAt: Number.isFinite(first) ? new Date(first) : undefined };
}

/** True if an opening is at most the duration ago. */
function isOpen(window: ApplyWindow, now: Date): boolean {
  // The expression counts whole seconds and searches after a time, not at it.
  const since = new Date(now.getTime() - window.seconds * 1000);
  const opened = opening(window, since);
  return opened !== undefined && opened.getTime() <= now.getTime();
}

function opening({ cron, timeZone }: ApplyWindow, after: Date): Date | undefined {
  return new Cron(cron, { mode: '5-part', timezone: timeZone, paused: true }).nextRun(after) ?? undefined;
}
