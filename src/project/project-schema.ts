import { z } from 'zod';
import { recordId } from '../manifests/envelope.ts';
import type { DocumentPath } from '../manifests/finding.ts';
import { globSetting } from '../manifests/glob.ts';
import { NAME_SETTINGS } from '../manifests/kind-schema.ts';
import { kindOf } from '../manifests/resource.ts';
import { settingForms } from '../manifests/schema-fields.ts';
import { MAX_CONCURRENCY } from '../platform/concurrency-limit.ts';
import { stateSchema } from '../state/state-location.ts';
import { about, describedObject } from '../values/described.ts';
import { isObject } from '../values/json.ts';
import { lazy } from '../values/lazy.ts';
import { dashboardTemplate } from './dashboard-address.ts';
import { notifySchema } from './notify-schema.ts';
import { policiesSchema } from './policy-schema.ts';
import { pullRequestsSchema } from './pull-requests-schema.ts';
import { secretsSchema } from './secret-settings.ts';
import { watchSchema } from './watch-schema.ts';

/** The maximum lengths of a base URL and of a workspace id. Both together have to fit into an index of a fleet's database. */
const MAX_URL_LENGTH = 500;
const MAX_ID_LENGTH = 255;
/** The maximum number of globs of manifests. Each of them searches the folder. */
const MAX_GLOBS = 100;

export const baseUrlSchema = lazy(() =>
  z
    .url({ protocol: /^https?$/, error: 'expected an http or https URL, such as https://api.example.com' })
    .refine((text) => text.length <= MAX_URL_LENGTH, {
      error: `expected a URL of at most ${MAX_URL_LENGTH} characters`,
    })
    .refine((text) => !URL.canParse(text) || hasNoExtras(new URL(text)), {
      error: 'expected a URL without user name, query and fragment',
    })
    .meta(about('Base URL of the platform, or { $env: NAME }.', 'https://api.example.com'))
    .register(settingForms, { forms: ['$env'] }),
);

function hasNoExtras(url: URL): boolean {
  return url.username === '' && url.password === '' && url.search === '' && url.hash === '';
}

export const workspaceIdSchema = lazy(() =>
  z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_-]*$/, { error: 'expected a workspace id' })
    .refine((text) => text.length <= MAX_ID_LENGTH, { error: `expected an id of at most ${MAX_ID_LENGTH} characters` })
    .meta(about('Id of the workspace on the platform, or { $env: NAME }.', '01JEMV1AT0RW0RKSPACE000001'))
    .register(settingForms, { forms: ['$env'] }),
);

const apiKey = () =>
  z
    .string()
    .meta({
      description:
        'API key of the workspace, as { $secret: NAME } or { $env: NAME }, never as plain text. Without it, VOXFORM_API_KEY must be set.',
      examples: [{ $secret: 'STAGING_API_KEY' }],
    })
    .optional()
    .register(settingForms, { forms: ['$secret', '$env'] });

const anyObject = () => z.record(z.string(), z.json()).register(settingForms, { forms: ['any'] });

const workspaceSchema = (section: SectionSchema) =>
  describedObject('One workspace of the platform.', {
    base_url: baseUrlSchema(),
    workspace_id: workspaceIdSchema(),
    api_key: apiKey(),
    vars: z
      .record(z.string(), z.json().register(settingForms, { forms: ['any'] }))
      .meta(about('Values for { $var: name } in manifests. They may be value forms.', { company: 'Acme' }))
      .optional(),
    patches: z
      .record(z.string(), anyObject())
      .meta({
        description:
          'Changes to specs in this workspace, by address, such as Agent/support-line. null removes a field.',
        examples: [{ 'Kind/name': { llm_config: { temperature: 0.2 } } }],
      })
      .optional(),
    ids: z
      .record(z.string(), recordId())
      .meta({
        description:
          'Ids of existing records to import in this workspace, by address. Replaces metadata.id of the manifests; {} ignores them.',
        examples: [{ 'Kind/name': '01JEMV1AT0AGENT00000000001' }],
      })
      .optional(),
    [NAME_SETTINGS.KnowledgeBase]: z
      .record(z.string().min(1, { error: 'expected a name' }), z.string().min(1))
      .meta({
        description:
          'Names of knowledge bases in this workspace, by their name in the manifests. Identical names can be omitted.',
        examples: [{ FAQ: 'FAQ staging' }],
      })
      .optional(),
    skip: z
      .array(globSetting())
      .meta(about('Addresses of resources that this workspace skips; * matches any name.', ['Kind/name', 'Kind/*']))
      .optional(),
    secrets_dir: z
      .string()
      .min(1)
      .meta({
        description: 'Folder with one file per secret, read if no environment variable has that name.',
        examples: ['/run/secrets/voxform'],
      })
      .optional(),
    dashboard: z
      .record(z.string(), dashboardTemplate())
      .describe('URLs of records in the dashboard, for links, by kind of record, such as agent.')
      .optional(),
    ca_file: z
      .string()
      .min(1)
      .meta({
        description:
          'PEM file with additional CA certificates, such as those of a proxy. The path is relative to the project.',
        examples: ['certificates/company.pem'],
      })
      .optional(),
    secrets: section('secrets', secretsSchema).optional(),
    state: section('state', stateSchema).optional(),
  });

