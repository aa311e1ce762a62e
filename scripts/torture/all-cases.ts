import { badInputCases } from './bad-inputs.ts';
import { badStateCases } from './bad-states.ts';
import type { Case } from './cases.ts';
import { diskCases } from './disk.ts';
import { guardCases } from './guards.ts';
import { interruptCases } from './interrupts.ts';
import { lockCases } from './locks.ts';
import { migrationCases } from './migrations.ts';
import { outageCases } from './outages.ts';
import { savedPlanCases } from './saved-plans.ts';
import { wireCases } from './wire.ts';
import { wrongPlatformCases } from './wrong-platform.ts';

/** Everything but the kills. */
export const allCases: readonly Case[] = [
  ...wireCases,
  ...wrongPlatformCases,
  ...outageCases,
  ...diskCases,
  ...badStateCases,
  ...lockCases,
  ...savedPlanCases,
  ...guardCases,
  ...interruptCases,
  ...migrationCases,
  ...badInputCases,
];
