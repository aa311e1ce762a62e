import type { RunStatus } from './rows/run-rows.ts';

/** The current status of a workspace. */
export const shownStatuses = [
  'failed',
  'invalid',
  'waiting',
  'vanished',
  'stale',
  'drifted',
  'pending',
  'paused',
  'never-run',
  'in-sync',
] as const satisfies readonly (RunStatus | 'vanished' | 'stale' | 'paused' | 'never-run')[];

export type ShownStatus = (typeof shownStatuses)[number];
