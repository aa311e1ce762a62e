import { z } from 'zod';
import { type Immutable, jsonValue } from '../../values/json.ts';

/*
 * The plan: plain data, the same value that is printed, saved and applied. It holds no secret.
 */

export const PLAN_FORMAT_VERSION = 1;

export const actions = [
  'create',
  'update',
  'replace',
  'adopt',
  'forget',
  'manual',
  'blocked',
  'unknown',
  'noop',
] as const;

const leafValue = jsonValue;

export const plannedChange = z
  .strictObject({
    path: z.string().describe('The field, e.g. `prompt_config.prompt`.'),
    before: leafValue
      .optional()
      .describe('The value now; absent for a create, for a sensitive change, and where nobody knows it.'),
    after: leafValue
      .optional()
      .describe(
        'The value to be; absent for a sensitive change. `{ "unknown_until_apply": address }` stands for an id.',
      ),
    cause: z.enum(['manifest', 'drift', 'both']).describe('Who moved: the manifest, the platform, or both.'),
    verified: z
      .boolean()
      .describe('False where the platform does not show the field, so that `before` is from memory.'),
    sensitive: z.boolean().describe('True where the value is secret.'),
    manual: z.literal(true).optional().describe('Present when only a person can make this change.'),
    not_applied: z
      .literal(true)
      .optional()
      .describe('Present when it was sent before, and the platform kept its own value.'),
    names: z
      .record(z.string(), z.string())
      .optional()
      .describe('Of ids in `before` and `after`: the address of the record, or its name on the platform.'),
    referents: z
      .array(z.string())
      .optional()
      .describe('Present where the manifest is as it was: what it refers to has a new record.'),
    fingerprints: z
      .strictObject({ before: z.string().optional(), after: z.string().optional() })
      .optional()
      .describe('Of a sensitive change: tell whether two secrets are the same, not what they are.'),
  })
  .describe('One field that differs.');

export const plannedRoute = z
  .strictObject({
    kind: z.string(),
    id: z.string().nullable().describe('Of the record that leads here; null where it is yet to be created.'),
    address: z.string().nullable().describe('Where that record is managed; null where it is not.'),
    label: z.string().describe('What people know it by, e.g. `+12025550120 (Front desk)`.'),
    ways: z.array(z.string()).describe('How it leads here now, e.g. `inbound`.'),
    coming: z.array(z.string()).optional().describe('Ways that a step by hand in this plan adds.'),
    leaving: z.array(z.string()).optional().describe('Ways that a step by hand in this plan takes away.'),
  })
  .describe('A record that leads to another one, e.g. a phone number to an agent.');

export const plannedResource = z
  .strictObject({
    address: z.string(),
    kind: z.string(),
    action: z.enum(actions),
    id: z.string().nullable().describe('Of the record; null where there is none yet.'),
    source: z
      .strictObject({ file: z.string(), line: z.int() })
      .nullable()
      .describe('Where it is declared; null when no manifest declares it any more.'),
    reason: z.string().describe('Why this action, in one sentence.'),
    changes: z.array(plannedChange),
    adopted: z
      .literal(true)
      .optional()
      .describe('Present when an existing record is taken under management.'),
    missing: z
      .literal(true)
      .optional()
      .describe('Present when the platform says that it has no such record, and nothing is done about it.'),
    missing_since: z
      .string()
      .optional()
      .describe('ISO 8601: when a run that keeps the state first found that.'),
    recreates: z
      .string()
      .optional()
      .describe(
        'Of a create: id of the missing record whose place the new one takes, as --allow-recreate allows.',
      ),
    previous_address: z.string().optional().describe('The address it was managed under before a rename.'),
    steps: z.array(z.string()).optional().describe('What a person must do, a sentence each.'),
    unverified: z
      .array(z.string())
      .optional()
      .describe('Managed fields that the platform does not show, so that they were compared with memory.'),
    not_applied: z
      .array(z.string())
      .optional()
      .describe(
        'Fields that were sent and of which the platform kept its own value: neither in sync nor sent again.',
      ),
    depends_on: z.array(z.string()).describe('Addresses that must be applied first.'),
    desired: z
      .record(z.string(), leafValue)
      .optional()
      .describe('What will be sent from, by path, in the forms of a manifest.'),
    left_out: z
      .record(z.string(), z.array(z.string()))
      .optional()
      .describe('By field: ids of missing records, which an update leaves out of what the platform shows.'),
    ignore_drift: z
      .array(z.string())
      .optional()
      .describe('Fields that others may move: sent only where the manifest changed them.'),
    notices: z
      .array(z.string())
      .optional()
      .describe('What a person should know of the record, a clause each.'),
    released: z.array(z.string()).optional().describe('Fields that left the manifest.'),
    routes: z
      .array(plannedRoute)
      .optional()
      .describe(
        'What leads to a record that changes, as the platform showed it; absent where nobody looked.',
      ),
    observed_digest: z.string().optional().describe('Of the record that the plan saw.'),
  })
  .describe('What is to happen to one resource.');

export const planDocument = z
  .strictObject({
    format_version: z.literal(PLAN_FORMAT_VERSION),
    voxform_version: z.string(),
    workspace: z.string(),
    workspace_id: z.string(),
    base_url: z.string(),
    state: z
      .strictObject({
        lineage: z.string(),
        serial: z.int(),
        salt: z.string().describe('Key of the fingerprints of secret values.'),
      })
      .describe('The state that the plan was made from.'),
    refreshed: z
      .boolean()
      .describe('False where recorded records were not read, so that memory stood in for them.'),
    summary: z
      .strictObject(
        Object.fromEntries(actions.map((action) => [action, z.int()])) as Record<
          (typeof actions)[number],
          z.ZodInt
        >,
      )
      .describe('How many resources each action has.'),
    secrets: z
      .record(z.string(), z.string())
      .describe('Fingerprints of the secrets that an apply sends, by name.'),
    resources: z.array(plannedResource).describe('By address.'),
    guards: z
      .array(
        z.strictObject({
          flag: z.enum(['--allow-large-change', '--allow-owner-change']).describe('The flag that lifts it.'),
          message: z.string(),
        }),
      )
      .describe('Guards that stop an apply of this plan.'),
    warnings: z.array(z.strictObject({ address: z.string().nullable(), message: z.string() })),
    digest: z
      .string()
      .optional()
      .describe(
        'Of everything else in the plan, so that a file that was edited is told from one that was not.',
      ),
  })
  .describe('A voxform plan');

export type Action = (typeof actions)[number];
/** The actions that an apply carries out: they write to the platform, to the state, or to both. */
export const writes: ReadonlySet<Action> = new Set(['create', 'update', 'replace', 'adopt', 'forget']);

export type PlannedChange = Immutable<z.infer<typeof plannedChange>>;
export type PlannedResource = Immutable<z.infer<typeof plannedResource>>;
export type PlannedRoute = Immutable<z.infer<typeof plannedRoute>>;
export type PlanDocument = Immutable<z.infer<typeof planDocument>>;
export type PlanWarning = PlanDocument['warnings'][number];

/** True where the platform kept its own value of something that was sent. */
export function isNotApplied({ not_applied: fields = [] }: Pick<PlannedResource, 'not_applied'>): boolean {
  return fields.length > 0;
}
