import { type Environment, isPlaceholder } from '../manifests/inputs.ts';
import { didYouMean } from '../problems/suggest.ts';
import { misuse, UserError } from '../problems/user-error.ts';
import { Secret } from '../values/value.ts';
import { type Overrides, overrides } from './overrides.ts';
import type { ProjectConfig, WorkspaceConfig } from './project.ts';
import { baseUrlSchema, workspaceIdSchema } from './project-schema.ts';

interface SelectOptions {
  /** From the command line. */
  readonly name: string | undefined;
  readonly env: Environment;
  /** True where requests will be sent: base URL, workspace id and API key must be there. */
  readonly requireKey: boolean;
}

/**
 * The workspace that is named, by the command line, `VOXFORM_WORKSPACE` or the project, or the only one there is; with what the
 * environment overrides.
 * @throws UserError where none is meant or known by that name, or where something that is needed to reach it is missing.
 */
export function selectWorkspace(
  project: ProjectConfig,
  { name, env, requireKey }: SelectOptions,
): WorkspaceConfig {
  const override = overrides(env);
  const config = named(project, name ?? override.workspace ?? project.defaultWorkspace);
  const overriding = {
    base_url: override.baseUrl,
    workspace_id: override.workspaceId,
    api_key: override.apiKey,
  };
  const workspace: WorkspaceConfig = {
    ...config,
    baseUrl: override.baseUrl ?? config.baseUrl,
    workspaceId: override.workspaceId ?? config.workspaceId,
    apiKey: override.apiKey === undefined ? config.apiKey : new Secret('VOXFORM_API_KEY', override.apiKey),
    unset: (config.unset ?? []).filter(({ setting }) => overriding[setting] === undefined),
  };
  checkOverrides(workspace, override);
  if (requireKey) refuseUnset(workspace);
  return workspace;
}

function named({ workspaces }: ProjectConfig, name: string | undefined): WorkspaceConfig {
  const names = Object.keys(workspaces).sort();
  const list = `The project has ${names.length === 1 ? 'one workspace' : `${names.length} workspaces`}: ${names.join(', ')}.`;
  const chosen = name ?? (names.length === 1 ? names[0] : undefined);
  if (chosen === undefined) {
    const hint = `${list} Select one with -w NAME, VOXFORM_WORKSPACE or default_workspace.`;
    throw new UserError('no workspace selected', { hint });
  }
  const config = Object.hasOwn(workspaces, chosen) ? workspaces[chosen] : undefined;
  if (config === undefined) {
    throw new UserError(`unknown workspace "${chosen}"${didYouMean(chosen, names)}`, { hint: list });
  }
  return config;
}

/** The same limits as in the project file, where it would have been a diagnostic. */
function checkOverrides({ baseUrl, workspaceId }: WorkspaceConfig, override: Overrides): void {
  if (override.apiKey !== undefined && isPlaceholder(override.apiKey)) {
    throw new UserError(
      'VOXFORM_API_KEY still has the placeholder of an export; replace it with the real key',
    );
  }
  const url = override.baseUrl === undefined ? undefined : baseUrlSchema().safeParse(baseUrl);
  if (url?.error !== undefined) {
    // An address that is refused for the password in it must not be shown with it.
    throw new UserError(
      `VOXFORM_BASE_URL: ${url.error.issues[0]?.message}, is ${JSON.stringify(baseUrl.replace(/\/\/.*@/s, '//...@'))}`,
    );
  }
  const id = override.workspaceId === undefined ? undefined : workspaceIdSchema().safeParse(workspaceId);
  if (id?.error !== undefined) {
    throw new UserError(
      `VOXFORM_WORKSPACE_ID: ${id.error.issues[0]?.message}, is ${JSON.stringify(workspaceId)}`,
    );
  }
}

function refuseUnset(workspace: WorkspaceConfig): void {
  const { name, apiKey } = workspace;
  const [first] = unsetIn(workspace);
  if (first !== undefined) throw new UserError(first);
  if (apiKey.isSet) return;
  const hint =
    apiKey.name === 'VOXFORM_API_KEY'
      ? `Set VOXFORM_API_KEY in the environment or .env, or give the workspace an api_key: { $secret: NAME }.`
      : `Set ${apiKey.name} in the environment or .env, or put the key into a file ${apiKey.name} in the workspace's secrets_dir.`;
  throw new UserError(`the API key of the workspace ${name} is not set`, { hint });
}

interface SelectSeveral {
  /** In the order in which they are to be taken. Undefined among them as for `selectWorkspace`. */
  readonly names: readonly (string | undefined)[] | 'all';
  readonly env: Environment;
  /** True where requests will be sent: every workspace must then have all that is needed to reach it. */
  readonly requireKey: boolean;
}

/**
 * The workspaces of these names, or all of them in the order of the project file.
 * @throws UserError with everything that is missing in any of them, and where the environment overrides what it cannot mean for several.
 */
export function selectWorkspaces(
  project: ProjectConfig,
  { names, env, requireKey }: SelectSeveral,
): WorkspaceConfig[] {
  const chosen = names === 'all' ? Object.keys(project.workspaces) : names;
  if (requireKey && chosen.length > 1) refuseOverrides(env);
  const configs = chosen.map((name) => selectWorkspace(project, { name, env, requireKey: false }));
  const missing = requireKey ? configs.flatMap(missingIn) : [];
  if (missing.length === 0) return configs;
  throw new UserError(missing.join('\n'), {
    hint: 'Each workspace needs its own settings: set the variables, or put each key into a file of that name in the secrets_dir.',
  });
}

/** @throws UserError where the environment overrides what it cannot mean for several workspaces. */
export function refuseOverrides(env: Environment): void {
  const { baseUrl, workspaceId, apiKey } = overrides(env);
  const set = Object.entries({
    VOXFORM_BASE_URL: baseUrl,
    VOXFORM_WORKSPACE_ID: workspaceId,
    VOXFORM_API_KEY: apiKey,
  }).flatMap(([variable, value]) => (value === undefined ? [] : [variable]));
  if (set.length === 0) return;
  throw misuse(
    `${set.join(' and ')} would apply to every selected workspace. Unset ${set.length === 1 ? 'it' : 'them'}.`,
    'Set base_url, workspace_id and api_key for each workspace in voxform.yaml.',
  );
}

/** The key aside. */
function unsetIn({ name, unset = [] }: WorkspaceConfig): string[] {
  return unset
    .filter(({ setting }) => setting !== 'api_key')
    .map(
      ({ setting, variable }) =>
        `${setting} of the workspace ${name} needs the environment variable ${variable}, which is not set`,
    );
}

function missingIn(workspace: WorkspaceConfig): string[] {
  const { name, apiKey } = workspace;
  if (apiKey.isSet) return unsetIn(workspace);
  const key =
    apiKey.name === 'VOXFORM_API_KEY'
      ? `the workspace ${name} has no api_key: { $secret: NAME } of its own`
      : `the API key of the workspace ${name} is not set: ${apiKey.name}`;
  return [...unsetIn(workspace), key];
}
