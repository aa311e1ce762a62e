export const PLAN_FORMAT_VERSION = 1;

export const actions = [
  'create',
  'update',
  'replace',
  'adopt',
  'forget',
  'manual',
  'blocked',
  'unknown',
  'noop',
] as const;

export type Action = (typeof actions)[number];
/** The actions that change the platform, the state, or both. */
export const writes: ReadonlySet<Action> = new Set(['create', 'update', 'replace', 'adopt', 'forget']);
