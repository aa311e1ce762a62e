/* What the campaign does, kills apart: a file and a line for each topic. */
export { badInputCases } from './bad-inputs.ts';
export { badStateCases } from './bad-states.ts';
export { dashboardCases } from './dashboard.ts';
export { diskCases } from './disk.ts';
export { guardCases } from './guards.ts';
export { ignoredUpdateCases } from './ignored-updates.ts';
export { interruptCases } from './interrupts.ts';
export { lateAndGatewayCases } from './late-and-gateways.ts';
export { lockCases } from './locks.ts';
export { migrationCases } from './migrations.ts';
export { moveCases } from './moves.ts';
export { olderStateCases } from './older-states.ts';
export { outageCases } from './outages.ts';
export { savedPlanCases } from './saved-plans.ts';
export { surroundingCases } from './surroundings.ts';
export { wireCases } from './wire.ts';
export { wrongPlatformCases } from './wrong-platform.ts';
