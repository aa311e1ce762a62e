/** The statuses of a resource. All but the first need attention. */
export const syncStatuses = [
  /** Fields that the platform does not return are assumed to have the last sent value. */
  'in sync',
  /** Applied, but callers hear an older version until a person publishes the draft. */
  'unpublished',
  /** Sent, but the platform kept its own value of some fields. */
  'not applied',
  'drifted',
  /** The manifest has changed or was never applied. */
  'changed',
  'undeclared',
  'manual',
  'blocked',
  'unknown',
] as const;

export type SyncStatus = (typeof syncStatuses)[number];
