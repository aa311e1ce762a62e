/** The statuses of a resource. Only the first needs nobody. */
export const syncStatuses = [
  /** Fields that the platform does not show count as last sent. */
  'in sync',
  /** Applied, and what callers hear is older: somebody must publish it. */
  'unpublished',
  /** Sent, and the platform kept its own value of some of it. */
  'not applied',
  'drifted',
  /** The manifest changed, or was never applied. */
  'changed',
  'undeclared',
  'manual',
  'blocked',
  'unknown',
] as const;

export type SyncStatus = (typeof syncStatuses)[number];
