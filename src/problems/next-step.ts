import { z } from 'zod';

/*
 * What a person must do next, as data: `output/next-steps.ts` words it, with the flags of the command line.
 */

const address = z.string().describe('Address of the resource.');
const instruction = z.string().describe('The instruction, one sentence.');

/** What stops an apply until a person allows it. */
export const guards = ['large_change', 'owner_change'] as const;

export type Guard = (typeof guards)[number];

/** Why a record is to be imported: what leads up to the command. */
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

const importing = z
  .strictObject({
    action: z.literal('import'),
    address,
    id: z.string().nullable().describe('Id of the record; null where you must look it up in the dashboard.'),
    reason: z
      .enum(importReasons)
      .describe(
        'candidate: the record may be that of the unknown create. found: import it if you find it. not_listed: the same, and the list does not show it yet. succeeded: the unknown create made it. closed: it is a closed orphan. former: it is a former record of the resource and is back on the platform. returned: the same, while another may be managed. unsaved: it was created, but the state could not be written. odd_answer: the response to its create was invalid.',
      ),
    instead_of: z.string().optional().describe('Id of the record that is managed now.'),
    mentions: z.array(z.string()).optional().describe('Of a candidate: where its id was found.'),
    agrees: z.array(z.string()).optional().describe('Of a candidate: fields that match.'),
    differs: z.array(z.string()).optional().describe('Of a candidate: fields that differ.'),
  })
  .describe('Import a record.');

export const nextStep = z
  .discriminatedUnion('action', [
    z
      .strictObject({
        action: z.literal('dashboard'),
        instruction,
        sets: z
          .strictObject({
            record: z.string().describe('Display name of the record, e.g. `+12025550120 (Front desk)`.'),
            field: z.string().describe('The field, or the word for a link, e.g. `inbound`.'),
            value: z.string().nullable().describe('The value, or the address of the record to link.'),
          })
          .optional()
          .describe('Present if the instruction sets one field.'),
      })
      .describe('Do in the dashboard what the API cannot.'),
    z
      .strictObject({
        action: z.literal('publish'),
        instruction,
        meanwhile: z.string().optional().describe('What holds until then, a clause.'),
      })
      .describe('Publish the draft in the dashboard.'),
    importing,
    z
      .strictObject({ action: z.literal('resolve_not_created'), address })
      .describe('Mark the unknown create as not created, if the record is not there.'),
    z
      .strictObject({
        action: z.literal('recreate'),
        address: z.string().describe('Address of the resource; `all` for every missing record.'),
        remove_id: z.literal(true).optional().describe('Remove metadata.id from the manifest first.'),
      })
      .describe('Create the record again, if it was deleted.'),
    z
      .strictObject({ action: z.literal('replace'), address, id: z.string().nullable() })
      .describe('Allow replacing the record, which stays active until you delete it.'),
    z
      .strictObject({
        action: z.literal('release'),
        address,
        id: z.string(),
        or: z
          .enum(['correct_workspace', 'remove_id'])
          .describe('The alternative: another workspace_id is right, or metadata.id must go.'),
      })
      .describe('Release the record from the state.'),
    z
      .strictObject({ action: z.literal('close_orphan'), id: z.string(), because: z.literal('deleted') })
      .describe('Close the orphan, if its record was deleted.'),
    z.strictObject({ action: z.literal('wait') }).describe('Wait until the platform shows the record again.'),
    z
      .strictObject({
        action: z.literal('wait_for'),
        address,
        because: z
          .enum(['missing', 'not_created', 'not_in_run'])
          .describe(
            'Its record is missing, does not exist yet, or does not exist yet and is not part of the run.',
          ),
        path: z.string().optional().describe('The only field that waits.'),
      })
      .describe('Nothing to do until another resource has a record.'),
    z
      .strictObject({ action: z.literal('resolve_first'), address })
      .describe('Resolve the unknown create of another resource, then plan again.'),
    z.strictObject({ action: z.literal('correct_workspace') }).describe('Correct workspace_id.'),
    z
      .strictObject({ action: z.literal('correct_id') })
      .describe('Remove metadata.id, or name a record of this workspace.'),
    z
      .strictObject({ action: z.literal('retry_ignored'), path: z.string().describe('The field.') })
      .describe('Change the manifest, or send the field again.'),
    z
      .strictObject({ action: z.literal('lift_guards'), guards: z.array(z.enum(guards)) })
      .describe('Apply the plan although these guards stop it.'),
    z
      .strictObject({
        action: z.literal('waive'),
        rules: z.array(z.string()).describe('Names of policies.'),
        saved_plan: z
          .literal(true)
          .optional()
          .describe('Present if the plan was saved: waive them in a new one.'),
      })
      .describe('Lift what these policies deny, for one run.'),
    z
      .strictObject({
        action: z.literal('keep_record'),
        id: z.string(),
        previous_name: z.string().describe('For metadata.previous_names.'),
      })
      .describe('If it was renamed: keep its record.'),
    z.strictObject({ action: z.literal('save_plan') }).describe('Save a new plan.'),
    z
      .strictObject({ action: z.literal('select_workspace'), workspace: z.string() })
      .describe('Apply the saved plan to its workspace.'),
    z
      .strictObject({ action: z.literal('unlock'), id: z.string().describe('Id of the lock.') })
      .describe('Release the lock, if its run is gone for sure.'),
    z
      .strictObject({ action: z.literal('push_newer'), file: z.string() })
      .describe('Push a newer copy of the state.'),
    z.strictObject({ action: z.literal('allow_older_state') }).describe('Use this state all the same.'),
    z
      .strictObject({ action: z.literal('move_state'), from: z.string() })
      .describe('Move the state back from there.'),
    z.strictObject({ action: z.literal('list_addresses') }).describe('Look the address up in the state.'),
  ])
  .describe('What to do next.');

type Fixed<T> = T extends readonly (infer Item)[] ? readonly Item[] : T;
type FixedFields<T> = T extends object ? { readonly [Key in keyof T]: Fixed<T[Key]> } : never;

export type NextStep = FixedFields<z.infer<typeof nextStep>>;
