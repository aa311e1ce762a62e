import { z } from 'zod';
import type { Immutable } from '../values/json.ts';

const diagnostic = z.object({
  severity: z.enum(['error', 'warning']),
  code: z.string().describe('Name of the rule.'),
  message: z.string(),
  file: z.string().describe('Relative to the project.'),
  line: z.int().optional().describe('From 1.'),
  column: z.int().optional().describe('From 1.'),
  path: z.string().optional().describe('The path inside the manifest.'),
});

export const errorDocument = z
  .object({
    error: z.object({
      message: z.string().describe('What is wrong.'),
      hint: z.string().optional().describe('What may help.'),
      exit_code: z.int().describe('Exit code of the command.'),
      diagnostics: z
        .array(diagnostic)
        .describe('What is wrong in project file and manifests, in file order.'),
      request: z
        .object({
          method: z.string(),
          path: z.string(),
          reason: z.string().describe('What went wrong with it: status, network, timeout and others.'),
          status: z.int().optional(),
          code: z.string().optional().describe("The platform's own code."),
          request_id: z.string().optional(),
          outcome: z
            .enum(['not-done', 'lost'])
            .describe('lost: the platform may have carried it out all the same.'),
        })
        .optional()
        .describe('The request to the platform that failed.'),
    }),
  })
  .describe('What a command with --output json prints in place of its result when it fails');

export type ErrorDocument = Immutable<z.infer<typeof errorDocument>>;

/** JSON Schema (draft 2020-12) of what every command prints that fails with `--output json`. */
export function errorJsonSchema(): object {
  return z.toJSONSchema(errorDocument, { target: 'draft-2020-12' });
}