const limitsSchema = lazy(() =>
  z
    .strictObject({
      concurrency: z.union([z.literal('auto'), z.int().min(1).max(MAX_CONCURRENCY)]).meta({
        description:
          'Maximum number of concurrent requests; default: auto, between 16 and 64 depending on the response times.',
        examples: ['auto', 16],
      }),
      requests_per_second: z
        .number()
        .min(0.01)
        .max(10_000)
        .nullable()
        .meta(about('Maximum number of requests per second; default: null, for no limit.', 20)),
      timeout_seconds: z
        .number()
        .min(0.1)
        .max(3600)
        .meta({ description: 'Timeout of one request in seconds; default: 30.', examples: [30] }),
    })
    .partial()
    .describe('Limits on requests.'),
);

const guardsSchema = lazy(() =>
  z
    .strictObject({
      max_changed_percent: z
        .number()
        .min(0)
        .max(100)
        .meta(about('Maximum percentage of the resources that one apply may change; default: 50.', 50)),
      min_resources: z
        .int()
        .min(0)
        .meta(about('The guard applies only if the state has at least this number of resources; default: 10.', 10)),
    })
    .partial()
    .describe('Guards against unexpectedly large changes.'),
);

/** Returns the schema of a section. It is slow to build, and is therefore built only if the file has the section. */
type SectionSchema = <T extends z.ZodType>(name: string, schema: () => T) => T;

const schemaOf = (section: SectionSchema) =>
  z.strictObject({
    version: z.literal(1).describe('Format of this file.'),
    manifests: z
      .array(globSetting())
      .min(1)
      .max(MAX_GLOBS)
      .meta({
        description: 'Globs of the manifest files, relative to this file; a leading ! excludes files.',
        examples: [['manifests/**/*.yaml']],
      })
      .optional(),
    default_workspace: z
      .string()
      .meta({ description: 'Workspace used when none is selected.', examples: ['staging'] })
      .optional(),
    workspaces: z
      .record(
        z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, {
          error: 'expected a name of up to 63 letters, digits, ".", "_" and "-"',
        }),
        workspaceSchema(section),
      )
      .refine((workspaces) => Object.keys(workspaces).length > 0, {
        error: 'expected at least one workspace',
      })
      .describe('Workspaces to apply the manifests to, by name.'),
    defaults: z
      .record(z.string(), anyObject())
      .meta(about('Default values for every manifest of a kind.', { Agent: { stt_config: { provider: 'deepgram' } } }))
      .optional(),
    secrets: section('secrets', secretsSchema).optional(),
    state: section('state', stateSchema).optional(),
    limits: section('limits', limitsSchema).optional(),
    guards: section('guards', guardsSchema).optional(),
    literal_variables: z
      .array(z.string().min(1))
      .meta({
        description: `Names that strings contain as \${name} on purpose, so that validate does not warn; * matches any characters.`,
        examples: [['customer_name', 'call_*']],
      })
      .optional(),
    watch: section('watch', watchSchema).optional(),
    notify: section('notify', notifySchema).optional(),
    pull_requests: section('pull_requests', pullRequestsSchema).optional(),
    policies: section('policies', policiesSchema).optional(),
  });

/** The schema of `voxform.yaml` after each value form was replaced by a string. */
export const projectSchema = lazy(() => schemaOf((_, schema) => schema()));

/** Returns the same schema with only the sections that this file has. */
export function projectSchemaFor(document: unknown): ReturnType<typeof projectSchema> {
  const { workspaces, ...sections } = isObject(document) ? document : {};
  const names = [sections, ...(isObject(workspaces) ? Object.values(workspaces) : [])].flatMap((each) =>
    isObject(each) ? Object.keys(each) : [],
  );
  return schemaOf((name, schema) => (names.includes(name) ? schema() : (z.undefined() as never)));
}

export type ProjectDocument = z.infer<ReturnType<typeof projectSchema>>;

/** For a path inside `defaults` or `patches`, returns the kind of the spec and the path inside the spec. The kind may be unknown. */
export function specInProject(path: DocumentPath): { readonly kind: string; readonly path: DocumentPath } | undefined {
  const [first, second, third, fourth] = path;
  if (first === 'defaults' && typeof second === 'string') return { kind: second, path: path.slice(2) };
  if (first !== 'workspaces' || third !== 'patches' || typeof fourth !== 'string') return undefined;
  return { kind: kindOf(fourth), path: path.slice(4) };
}
