import { z } from 'zod';
import { globProblem } from '../manifests/glob.ts';

/** Returns the schema of a glob. */
export function globSetting() {
  return z
    .string()
    .min(1)
    .refine((text) => globProblem(text) === undefined, { error: ({ input }) => globProblem(String(input)) });
}
