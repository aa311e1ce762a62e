import { z } from 'zod';
import { isRefName } from '../git/git-address.ts';
import { hostNames } from '../hosting/index.ts';
import { withoutDotSlash } from '../manifests/glob.ts';
import { DRAFT, formDefinitions } from '../manifests/manifest-json-schema.ts';
import type { Role } from '../operator/roles.ts';
import { modes } from '../operator/workspace-status.ts';
import { durationSetting } from '../project/duration.ts';
import { policiesSchema } from '../project/policy-schema.ts';
import { settingsJsonSchema } from '../project/project-json-schema.ts';
import { secretsSchema } from '../project/secret-settings.ts';
import { addressIn } from '../state/backends/postgres/address.ts';
import { isPlainAddress, secretSetting, secretTextSetting } from '../state/backends/settings.ts';
import { about } from '../values/described.ts';
import type { JsonObject } from '../values/json.ts';
import { isLoopback } from '../values/loopback.ts';

const name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, {
  error: 'expected a name of up to 63 letters, digits, ".", "_" and "-"',
});

const projectPattern = z
  .string()
  .min(1)
  .refine((text) => !isOutsideSource(text), { error: 'expected a folder inside the source' });

const secretsFolder = z
  .string()
  .min(1)
  .refine((text) => !/[{}]/.test(text.replaceAll(/\{(source|project)\}/g, '')), {
    error: 'expected only the placeholders {source} and {project}',
  });

const sourceSecrets = secretsSchema()
  .refine((list) => !list.includes('keychain'), {
    error: 'keychain contains the secrets of one user and cannot be used in a fleet',
  })
  .refine((list) => list.filter((each) => typeof each === 'object' && 'folder' in each).length <= 1, {
    error: 'expected at most one folder',
  })
  .refine(
    (list) =>
      list.every(
        (each) => typeof each !== 'object' || !('folder' in each) || secretsFolder.safeParse(each.folder).success,
      ),
    { error: 'folder: expected only the placeholders {source} and {project}' },
  );

const httpsAddress = z
  .url({ protocol: /^https?$/, error: 'expected an http or https URL' })
  .refine((text) => isPlainAddress(text) && !text.includes('?'), { error: 'expected an address without a password' });

const pullRequests = z
  .strictObject({
    token: secretSetting({
      description: 'Token for the API of the code host.',
      examples: [{ $secret: 'GITHUB_TOKEN' }],
    }).optional(),
    app: z
      .strictObject({
        id: z
          .int()
          .min(1)
          .meta({ description: 'Id of the GitHub App.', examples: [12345] }),
        private_key: secretSetting({
          description: 'Private key of the GitHub App, in PEM format.',
          examples: [{ $secret: 'APP_KEY' }],
        }),
      })
      .describe('A GitHub App, instead of a token.')
      .optional(),
    host: z
      .enum(hostNames)
      .meta({ description: 'Type of the code host. Default: determined from the Git address.', examples: ['github'] })
      .optional(),
    api: httpsAddress
      .meta({
        description: 'Address of the API of the code host. Default: determined from the Git address.',
        examples: ['https://github.example.com/api/v3'],
      })
      .optional(),
    forks: z
      .boolean()
      .meta({
        description:
          'Plan requests from forks too, with the secrets of the workspace. By default, they are only validated, without secrets.',
        examples: [false],
      })
      .optional(),
  })
  .refine(({ token, app }) => (token === undefined) !== (app === undefined), { error: 'expected either token or app' })
  .refine(({ app, host }) => app === undefined || host !== 'gitlab', { error: 'app requires GitHub', path: ['app'] })
  .describe('Plan the open pull or merge requests of the repository.');

