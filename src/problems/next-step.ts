import { z } from 'zod';

/*
 * The next step for the user, as data. `output/next-steps.ts` formats it as a sentence, or as text with a command.
 */

const address = z.string().describe('Address of the resource.');
const instruction = z.string().describe('The instruction, one sentence.');

/** Checks that stop an apply until the user overrides them. */
export const guards = ['large_change', 'owner_change', 'older_commit'] as const;

export type Guard = (typeof guards)[number];

const importReasons = [
  'candidate',
  'found',
  'not_listed',
  'succeeded',
  'closed',
  'former',
  'returned',
  'unsaved',
  'odd_answer',
] as const;

function step<Action extends string, Fields extends z.ZodRawShape>(
  action: Action,
  description: string,
  fields: Fields,
) {
  return z.strictObject({ action: z.literal(action), ...fields }).describe(description);
}

const importing = step('import', 'Import a record.', {
  address,
  id: z.string().nullable().describe('Id of the record; null if you must look it up in the dashboard.'),
  reason: z
    .enum(importReasons)
    .describe(
      'candidate: the unknown create may have created this record. found: import the record if you find it. not_listed: like found, but the list does not contain the record yet. succeeded: the unknown create created this record. closed: the record is a closed orphan. former: a former record of the resource exists again. returned: like former, but another record may be managed now. unsaved: the record was created, but the state could not be written. odd_answer: the response to the create was invalid.',
    ),
  instead_of: z.string().optional().describe('Id of the record that is managed now.'),
  mentions: z.array(z.string()).optional().describe('For a candidate: where its id was found.'),
  agrees: z.array(z.string()).optional().describe('For a candidate: fields that match.'),
  differs: z.array(z.string()).optional().describe('For a candidate: fields that differ.'),
});

export const nextStep = z
  .discriminatedUnion('action', [
    step('dashboard', 'Do this in the dashboard, because the API cannot.', {
      instruction,
      sets: z
        .strictObject({
          record: z.string().describe('Display name of the record, e.g. `+12025550120 (Front desk)`.'),
          field: z.string().describe('The field, or the word for a link, e.g. `inbound`.'),
          value: z.string().nullable().describe('The value, or the address of the record to link.'),
        })
        .optional()
        .describe('Present if the instruction sets one field.'),
    }),
    step('publish', 'Publish the draft in the dashboard.', {
      instruction,
      meanwhile: z.string().optional().describe('The status until then, as a clause.'),
    }),
    importing,
    step('resolve_not_created', 'Mark the unknown create as not created, if the record does not exist.', {
      address: z.string().describe('Address of the resource; `all` for every unknown create.'),
    }),
    step('recreate', 'Create the record again, if it was deleted.', {
      address: z.string().describe('Address of the resource; `all` for every missing record.'),
      remove_id: z.literal(true).optional().describe('Remove metadata.id from the manifest first.'),
    }),
    step('replace', 'Allow replacing the record, which stays active until you delete it.', {
      address,
      id: z.string().nullable(),
    }),
    step('release', 'Release the record from the state.', {
      address,
      id: z.string(),
      or: z
        .enum(['correct_workspace', 'remove_id'])
        .describe('The alternative: correct workspace_id, or remove metadata.id.'),
    }),
    step('close_orphan', 'Close the orphan, if its record was deleted.', {
      id: z.string(),
      because: z.literal('deleted'),
    }),
    step('wait', 'Wait until the platform returns the record again.', {}),
    step('wait_for', 'Nothing to do until another resource has a record.', {
      address,
      because: z
        .enum(['missing', 'not_created', 'not_in_run'])
        .describe('Its record is missing, does not exist yet, or does not exist yet and is not part of the run.'),
      path: z.string().optional().describe('The waiting field, if the rest of the resource does not wait.'),
    }),
    step('resolve_first', 'Resolve the unknown create of another resource, then plan again.', { address }),
    step('correct_workspace', 'Correct workspace_id.', {}),
    step(
      'correct_id',
      'Correct or remove the id, or set `ids` of this workspace, so that metadata.id is ignored there.',
      {},
    ),
    step('retry_ignored', 'Change the manifest, or send the field again.', {
      path: z.string().describe('The field.'),
    }),
    step('lift_guards', 'Apply the plan despite these guards.', { guards: z.array(z.enum(guards)) }),
    step('waive', 'Waive these policies for one run.', {
      rules: z.array(z.string()).describe('Names of policies.'),
      saved_plan: z.literal(true).optional().describe('Present if the plan was saved: waive policies in a new plan.'),
    }),
    step('keep_record', 'If the resource was renamed: keep its record.', {
      id: z.string().nullable().describe('Null if its create is unknown.'),
      previous_name: z.string().describe('The name to add to metadata.previous_names.'),
    }),
    step('save_plan', 'Save a new plan.', {}),
    step('select_workspace', 'Apply the saved plan to its workspace.', { workspace: z.string() }),
    step('unlock', 'Release the lock, if its run has definitely ended.', {
      id: z.string().describe('Id of the lock.'),
    }),
    step('push_newer', 'Push a newer copy of the state.', { file: z.string() }),
    step('allow_older_state', 'Use this state anyway.', {}),
    step('move_state', 'Move the state back from that location.', { from: z.string() }),
    step('list_addresses', 'Look the address up in the state.', {}),
  ])
  .describe('The next steps.');

type Fixed<T> = T extends readonly (infer Item)[] ? readonly Item[] : T;
type FixedFields<T> = T extends object ? { readonly [Key in keyof T]: Fixed<T[Key]> } : never;

export type NextStep = FixedFields<z.infer<typeof nextStep>>;
