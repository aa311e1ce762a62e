import type { Case } from './cases.ts';
import * as topics from './topics.ts';

/** All cases except the kills of `kills.ts`. */
export const allCases: readonly Case[] = Object.values(topics).flat();