const source = z
  .strictObject({
    git: secretTextSetting(z.string(), {
      description: 'Git repository: a URL, user@host:path or a folder.',
      examples: ['https://git.example.com/agency/voices.git'],
    }).optional(),
    ref: z
      .string()
      .refine(isRefName, { error: 'expected the name of a branch or tag' })
      .meta({ description: 'Branch or tag of the repository; default: main.', examples: ['main'] })
      .optional(),
    webhook: secretSetting({
      description:
        'Secret of a GitHub or GitLab webhook for POST /hooks/SOURCE. Its events make the fleet fetch the source immediately.',
      examples: [{ $secret: 'VOICES_WEBHOOK' }],
    }).optional(),
    pull_requests: pullRequests.optional(),
    path: z
      .string()
      .min(1)
      .meta({
        description:
          'Folder with projects, instead of a Git repository. A relative path starts at the folder of the fleet file.',
        examples: ['/srv/voices'],
      })
      .optional(),
    projects: z
      .array(projectPattern)
      .min(1)
      .refine((patterns) => patterns.some((each) => !each.startsWith('!')), {
        error: 'expected at least one pattern without !',
      })
      .meta({
        description: 'Globs of the project folders; a leading ! excludes folders. Default: only the root.',
        examples: [['clients/*', '!clients/archive']],
      })
      .optional(),
    interval: durationSetting('1s', '1d')
      .meta(about('Time between two checks for a newer version; default: 30s for Git, 2s for a folder.', '30s'))
      .optional(),
    secrets: z
      .union([secretsFolder, sourceSecrets], {
        error: ({ input }) =>
          Array.isArray(input)
            ? (sourceSecrets.safeParse(input).error?.issues[0]?.message ?? 'not a list of sources')
            : 'expected a folder, or a list of sources as in voxform.yaml',
      })
      .meta({
        description:
          'Sources of project secrets: a folder with one file per secret, or a list as in voxform.yaml. The path of the folder may contain {source} and {project}; {project} is .root for a project at the root of its source. The folder is the default secrets_dir of the projects; any other secrets_dir must be inside it.',
        examples: ['/run/secrets/{project}'],
      })
      .optional(),
    allow_commands: z
      .boolean()
      .meta({
        description:
          'Allow projects to get secrets from commands. Everyone who can change a project can then run any program as the user of the fleet. Default: false.',
        examples: [true],
      })
      .optional(),
  })
  .refine(({ git, path }) => (git === undefined) !== (path === undefined), {
    error: 'expected either git or path',
  })
  .refine(({ git, ref }) => git !== undefined || ref === undefined, {
    error: 'a folder has no ref',
    path: ['ref'],
  })
  .refine(({ git, webhook }) => git !== undefined || webhook === undefined, {
    error: 'a folder has no webhook',
    path: ['webhook'],
  })
  .refine(({ git, pull_requests: requests }) => git !== undefined || requests === undefined, {
    error: 'a folder has no pull requests',
    path: ['pull_requests'],
  })
  .describe('A Git repository or a folder with projects.');

const rule = z
  .strictObject({
    mode: z
      .enum(modes)
      .meta({
        description:
          'report only reports changes, apply applies them, approve applies approved plans. Default: report.',
        examples: ['approve'],
      })
      .optional(),
    interval: durationSetting('1s', '30d')
      .meta({ description: 'Time between runs; default: 5m.', examples: ['1m'] })
      .optional(),
    on_drift: z
      .enum(['pull-request'])
      .meta({
        description: 'pull-request: open a pull request that accepts the drift, instead of correcting it.',
        examples: ['pull-request'],
      })
      .optional(),
    approved_by: z
      .enum(['pull-request'])
      .meta({
        description:
          'pull-request: in mode approve, approve the plan after a merge if it equals the plan in the merged pull request and reviewers approved that request.',
        examples: ['pull-request'],
      })
      .optional(),
    reviews: z
      .int()
      .min(0)
      .max(20)
      .meta(about('Minimum number of reviewers who approved the merged commit, for approved_by; default: 1.', 1))
      .optional(),
  })
  .refine(({ mode, approved_by: by }) => by === undefined || mode === 'approve', {
    error: 'needs mode: approve',
    path: ['approved_by'],
  })
  .refine(({ approved_by: by, reviews }) => by !== undefined || reviews === undefined, {
    error: 'needs approved_by: pull-request',
    path: ['reviews'],
  })
  .describe('Settings of the workspaces with this address.');

const groups = z.array(z.string().min(1).max(255)).min(1);

const signIn = z
  .strictObject({
    issuer: httpsAddress.refine(isEncrypted, { error: 'expected an https address' }).meta({
      description: 'Issuer of the OpenID Connect provider, exactly as in its metadata.',
      examples: ['https://login.example.com/realms/acme'],
    }),
    client_id: z
      .string()
      .min(1)
      .max(255)
      .meta({ description: 'Id of the client at the provider.', examples: ['voxform'] }),
    client_secret: secretSetting({
      description: 'Secret of the client; not needed for a public client.',
      examples: [{ $secret: 'OIDC_CLIENT_SECRET' }],
    }).optional(),
    address: httpsAddress
      .refine(isPageAddress, { error: 'expected an https address without a path' })
      .meta({
        description:
          'Public address of the page; default: address of the fleet file. The redirect URI is ADDRESS/sign-in/callback.',
        examples: ['https://voxform.example.com'],
      })
      .optional(),
    name_claim: z
      .string()
      .min(1)
      .meta({ description: 'Claim with the name of the person; default: email.', examples: ['email'] })
      .optional(),
    groups_claim: z
      .string()
      .min(1)
      .meta({ description: 'Claim with the groups of the person; default: groups.', examples: ['groups'] })
      .optional(),
    roles: z
      .strictObject({
        viewer: groups.meta({ description: 'Groups that may read; * is everyone.', examples: [['*']] }),
        approver: groups.meta(about('Groups that may also start runs and decide on plans.', ['voice-leads'])),
        admin: groups.meta({ description: 'Groups that may do everything.', examples: [['platform']] }),
      } satisfies Record<Role, unknown>)
      .partial()
      .refine((given) => Object.keys(given).length > 0, { error: 'expected at least one role' })
      .describe('Groups by role. The highest matching role applies.'),
    session: durationSetting()
      .meta({ description: 'Duration of a session; default: 8h.', examples: ['8h'] })
      .optional(),
  })
  .describe('Sign-in to the page with an OpenID Connect provider.');

