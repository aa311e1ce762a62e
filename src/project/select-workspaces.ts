import type { Environment } from '../manifests/inputs.ts';
import { ExitCode, UserError } from '../problems/user-error.ts';
import { overrides } from './overrides.ts';
import type { Project, WorkspaceConfig } from './project.ts';
import { selectWorkspace } from './select-workspace.ts';

export interface SelectSeveral {
  /** In the order in which they are to be taken. */
  readonly names: readonly string[] | 'all';
  readonly env: Environment;
  /** True where requests will be sent: every workspace must then have all that is needed to reach it. */
  readonly requireKey: boolean;
}

/**
 * The workspaces of these names, or all of them in the order of the project file.
 * @throws UserError with everything that is missing in any of them, and where the environment overrides what it cannot mean for several.
 */
export function selectWorkspaces(
  project: Project,
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
  const [override, would] = set.length === 1 ? ['overrides', 'it would'] : ['override', 'they would'];
  throw new UserError(
    `${set.join(' and ')} ${override} the selected workspace, and several are selected: ${would} make all of them one`,
    {
      hint: 'Unset it, and set base_url, workspace_id and api_key for each workspace in the project file.',
      exitCode: ExitCode.usage,
    },
  );
}

function missingIn({ name, apiKey, unset = [] }: WorkspaceConfig): string[] {
  const settings = unset.map(
    ({ setting, variable }) =>
      `${setting} of the workspace ${name} needs the environment variable ${variable}, which is not set`,
  );
  if (apiKey.isSet) return settings;
  const key =
    apiKey.name === 'VOXFORM_API_KEY'
      ? `the workspace ${name} has no api_key: { $secret: NAME } of its own`
      : `the API key of the workspace ${name} is not set: ${apiKey.name}`;
  return [...settings, key];
}
