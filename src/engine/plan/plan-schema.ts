import { z } from 'zod';
import { guards, nextStep } from '../../problems/next-step.ts';
import { dashboardTemplate } from '../../project/dashboard-address.ts';
import { describedObject, jsonValue } from '../../values/described.ts';
import { actions, PLAN_FORMAT_VERSION } from './plan-actions.ts';

/* Only code that validates plans may import values from this file, because building the schemas slows down startup. */

/** Returns the schema of a flag that is true or absent. */
const flag = (description: string) => z.literal(true).optional().describe(description);

/** Returns the schema of a list of strings that is absent if it would be empty. */
const strings = (description: string) => z.array(z.string()).optional().describe(description);

export const plannedChange = describedObject('One field that differs.', {
  path: z.string().describe('The field, e.g. `prompt_config.prompt`.'),
  before: jsonValue
    .optional()
    .describe('The current value; absent for a create, for a sensitive change, and if it is not known.'),
  after: jsonValue
    .optional()
    .describe(
      'The planned value; absent for a sensitive change. `{ "unknown_until_apply": address }` stands for the id of a record not yet created.',
    ),
  cause: z.enum(['manifest', 'drift', 'both']).describe('The side that changed: the manifest, the platform, or both.'),
  verified: z.boolean().describe('False if the platform does not return the field. `before` is the value last sent.'),
  sensitive: z.boolean().describe('True for a secret.'),
  manual: flag('Present for a manual step: the API cannot make this change.'),
  not_applied: flag('Present when the value was sent before and the platform ignored it.'),
  names: z
    .record(z.string(), z.string())
    .optional()
    .describe('The addresses or platform names of the records whose ids are in `before` and `after`.'),
  referents: strings('Addresses of referenced resources with new records. Present if the manifest is unchanged.'),
  fingerprints: z
    .strictObject({ before: z.string().optional(), after: z.string().optional() })
    .optional()
    .describe('Present for a sensitive change. Equal fingerprints mean equal secrets.'),
});

export const plannedRoute = describedObject('A link from another record to this one, e.g. from a phone number.', {
  kind: z.string(),
  id: z.string().nullable().describe('Id of the other record; null before it is created.'),
  address: z.string().nullable().describe('Address of the other record; null if it is not managed.'),
  label: z.string().describe('Display name, e.g. `+12025550120 (Front desk)`.'),
  ways: z.array(z.string()).describe('The current links, e.g. `inbound`.'),
  coming: strings('Links that a manual step in this plan adds.'),
  leaving: strings('Links that a manual step in this plan removes.'),
});

export const plannedResource = describedObject('The planned action of one resource.', {
  address: z.string(),
  kind: z.string(),
  action: z.enum(actions),
  id: z.string().nullable().describe('Id of the record; null before it is created.'),
  url: z
    .string()
    .regex(/^https?:\/\//)
    .optional()
    .describe(
      'Dashboard URL of the record, or of the list if the id is unknown. Present if a person has to act in the dashboard and the workspace has the setting `dashboard`.',
    ),
  source: z
    .strictObject({ file: z.string(), line: z.int() })
    .nullable()
    .describe('The position of the manifest; null if no manifest declares the resource.'),
  reason: z.string().describe('The reason for the action, in one sentence.'),
  changes: z.array(plannedChange),
  adopted: flag('Present when an existing record is imported.'),
  missing: flag('Present when the record is missing from the platform and this plan does not recreate it.'),
  missing_since: z.string().optional().describe('ISO 8601: the time when a run first found the record missing.'),
  recreates: z
    .string()
    .optional()
    .describe('For a create: id of the missing record that it replaces (--allow-recreate).'),
  previous_address: z.string().optional().describe('The address before a rename.'),
  steps: z.array(nextStep).optional().describe('The next steps.'),
  unverified: strings('Managed fields that the platform does not return, compared with the values last sent.'),
  not_applied: strings('Fields whose last update the platform ignored. They are not in sync, and are not resent.'),
  depends_on: z.array(z.string()).describe('Addresses that must be applied first.'),
  desired: z
    .record(z.string(), jsonValue)
    .optional()
    .describe('The desired values, by path, with value forms as in a manifest.'),
  left_out: z
    .record(z.string(), z.array(z.string()))
    .optional()
    .describe('The ids of missing records that the update omits, by field.'),
  labels: z.record(z.string(), z.string()).optional().describe('metadata.labels, if there are any.'),
  ignore_drift: strings('Fields under metadata.ignore_drift: sent only when the manifest changes them.'),
  notices: strings('Notes on the record, one clause each.'),
  released: strings('Fields that were removed from the manifest.'),
  routes: z
    .array(plannedRoute)
    .optional()
    .describe('Links from other records to this one, as returned by the platform; absent if they were not read.'),
  observed_digest: z.string().optional().describe('Digest of the record from which the plan was made.'),
});

const planWarning = z.strictObject({
  address: z.string().nullable(),
  message: z.string(),
  next: z.array(nextStep).optional().describe('The next steps.'),
  may_erase: strings(
    'Fields that the update may erase, because they are neither declared nor returned by the platform. Secrets come first, then fields that are hard to restore.',
  ),
});

export const violation = describedObject('A violation of a policy by a resource.', {
  rule: z.string().describe('Name of the rule.'),
  policy_file: z.string().describe('The file that contains the rule.'),
  id: z.string().describe('Equal in all plans for one rule and resource. Waivers in saved plans refer to this id.'),
  severity: z.enum(['deny', 'warn']).describe('deny stops apply.'),
  address: z.string(),
  message: z.string(),
  source: z
    .strictObject({ file: z.string(), line: z.int(), column: z.int().optional() })
    .nullable()
    .describe(
      'The position of the field that violates the rule, or else of the manifest; null if no manifest declares the resource.',
    ),
  path: z.string().optional().describe('The field, e.g. `spec.llm_config.model`.'),
  waivable: z.literal(false).optional().describe('Present if --waive cannot lift the violation.'),
  waived: z.string().optional().describe('The reason given to --waive. Present if --waive lifts the violation.'),
});

export const planDocument = describedObject('A voxform plan', {
  format_version: z.literal(PLAN_FORMAT_VERSION),
  voxform_version: z.string(),
  workspace: z.string(),
  workspace_id: z.string(),
  base_url: z.string(),
  state: describedObject('The state from which the plan was made.', {
    lineage: z.string(),
    serial: z.int(),
    salt: z.string().describe('Key of the fingerprints of secret values.'),
  }),
  dashboard: z
    .record(z.string(), dashboardTemplate())
    .optional()
    .describe('Dashboard URL templates of records, with {id}, by kind; absent if the setting is absent.'),
  refreshed: z
    .boolean()
    .describe('False if the managed records were not read (--no-refresh). The plan is then based on the state alone.'),
  summary: z
    .strictObject(
      Object.fromEntries(actions.map((action) => [action, z.int()])) as Record<(typeof actions)[number], z.ZodInt>,
    )
    .describe('The number of resources by action.'),
  secrets: z.record(z.string(), z.string()).describe('Fingerprints of the secrets that apply sends, by name.'),
  resources: z.array(plannedResource).describe('All resources, sorted by address.'),
  guards: z
    .array(
      z.strictObject({
        guard: z.enum(guards).describe('Name of the guard.'),
        message: z.string(),
      }),
    )
    .describe('Guards that stop apply.'),
  violations: z.array(violation).optional().describe('Policy violations; absent if there are no policies.'),
  warnings: z.array(planWarning),
  digest: z.string().optional().describe('Digest of everything else in the plan, to detect edits.'),
});