/** The schema of `fleet.yaml`, in which each `$secret` or `$env` form has been replaced by a `Secret`. */
export const fleetSchema = z
  .strictObject({
    version: z.literal(1).describe('Format of this file.'),
    database: secretTextSetting(addressIn('fleet file'), {
      description: 'Address of the PostgreSQL database. Default: an embedded database, which supports one process.',
      examples: [{ $secret: 'FLEET_DATABASE_URL' }],
    }).optional(),
    sources: z
      .record(name, source)
      .refine((sources) => Object.keys(sources).length > 0, { error: 'expected at least one source' })
      .describe('Sources of projects, by name.'),
    workspaces: z
      .record(z.string().min(1), rule)
      .describe('Settings by address, SOURCE/PROJECT:WORKSPACE; * matches any text, and the first match wins.')
      .optional(),
    limits: z
      .strictObject({
        concurrency: z
          .int()
          .min(1)
          .max(1024)
          .meta({ description: 'Maximum number of concurrent requests; default: 64.', examples: [64] }),
        runs: z
          .int()
          .min(1)
          .max(256)
          .meta({ description: 'Maximum number of concurrent runs; default: 8.', examples: [8] }),
        values: z
          .int()
          .min(1000)
          .meta({
            description: 'Maximum number of values in all manifests of one project together; default: 1000000.',
            examples: [1_000_000],
          }),
        characters: z
          .int()
          .min(1_000_000)
          .meta({
            description:
              'Maximum number of characters of the resources of one workspace, with their files and defaults; default: 16000000.',
            examples: [16_000_000],
          }),
      })
      .partial()
      .describe('Limits of one process.')
      .optional(),
    policies: policiesSchema().describe('Policy rules for every project, in CEL.').optional(),
    address: httpsAddress
      .meta({
        description: 'Public address of the page, for links in statuses, comments and notifications.',
        examples: ['https://voxform.example.com'],
      })
      .optional(),
    sign_in: signIn.optional(),
    notify: z
      .array(
        z
          .strictObject({
            url: secretTextSetting(z.url({ protocol: /^https?$/, error: 'expected an http or https URL' }), {
              description: 'URL to send to. Use { $secret: NAME } for a secret URL.',
              examples: [{ $secret: 'CHAT_WEBHOOK' }],
            }),
          })
          .describe('A webhook.'),
      )
      .describe('Webhooks that are notified when the fleet is frozen or resumed.')
      .optional(),
    timeout: durationSetting('1s', '1d')
      .meta({ description: 'Maximum duration of one run; default: 10m.', examples: ['10m'] })
      .optional(),
    retention: durationSetting('1h', '3650d')
      .meta({ description: 'Time for which runs are kept; default: 90d.', examples: ['90d'] })
      .optional(),
  })
  .refine(({ sign_in: own, address = '' }) => own === undefined || isPageAddress(own.address ?? address), {
    error: 'needs address, here or at the top level: the public https address of the page, without a path',
    path: ['sign_in'],
  })
  .describe('A fleet: many workspaces, reconciled by any number of processes that share one database.');

export function fleetJsonSchema(): JsonObject {
  const { env, secret } = formDefinitions;
  return {
    $schema: DRAFT,
    title: 'voxform fleet',
    ...settingsJsonSchema(fleetSchema),
    $defs: { env, secret },
  };
}

/** Normalizes `./clients/*` and `clients/*\/` to `clients/*`. */
export function plainPattern(pattern: string): string {
  return withoutDotSlash(pattern).replace(/\/+$/, '') || '.';
}

function isEncrypted(address: string): boolean {
  const url = URL.parse(address);
  return url !== null && (url.protocol === 'https:' || isLoopback(url.hostname));
}

/** Returns true for an encrypted address without a path. The page must be at the root of its host. */
function isPageAddress(address: string): boolean {
  return isEncrypted(address) && new URL(address).pathname === '/';
}

function isOutsideSource(text: string): boolean {
  const parts = text.replace(/^!/, '').split(/[/\\]/);
  return (
    text.replace(/^!/, '').startsWith('/') ||
    parts.some((part) => part === '..' || part === '.git') ||
    /^[A-Za-z]:$/.test(parts[0] ?? '')
  );
}
