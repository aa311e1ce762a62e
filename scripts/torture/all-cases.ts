import type { Case } from './cases.ts';
import * as topics from './topics.ts';

/** Everything but the kills. */
export const allCases: readonly Case[] = Object.values(topics).flat();
