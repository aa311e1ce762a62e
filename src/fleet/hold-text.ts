import type { Hold } from '../operator/run-report.ts';
import type { ShownWorkspace } from './rows/status-rows.ts';

const holdWords = {
  report: 'the mode is report',
  window: 'no window is open',
  guard: 'a guard holds them',
  policy: 'a policy denies them',
  approval: 'the plan was rejected',
} as const satisfies Partial<Record<Hold['why'], string>>;

/** Why a run left changes, such as `the plan was rejected by ann`; undefined if it left none. */
export function holdText(hold: unknown, rejected: ShownWorkspace['rejected']): string | undefined {
  if (rejected !== null) return `${holdWords.approval} by ${rejected.by}`;
  return Object.hasOwn(holdWords, String(hold)) ? holdWords[hold as keyof typeof holdWords] : undefined;
}
