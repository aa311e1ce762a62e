import { z } from 'zod';
import { about, describedObject } from '../values/described.ts';
import type { Immutable } from '../values/json.ts';
import { lazy } from '../values/lazy.ts';

const condition = (description: string, example: string) =>
  z
    .string()
    .min(1)
    .meta({ description, examples: [example] })
    .optional();

const policySchema = lazy(() =>
  z
    .strictObject({
      name: z
        .string()
        .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, {
          error: 'expected a name of up to 63 lower-case letters, digits and "-"',
        })
        .meta({ description: 'Name of the rule, for reports and --waive.', examples: ['calls-end'] }),
      on: z
        .enum(['manifest', 'plan'])
        .meta({
          description:
            'manifest (default): the rule runs for each manifest, in validate and plan. plan: the rule runs for each resource of a plan.',
          examples: ['plan'],
        })
        .optional(),
      kind: z
        .string()
        .meta({ description: 'Only resources of this kind; default: all.', examples: ['Agent'] })
        .optional(),
      deny: condition(
        'CEL condition. Apply stops if the condition is true for a resource.',
        '!has(spec.call_config.max_call_duration_ms)',
      ),
      warn: condition('CEL condition. voxform warns if it is true for a resource.', 'now.getDayOfWeek() == 5'),
      message: z
        .string()
        .min(1)
        .max(500)
        .meta(about('The message that is reported.', 'Limit calls to 30 minutes.'))
        .optional(),
      waivable: z
        .boolean()
        .meta({ description: 'If false, --waive cannot waive the rule. Default: true.', examples: [false] })
        .optional(),
    })
    .refine(({ deny, warn }) => (deny === undefined) !== (warn === undefined), {
      error: 'expected either deny or warn',
    })
    .describe('A policy rule.'),
);

const MAX_POLICIES = 200;

export const policiesSchema = lazy(() =>
  z
    .array(policySchema())
    .min(1)
    .max(MAX_POLICIES)
    .superRefine((policies, context) => {
      for (const [index, { name }] of policies.entries()) {
        if (policies.findIndex((each) => each.name === name) === index) continue;
        context.addIssue({
          code: 'custom',
          message: `two rules are named ${JSON.stringify(name)}`,
          path: [index, 'name'],
        });
      }
    })
    .meta({
      description: 'Policy rules for manifests and plans, in CEL.',
      examples: [
        [
          {
            name: 'calls-end',
            deny: '!has(spec.call_config.max_call_duration_ms)',
            message: 'Set call_config.max_call_duration_ms.',
          },
        ],
      ],
    }),
);

/** The schema of a file that is passed with `--policy`. */
export const policyFileSchema = lazy(() =>
  describedObject('Policy rules that apply in addition to the rules of the project.', {
    version: z.literal(1).describe('Format of this file.').optional(),
    policies: policiesSchema(),
  }),
);

/** Returns the rules. Replaces an invalid rule with one that never applies, so that later rules keep their indices. */
export function usablePolicies(policies: unknown): Policy[] {
  if (!Array.isArray(policies)) return [];
  return policies.slice(0, MAX_POLICIES).map((policy, index) => {
    const parsed = policySchema().safeParse(policy);
    return parsed.success ? parsed.data : { name: `stand-in-${index}`, deny: 'false' };
  });
}

export type Policy = Immutable<z.infer<ReturnType<typeof policySchema>>>;
