import { z } from 'zod';
import { planDocument } from '../engine/plan/plan-schema.ts';
import type { Diagnostic } from '../problems/diagnostic.ts';
import { describedObject } from '../values/described.ts';
import type { Immutable } from '../values/json.ts';

/* The plans of several workspaces, with the errors of workspaces that could not be planned. */

export const PLANS_FORMAT_VERSION = 1;

/** A `Diagnostic` as JSON. */
export const diagnosticSchema = z.strictObject({
  severity: z.enum(['error', 'warning']),
  code: z.string().describe('A stable short name of the rule, e.g. `unknown-field`.'),
  message: z.string(),
  file: z.string().describe('Relative to the project folder.'),
  line: z.int().optional(),
  column: z.int().optional(),
  path: z.string().optional().describe('The path inside the manifest.'),
  fix: z
    .union([
      z.strictObject({
        instead: z
          .array(z.union([z.string(), z.record(z.string(), z.string())]))
          .describe('Likely corrections, the most likely first.'),
      }),
      z.strictObject({ quotes: z.enum(['add', 'remove']) }),
    ])
    .optional()
    .describe('The correction at this position.'),
});

const workspaceFailure = describedObject('A workspace that could not be planned.', {
  workspace: z.string(),
  message: z.string().describe('Error message.'),
  hint: z.string().optional().describe('Hint for fixing it.'),
  diagnostics: z.array(diagnosticSchema).optional().describe('Diagnostics of invalid manifests.'),
});

export const plansDocument = describedObject('The plans of several workspaces', {
  format_version: z.literal(PLANS_FORMAT_VERSION),
  voxform_version: z.string(),
  plans: z.array(planDocument).describe('One per workspace, in the order of the run.'),
  failures: z.array(workspaceFailure),
});

export interface WorkspaceFailure {
  readonly workspace: string;
  readonly message: string;
  readonly hint?: string;
  readonly diagnostics?: readonly Diagnostic[];
}

export type PlansDocument = Omit<Immutable<z.infer<typeof plansDocument>>, 'failures'> & {
  readonly failures: readonly WorkspaceFailure[];
};
