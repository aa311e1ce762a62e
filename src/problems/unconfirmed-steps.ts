import type { NextStep } from './next-step.ts';

/** The next steps for several unknown creates without candidates. */
export const UNCONFIRMED_CREATE_STEPS: readonly NextStep[] = [
  { action: 'import', address: 'ADDRESS', id: null, reason: 'found' },
  { action: 'resolve_not_created', address: 'all' },
];
