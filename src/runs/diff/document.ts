import { z } from 'zod';
import { describedObject, jsonValue } from '../../values/described.ts';
import type { Immutable } from '../../values/json.ts';

/*
 * The differences between two workspaces, as plain data without secrets. The data is printed as JSON.
 */

export const DIFF_FORMAT_VERSION = 1;

const sideValue = describedObject('A field in one of the workspaces.', {
  value: jsonValue
    .optional()
    .describe('Value of the record, with references as addresses; absent for secrets and unknown values.'),
  verified: z
    .boolean()
    .describe('False if the platform does not return the field, so that the value comes from the state.'),
  standing: z
    .enum(['declared', 'pending', 'drifted', 'ignored', 'unmanaged'])
    .describe(
      'The record compared with its manifest: as declared, not applied yet, drifted, ignored (`ignore_drift`), or not declared in this workspace.',
    ),
});

const fieldDifference = describedObject('A field that differs or may differ.', {
  path: z.string(),
  verdict: z.enum(['different', 'unknown']).describe('`unknown` if the two values cannot be compared.'),
  declared: z.boolean().describe('True if the manifests declare or allow the difference.'),
  sensitive: z.boolean().describe('True if the value is a secret.'),
  first: sideValue,
  second: sideValue,
});

const resourceDifference = describedObject('A resource in both workspaces.', {
  address: z.string(),
  kind: z.string(),
  verdict: z
    .enum(['same', 'different', 'only_first', 'only_second', 'neither'])
    .describe('Which workspaces have the record, and whether managed fields differ.'),
  declared: z.boolean().describe('True if the manifests declare or allow every difference.'),
  source: z.strictObject({ file: z.string(), line: z.int() }).describe('Source of the manifest.'),
  first: z.string().nullable().describe('Id of the record in the first workspace; null if it has none.'),
  second: z.string().nullable().describe('Id of the record in the second workspace.'),
  reason: z.string().optional().describe('The reason why a workspace lacks the record.'),
  fields: z.array(fieldDifference),
  unverified: z
    .array(z.string())
    .optional()
    .describe('Fields that are equal only according to the state, because the platform does not return them.'),
});

const workspace = z.strictObject({ name: z.string(), workspace_id: z.string(), base_url: z.string() });

export const diffDocument = describedObject('Differences between two workspaces', {
  format_version: z.literal(DIFF_FORMAT_VERSION),
  voxform_version: z.string(),
  first: workspace,
  second: workspace,
  summary: describedObject('Number of resources per verdict.', {
    same: z.int(),
    different: z.int(),
    only_first: z.int(),
    only_second: z.int(),
    neither: z.int(),
    undeclared: z.int().describe('Number of resources with undeclared differences.'),
    unknown: z.int().describe('Number of fields that cannot be compared.'),
  }),
  resources: z.array(resourceDifference).describe('Sorted by address.'),
});

export type SideValue = Immutable<z.infer<typeof sideValue>>;
export type FieldDifference = Immutable<z.infer<typeof fieldDifference>>;
export type ResourceDifference = Immutable<z.infer<typeof resourceDifference>>;
export type DiffDocument = Immutable<z.infer<typeof diffDocument>>;
