import { type Environment, isPlaceholder } from '../manifests/inputs.ts';
import { didYouMean } from '../problems/suggest.ts';
import { UserError } from '../problems/user-error.ts';
import { Secret } from '../values/value.ts';
import { overrides } from './overrides.ts';
import type { Project, WorkspaceConfig } from './project.ts';
import { projectSchema } from './project-schema.ts';

export interface SelectOptions {
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
export function selectWorkspace(project: Project, { name, env, requireKey }: SelectOptions): WorkspaceConfig {
  const override = overrides(env);
  const config = named(project, name ?? override.workspace ?? project.defaultWorkspace);
  const workspace: WorkspaceConfig = {
    ...config,
    baseUrl: override.baseUrl ?? config.baseUrl,
    workspaceId: override.workspaceId ?? config.workspaceId,
    apiKey: override.apiKey === undefined ? config.apiKey : new Secret('VOXFORM_API_KEY', override.apiKey),
    unset: (config.unset ?? []).filter(
      ({ setting }) => (setting === 'base_url' ? override.baseUrl : override.workspaceId) === undefined,
    ),
  };
  checkOverrides(workspace, override);
  if (requireKey) refuseUnset(workspace);
  return workspace;
}

function named({ workspaces }: Project, name: string | undefined): WorkspaceConfig {
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
function checkOverrides(
  { baseUrl, workspaceId }: WorkspaceConfig,
  override: ReturnType<typeof overrides>,
): void {
  if (override.apiKey !== undefined && isPlaceholder(override.apiKey)) {
    throw new UserError(
      'VOXFORM_API_KEY still has the placeholder of an export; replace it with the real key',
    );
  }
  const { base_url, workspace_id } = projectSchema.shape.workspaces.valueType.shape;
  const url = base_url.safeParse(baseUrl);
  if (override.baseUrl !== undefined && !url.success) {
    throw new UserError(
      `VOXFORM_BASE_URL: ${url.error.issues[0]?.message}, is ${JSON.stringify(withoutLogin(baseUrl))}`,
    );
  }
  const id = workspace_id.safeParse(workspaceId);
  if (override.workspaceId !== undefined && !id.success) {
    throw new UserError(
      `VOXFORM_WORKSPACE_ID: ${id.error.issues[0]?.message}, is ${JSON.stringify(workspaceId)}`,
    );
  }
}

/** An address that is refused for the password in it must not be shown with it. */
function withoutLogin(url: string): string {
  return url.replace(/\/\/.*@/s, '//...@');
}

function refuseUnset({ name, apiKey, unset = [] }: WorkspaceConfig): void {
  const [first] = unset;
  if (first !== undefined) {
    throw new UserError(
      `${first.setting} of the workspace ${name} needs the environment variable ${first.variable}, which is not set`,
    );
  }
  if (apiKey.isSet) return;
  const hint =
    apiKey.name === 'VOXFORM_API_KEY'
      ? `Set VOXFORM_API_KEY, or give the workspace an api_key: { $secret: NAME }.`
      : `Set ${apiKey.name} or VOXFORM_API_KEY, or put the key into a file ${apiKey.name} in the workspace's secrets_dir.`;
  throw new UserError(`the API key of the workspace ${name} is not set`, { hint });
}
