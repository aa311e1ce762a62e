import { z } from 'zod';
import { type Immutable, jsonValue } from '../../values/json.ts';

/*
 * What is between two workspaces: plain data, the same that is printed. It holds no secret.
 */

export const DIFF_FORMAT_VERSION = 1;

const sideValue = z
  .strictObject({
    value: jsonValue
      .optional()
      .describe(
        'What the record has, with references as addresses; absent for a secret, and where nobody knows it.',
      ),
    verified: z
      .boolean()
      .describe('False where the platform does not show the field, so that the value is from memory.'),
    standing: z
      .enum(['declared', 'pending', 'drifted', 'ignored', 'unmanaged'])
      .describe(
        'How the record stands to its own manifests: as they declare it, not applied yet, moved by somebody else, free to be moved (`ignore_drift`), or not declared for this workspace.',
      ),
  })
  .describe('A field in one of the workspaces.');

export const fieldDifference = z
  .strictObject({
    path: z.string(),
    verdict: z
      .enum(['different', 'unknown'])
      .describe('`unknown` where it cannot be known whether the two are the same.'),
    declared: z.boolean().describe('True where the manifests want the difference, or let others make it.'),
    sensitive: z.boolean().describe('True where the value is secret.'),
    first: sideValue,
    second: sideValue,
  })
  .describe('A field that differs, or may.');

export const resourceDifference = z
  .strictObject({
    address: z.string(),
    kind: z.string(),
    verdict: z
      .enum(['same', 'different', 'only_first', 'only_second', 'neither'])
      .describe(
        'Which of the workspaces have the record, and whether a managed field differs where both do.',
      ),
    declared: z
      .boolean()
      .describe(
        'True where nothing differs but what the manifests want: false for a difference that nobody declared.',
      ),
    source: z.strictObject({ file: z.string(), line: z.int() }).describe('Where it is declared.'),
    first: z.string().nullable().describe('Id of the record in the first workspace; null where it has none.'),
    second: z.string().nullable().describe('Id of the record in the second workspace.'),
    reason: z.string().optional().describe('Why a workspace does not have it.'),
    fields: z.array(fieldDifference),
    unverified: z
      .array(z.string())
      .optional()
      .describe('Fields that are the same as far as memory tells: a platform does not show them.'),
  })
  .describe('One address in both workspaces.');

const place = z.strictObject({ name: z.string(), workspace_id: z.string(), base_url: z.string() });

export const diffDocument = z
  .strictObject({
    format_version: z.literal(DIFF_FORMAT_VERSION),
    voxform_version: z.string(),
    first: place,
    second: place,
    summary: z
      .strictObject({
        same: z.int(),
        different: z.int(),
        only_first: z.int(),
        only_second: z.int(),
        neither: z.int(),
        undeclared: z.int().describe('How many resources have a difference that nobody declared.'),
        unknown: z.int().describe('How many fields cannot be compared.'),
      })
      .describe('How many resources each verdict has.'),
    resources: z.array(resourceDifference).describe('By address.'),
  })
  .describe('What is between two workspaces');

export type SideValue = Immutable<z.infer<typeof sideValue>>;
export type FieldDifference = Immutable<z.infer<typeof fieldDifference>>;
export type ResourceDifference = Immutable<z.infer<typeof resourceDifference>>;
export type DiffDocument = Immutable<z.infer<typeof diffDocument>>;

/** JSON Schema (draft 2020-12) of what `diff --output json` prints. */
export function diffJsonSchema(): object {
  return z.toJSONSchema(diffDocument, { target: 'draft-2020-12' });
}
