import type { NextStep } from './next-step.ts';

/** For several unknown creates without candidates. */
export const STEPS_OF_UNCONFIRMED: readonly NextStep[] = [
  { action: 'import', address: 'ADDRESS', id: null, reason: 'found' },
  { action: 'resolve_not_created', address: 'all' },
];
