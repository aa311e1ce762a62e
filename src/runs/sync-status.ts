/** How a resource can stand. Only the first two need nobody. */
export const syncStatuses = [
  'in sync',
  /** In sync according to the state: the platform does not show all of it. */
  'unverified',
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
