import type { Case } from './cases.ts';
import { wireCases } from './wire.ts';
import { wrongPlatformCases } from './wrong-platform.ts';

/** Everything but the kills. */
export const allCases: readonly Case[] = [...wireCases, ...wrongPlatformCases];
