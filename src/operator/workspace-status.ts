/** The statuses of a workspace, most urgent first. */
export const workspaceStatuses = [
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
] as const;

export type WorkspaceStatus = (typeof workspaceStatuses)[number];

/** The status of a workspace after a run. It does not depend on the current time or on decisions of people. */
export type RunStatus = Exclude<WorkspaceStatus, 'vanished' | 'stale' | 'paused' | 'never-run'>;

/** Reasons for attention: possibly duplicate or lost records, refused plans and, without other problems, orphans and manual steps. */
export const needs = ['records', 'refused', 'steps'] as const;

export type Need = (typeof needs)[number];

/** The permitted actions of a run: `report` only reports, `apply` applies, `approve` applies plans that a person approved. */
export const modes = ['report', 'apply', 'approve'] as const;

export type Mode = (typeof modes)[number];
