import { z } from 'zod';
import { notifySchema } from './notify-schema.ts';
import { watchSchema } from './watch-schema.ts';

/** The value forms that a setting may be written in, for the checks and for the JSON Schema. */
export const settingForms = z.registry<{ readonly forms: readonly ('$env' | '$secret' | 'any')[] }>();

const baseUrl = z
  .url({ protocol: /^https?$/, error: 'expected an http or https URL, such as https://api.example.com' })
  .refine((text) => !URL.canParse(text) || isBare(new URL(text)), {
    error: 'expected a URL without user name, query and fragment',
  })
  .describe('Base address of the platform, or { $env: NAME }.')
  .register(settingForms, { forms: ['$env'] });

function isBare(url: URL): boolean {
  return url.username === '' && url.password === '' && url.search === '' && url.hash === '';
}

const workspaceId = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]*$/, { error: 'expected the id of a workspace' })
  .describe('Id of the workspace on the platform, or { $env: NAME }.')
  .register(settingForms, { forms: ['$env'] });

const apiKey = z
  .string()
  .describe(
    'API key of the workspace, as { $secret: NAME } or { $env: NAME }, never as text. Without it, VOXFORM_API_KEY is needed.',
  )
  .optional()
  .register(settingForms, { forms: ['$secret', '$env'] });

const anyObject = z.record(z.string(), z.json());

const stateSchema = z
  .strictObject({
    backend: z.literal('local').describe('Where the state is kept: in a file on this machine.').optional(),
    path: z
      .string()
      .min(1)
      .describe('File of the state, relative to the project; .voxform/<workspace>.state.json if left out.')
      .optional(),
  })
  .describe('Where the memory of what was applied is kept.');

const workspaceSchema = z
  .strictObject({
    base_url: baseUrl,
    workspace_id: workspaceId,
    api_key: apiKey,
    vars: z
      .record(z.string(), z.json().register(settingForms, { forms: ['any'] }))
      .describe('Values that manifests take with { $var: name }. They may be value forms themselves.')
      .optional(),
    patches: z
      .record(z.string(), anyObject.register(settingForms, { forms: ['any'] }))
      .describe(
        'Changes to specs in this workspace, by address, such as Agent/support-line. null removes a field.',
      )
      .optional(),
    skip: z
      .array(z.string().min(1))
      .describe('Addresses of resources that this workspace does not have; * stands for any name.')
      .optional(),
    secrets_dir: z
      .string()
      .min(1)
      .describe(
        'Folder with a file for each secret, read where the environment has no variable of that name.',
      )
      .optional(),
    state: stateSchema.optional(),
  })
  .describe('One workspace of the platform.');

const limitsSchema = z
  .strictObject({
    concurrency: z.int().min(1).max(256).describe('Most requests at once; 16 if left out.'),
    requests_per_second: z
      .number()
      .min(0.01)
      .max(10_000)
      .nullable()
      .describe('Most requests a second; null, the default, for no limit.'),
    timeout_seconds: z.number().min(0.1).max(3600).describe('Longest wait for one answer; 30 if left out.'),
  })
  .partial()
  .describe('How hard the platform may be pressed.');

const guardsSchema = z
  .strictObject({
    max_changed_percent: z
      .number()
      .min(0)
      .max(100)
      .describe('Largest share of the resources that one apply may change; 50 if left out.'),
    min_resources: z
      .int()
      .min(0)
      .describe('The guard sets in when the state has this many resources; 10 if left out.'),
  })
  .partial()
  .describe('What stops an apply that would change suspiciously much.');

/** `voxform.yaml`, with a text in place of each value form. */
export const projectSchema = z.strictObject({
  version: z.literal(1).describe('Format of this file.'),
  manifests: z
    .array(z.string().min(1))
    .min(1)
    .describe('Globs of the manifest files, relative to this file; one with ! before it leaves files out.')
    .optional(),
  default_workspace: z.string().describe('Workspace that is meant when none is named.').optional(),
  workspaces: z
    .record(
      z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, {
        error: 'expected a name of up to 63 letters, digits, ".", "_" and "-"',
      }),
      workspaceSchema,
    )
    .refine((workspaces) => Object.keys(workspaces).length > 0, { error: 'expected at least one workspace' })
    .describe('The workspaces that the manifests can be applied to, by a name of your choice.'),
  defaults: z
    .record(z.string(), anyObject.register(settingForms, { forms: ['any'] }))
    .describe('By kind: values that every manifest of the kind has unless it says otherwise.')
    .optional(),
  limits: limitsSchema.optional(),
  guards: guardsSchema.optional(),
  watch: watchSchema.optional(),
  notify: notifySchema.optional(),
});

export type ProjectDocument = z.infer<typeof projectSchema>;
export type WorkspaceDocument = z.infer<typeof workspaceSchema>;
