import { z } from 'zod';
import { guards, nextStep } from '../../problems/next-step.ts';
import { dashboardTemplate } from '../../project/dashboard-template.ts';
import { describedObject, jsonValue } from '../../values/described.ts';
import { actions, PLAN_FORMAT_VERSION } from './plan-actions.ts';

/* Only code that validates plans imports values of this file, because building the schemas delays the start. */

/** A flag that is true or absent. */
const flag = (description: string) => z.literal(true).optional().describe(description);

/** A list of strings that is absent if it would be empty. */
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
  verified: z.boolean().describe('False if the platform does not show the field: `before` is the value last sent.'),
  sensitive: z.boolean().describe('True for a secret.'),
  manual: flag('Present for a manual step: the API cannot make this change.'),
  not_applied: flag('Present when the value was sent before and the platform ignored it.'),
  names: z
    .record(z.string(), z.string())
    .optional()
    .describe('The addresses or platform names of the records whose ids are in `before` and `after`.'),
  referents: strings('Present when the manifest is unchanged and a resource it refers to has a new record.'),
  fingerprints: z
    .strictObject({ before: z.string().optional(), after: z.string().optional() })
    .optional()
    .describe('Present for a sensitive change. Equal fingerprints mean equal secrets.'),
});

export const plannedRoute = describedObject('A record that is linked to another, e.g. a phone number to an agent.', {
  kind: z.string(),
  id: z.string().nullable().describe('Id of the record that is linked to this one; null before it is created.'),
  address: z.string().nullable().describe('Address of that record; null if it is not managed.'),
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
      'Address in the dashboard: of the record, or of the list if its id is not known. Present if a person has to do something there and the workspace has `dashboard`.',
    ),
  source: z
    .strictObject({ file: z.string(), line: z.int() })
    .nullable()
    .describe('The position of the manifest; null if no manifest declares the resource.'),
  reason: z.string().describe('The reason for the action, in one sentence.'),
  changes: z.array(plannedChange),
  adopted: flag('Present when an existing record is imported.'),
  missing: flag('Present when the record is missing from the platform and this plan does not recreate it.'),
  missing_since: z.string().optional().describe('ISO 8601: when a run first found the record missing.'),
  recreates: z
    .string()
    .optional()
    .describe('For a create: id of the missing record that it replaces (--allow-recreate).'),
  previous_address: z.string().optional().describe('The address before a rename.'),
  steps: z.array(nextStep).optional().describe('The next steps.'),
  unverified: strings('Managed fields that the platform does not show; compared with the values last sent.'),
  not_applied: strings('Fields that were sent and that the platform ignored: not in sync, and not resent.'),
  depends_on: z.array(z.string()).describe('Addresses that must be applied first.'),
  desired: z
    .record(z.string(), jsonValue)
    .optional()
    .describe('The desired values, by path, in the forms of a manifest.'),
  left_out: z
    .record(z.string(), z.array(z.string()))
    .optional()
    .describe('The ids of missing records that the update omits, by field.'),
  labels: z.record(z.string(), z.string()).optional().describe('metadata.labels, if there are any.'),
  ignore_drift: strings('Fields under metadata.ignore_drift: sent only when the manifest changes them.'),
  notices: strings('Notes on the record, one clause each.'),
  released: strings('Fields that left the manifest.'),
  routes: z
    .array(plannedRoute)
    .optional()
    .describe('Records linked to this one, as the platform showed them; absent if they were not read.'),
  observed_digest: z.string().optional().describe('Digest of the record that the plan was made from.'),
});

const planWarning = z.strictObject({
  address: z.string().nullable(),
  message: z.string(),
  next: z.array(nextStep).optional().describe('The next steps.'),
  may_erase: strings(
    'Fields that the update may erase: neither declared nor shown. Secrets first, then fields that are hard to restore.',
  ),
});

export const violation = describedObject('A violation of a policy by a resource.', {
  rule: z.string().describe('Name of the rule.'),
  policy_file: z.string().describe('The file that contains the rule.'),
  id: z.string().describe('The same in every plan for one rule and resource. A waiver in a saved plan refers to it.'),
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
  waived: z.string().optional().describe('Present if --waive lifts the violation: the given reason.'),
});

export const planDocument = describedObject('A voxform plan', {
  format_version: z.literal(PLAN_FORMAT_VERSION),
  voxform_version: z.string(),
  workspace: z.string(),
  workspace_id: z.string(),
  base_url: z.string(),
  state: describedObject('The state that the plan was made from.', {
    lineage: z.string(),
    serial: z.int(),
    salt: z.string().describe('Key of the fingerprints of secret values.'),
  }),
  dashboard: z
    .record(z.string(), dashboardTemplate())
    .optional()
    .describe('URL templates of records in the dashboard, with {id}, by kind; absent without the setting.'),
  refreshed: z
    .boolean()
    .describe('False if the records were not read (--no-refresh): the plan is from the state alone.'),
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
