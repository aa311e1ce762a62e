import { type Environment, isPlaceholder } from '../manifests/secret-reader.ts';
import { normalizedBaseUrl } from '../platform/base-url.ts';
import { didYouMean } from '../problems/suggest.ts';
import { UserError, usageError } from '../problems/user-error.ts';
import { Secret } from '../values/value.ts';
import type { ProjectConfig, WorkspaceConfig } from './project.ts';
import { baseUrlSchema, workspaceIdSchema } from './project-schema.ts';

interface SelectOptions {
  /** The name on the command line, if given. */
  readonly name: string | undefined;
  readonly env: Environment;
  /** Overrides the API key of the environment and of the project. */
  readonly apiKey?: Secret | undefined;
}

/**
 * Returns the workspace that is selected by the command line, `VOXFORM_WORKSPACE` or `default_workspace`, or else the only workspace.
 * Applies the overrides of the environment. Does not read the secrets of the workspace.
 * @throws UserError if no workspace is selected or if the name is unknown.
 */
export function selectWorkspace(project: ProjectConfig, { name, env, apiKey }: SelectOptions): WorkspaceConfig {
  const override = overrides(env);
  const fromEnv = override.apiKey === undefined ? undefined : new Secret('VOXFORM_API_KEY', override.apiKey);
  const config = findWorkspace(project, name ?? override.workspace ?? project.defaultWorkspace);
  const overriding = { base_url: override.baseUrl, workspace_id: override.workspaceId };
  const workspace: WorkspaceConfig = {
    ...config,
    baseUrl: override.baseUrl ?? config.baseUrl,
    workspaceId: override.workspaceId ?? config.workspaceId,
    apiKey: apiKey ?? fromEnv ?? config.apiKey,
    unset: (config.unset ?? []).filter(({ setting }) => overriding[setting] === undefined),
  };
  checkOverrides(workspace, override);
  return workspace;
}

function findWorkspace({ workspaces }: ProjectConfig, name: string | undefined): WorkspaceConfig {
  const names = Object.keys(workspaces).sort();
  const list = `The project has ${names.length === 1 ? 'one workspace' : `${names.length} workspaces`}: ${names.join(', ')}.`;
  const selected = name ?? (names.length === 1 ? names[0] : undefined);
  if (selected === undefined) {
    const hint = `${list} Select one with -w NAME, VOXFORM_WORKSPACE or default_workspace.`;
    throw new UserError('no workspace selected', { hint });
  }
  const config = Object.hasOwn(workspaces, selected) ? workspaces[selected] : undefined;
  if (config === undefined) {
    throw new UserError(`unknown workspace "${selected}"${didYouMean(selected, names)}`, { hint: list });
  }
  return config;
}

/** Checks overrides with the same rules as the project file. */
function checkOverrides({ baseUrl, workspaceId }: WorkspaceConfig, override: Overrides): void {
  if (override.apiKey !== undefined && isPlaceholder(override.apiKey)) {
    throw new UserError('VOXFORM_API_KEY still has the placeholder from an export; replace it with the real key');
  }
  const url = override.baseUrl === undefined ? undefined : baseUrlSchema().safeParse(baseUrl);
  if (url?.error !== undefined) {
    // The URL may be invalid because it contains a password, so it must not be printed completely.
    throw new UserError(
      `VOXFORM_BASE_URL: ${url.error.issues[0]?.message}, got ${JSON.stringify(baseUrl.replace(/\/\/.*@/s, '//...@'))}`,
    );
  }
  const id = override.workspaceId === undefined ? undefined : workspaceIdSchema().safeParse(workspaceId);
  if (id?.error !== undefined) {
    throw new UserError(`VOXFORM_WORKSPACE_ID: ${id.error.issues[0]?.message}, got ${JSON.stringify(workspaceId)}`);
  }
}

/** Returns the workspaces with these names, or all of them in the order of the project file. See `selectWorkspace` for an undefined name. */
export function selectWorkspaces(
  project: ProjectConfig,
  names: readonly (string | undefined)[] | 'all',
  env: Environment,
): WorkspaceConfig[] {
  const selected = names === 'all' ? Object.keys(project.workspaces) : names;
  return selected.map((name) => selectWorkspace(project, { name, env }));
}

/**
 * Reads the secrets that the settings of these workspaces use.
 * @throws UserError if the base URL, the workspace id or the API key of any of them is missing.
 */
export async function readCredentials(workspaces: readonly WorkspaceConfig[], signal?: AbortSignal): Promise<void> {
  await Promise.all(workspaces.map(({ secrets }) => secrets.read(undefined, { signal })));
  const missing = workspaces.flatMap(missingSettings);
  if (missing.length === 0) return;
  const hint = hintFor(workspaces);
  throw new UserError(missing.join('\n'), hint === undefined ? {} : { hint });
}

function missingSettings({ name, apiKey, secrets, unset = [] }: WorkspaceConfig): string[] {
  const settings = unset.map(
    ({ setting, variable }) =>
      `${setting} of the workspace ${name} needs the environment variable ${variable}, which is not set`,
  );
  if (apiKey.isSet) return settings;
  const problem = secrets.problem(apiKey.name);
  const key =
    problem !== undefined && problem.code !== 'missing-secret'
      ? `the API key of the workspace ${name}: ${problem.message}`
      : `the API key of the workspace ${name} is not set: ${apiKey.name}`;
  return [...settings, key];
}

function hintFor(workspaces: readonly WorkspaceConfig[]): string | undefined {
  const [first, second] = workspaces;
  if (second !== undefined)
    return 'Each workspace needs its own settings: set the variables, or put each key where secrets in voxform.yaml looks.';
  if (first === undefined || first.apiKey.isSet) return undefined;
  const { name } = first.apiKey;
  if (name === 'VOXFORM_API_KEY')
    return 'Set VOXFORM_API_KEY in the environment or .env, or give the workspace an api_key: { $secret: NAME }.';
  const { code, message = '' } = first.secrets.problem(name) ?? {};
  // Only the sources of this workspace are read, so the hint must not name others.
  return code === 'missing-secret'
    ? `${message.replace('the', 'The')}. Set it in one of these places, or add one under secrets in voxform.yaml.`
    : undefined;
}

/** @throws UserError if the environment overrides settings that differ between workspaces. */
export function refuseOverrides(env: Environment): void {
  const { baseUrl, workspaceId, apiKey } = overrides(env);
  const set = Object.entries({
    VOXFORM_BASE_URL: baseUrl,
    VOXFORM_WORKSPACE_ID: workspaceId,
    VOXFORM_API_KEY: apiKey,
  }).flatMap(([variable, value]) => (value === undefined ? [] : [variable]));
  if (set.length === 0) return;
  throw usageError(
    `${set.join(' and ')} would apply to every selected workspace. Unset ${set.length === 1 ? 'it' : 'them'}.`,
    'Set base_url, workspace_id and api_key for each workspace in voxform.yaml.',
  );
}

interface Overrides {
  readonly workspace: string | undefined;
  readonly baseUrl: string | undefined;
  readonly workspaceId: string | undefined;
  readonly apiKey: string | undefined;
}

/** Returns the workspace settings from environment variables, which override the project file. An empty variable counts as unset. */
export function overrides(env: Environment): Overrides {
  return {
    workspace: env.VOXFORM_WORKSPACE || undefined,
    baseUrl: normalizedBaseUrl(env.VOXFORM_BASE_URL ?? '') || undefined,
    workspaceId: env.VOXFORM_WORKSPACE_ID || undefined,
    apiKey: env.VOXFORM_API_KEY || undefined,
  };
}
