import { z } from 'zod';
import { diagnosticSchema } from '../runs/plans-document.ts';
import type { Immutable } from '../values/json.ts';

export const errorDocument = z
  .object({
    error: z.object({
      message: z.string().describe('The message.'),
      hint: z.string().optional().describe('How to fix it.'),
      exit_code: z.int().describe('Exit code of the command.'),
      diagnostics: z.array(diagnosticSchema).describe('Problems in the project file and the manifests, in file order.'),
      request: z
        .object({
          method: z.string(),
          path: z.string(),
          reason: z.string().describe('The type of failure, e.g. status (an HTTP error), network or timeout.'),
          status: z.int().optional(),
          code: z.string().optional().describe("The platform's error code."),
          request_id: z.string().optional(),
          outcome: z.enum(['not-done', 'lost']).describe('lost: the request may still have succeeded.'),
        })
        .optional()
        .describe('The request to the platform that failed.'),
    }),
  })
  .describe('The output of a failed command with --output json');

export type ErrorDocument = Immutable<z.infer<typeof errorDocument>>;
