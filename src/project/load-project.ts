import path from 'node:path';
import { realPathOf, statusOf } from '../files/input-files.ts';
import { type DocumentCache, documentKey, ParseCache } from '../manifests/parse-cache.ts';
import { readTextFile, reasonOf } from '../manifests/read-file.ts';
import type { Environment, SecretReader } from '../manifests/secret-reader.ts';
import { UserError } from '../problems/user-error.ts';
import { fileKey } from '../state/seal.ts';
import type { Json } from '../values/json.ts';
import { Secret } from '../values/value.ts';
import { checkProject } from './check-project.ts';
import { PROJECT_FILE, projectFileIn } from './find-project.ts';
import { InvalidProject } from './invalid-project.ts';
import type { LocalPaths } from './local-paths.ts';
import type { ProjectConfig } from './project.ts';
import { overrides } from './select-workspace.ts';
import { type TrustedProject, withTrustedSettings } from './trusted-settings.ts';
import { STAND_INS } from './workspace-settings.ts';

/** The settings that the process read at startup. Later runs use them, so that changed files cannot redirect requests. */
export interface ProjectAtStartup {
  /** The secrets of each workspace. */
  readonly secrets: ReadonlyMap<string, SecretReader>;
  /** The environment variables that `$env` may use. Other variables may contain secrets of this process. */
  readonly variables: ReadonlySet<string>;
  /** @throws UserError if settings changed that control where requests, secrets and states are sent. */
  check(document: Json, project: ProjectConfig): void;
  /**
   * Returns machine-specific settings, which are read only once for each name.
   * @throws UserError if they were not read at startup, because later reads are not allowed.
   */
  once<T>(name: string, read: () => Promise<T>): Promise<T>;
}

interface LoadProjectOptions {
  readonly cwd: string;
  readonly env: Environment;
  /** Limits the folders of `state.path` and `secrets_dir`. If absent, any folder is allowed, relative to the project folder. */
  readonly local?: LocalPaths | undefined;
  /** Absolute path of the folder in which parsed manifests are cached. If absent, nothing is cached. */
  readonly cacheFolder?: string | undefined;
  /** A trusted version of the project. Its settings override those of the file. */
  readonly trusted?: TrustedProject | undefined;
  /** False for an untrusted project. Files outside its folder are then not read. */
  readonly readsElsewhere?: boolean | undefined;
  /** The settings that were read at the start of the process. They are not read again. */
  readonly startup?: Pick<ProjectAtStartup, 'secrets' | 'check'> | undefined;
}

/**
 * Loads the project in a folder from its `voxform.yaml`, or else from the environment.
 * @throws InvalidProject with all problems of the file.
 * @throws UserError if neither the file nor the environment defines a project.
 */
export async function loadProject(options: LoadProjectOptions): Promise<ProjectConfig> {
  const { cwd, env, local, cacheFolder, startup } = options;
  const root = realFolder(cwd);
  const settings = cacheFolder === undefined ? undefined : new ParseCache(cacheFolder, path.join(root, PROJECT_FILE));
  const file = projectFileIn(root);
  if (file !== undefined) {
    const read = readTextFile(path.join(root, file), root);
    if ('text' in read) return await parseProject(read.text, { ...options, root, file, settings });
    throw new InvalidProject([{ severity: 'error', file, ...read.problem }]);
  }
  const { baseUrl, workspaceId, apiKey } = overrides(env);
  if (baseUrl === undefined || workspaceId === undefined || apiKey === undefined) throw noProjectError(root);
  const project = await parseProject(FROM_ENVIRONMENT, {
    root,
    file: undefined,
    env,
    local,
    cacheFolder,
    settings,
    startup,
  });
  const fromEnvironment = { baseUrl, workspaceId, apiKey: new Secret('VOXFORM_API_KEY', apiKey) };
  const workspaces = Object.entries(project.workspaces).map(([name, config]) => [
    name,
    { ...config, ...fromEnvironment },
  ]);
  return { ...project, file: undefined, workspaces: Object.fromEntries(workspaces) };
}

/** The project file that corresponds to settings from the environment. */
const FROM_ENVIRONMENT = JSON.stringify({
  version: 1,
  default_workspace: 'default',
  workspaces: { default: STAND_INS },
});

function realFolder(cwd: string): string {
  try {
    return realPathOf(cwd);
  } catch (error) {
    throw folderError(cwd, reasonOf(error));
  }
}

function folderError(folder: string, reason: string): UserError {
  return new UserError(`cannot open the folder ${folder}: ${reason}`, {
    hint: 'Pass a project folder with -C DIR, or create one: voxform init DIR',
  });
}

function noProjectError(root: string): UserError {
  if (statusOf(root)?.isFile()) return folderError(root, 'the path is a file');
  return new UserError(`no ${PROJECT_FILE} in ${root}`, {
    hint: 'Create a project with voxform init, pass a project folder with -C DIR, or set VOXFORM_BASE_URL, VOXFORM_WORKSPACE_ID and VOXFORM_API_KEY.',
  });
}

interface ParseProjectOptions extends Omit<LoadProjectOptions, 'cwd'> {
  /** The project folder, a real path. */
  readonly root: string;
  readonly file: string | undefined;
  /** The cache for the contents of a valid project file. */
  readonly settings?: DocumentCache | undefined;
}

/**
 * Loads the project whose `voxform.yaml` has this text.
 * @throws InvalidProject
 */
export async function parseProject(text: string, options: ParseProjectOptions): Promise<ProjectConfig> {
  const { root, file = PROJECT_FILE, env, local, cacheFolder, settings, trusted, readsElsewhere, startup } = options;
  const key = documentKey(text);
  const known = settings?.get(key)?.documents[0];
  const { value, findings } = known
    ? { ...known, findings: [] }
    : // This loads the YAML parser, which is not needed if all files are cached.
      (await import('../manifests/parse-documents.ts')).onlyDocument(text, { file, name: 'the project file' });
  const effective = value !== undefined && trusted ? withTrustedSettings(value, trusted.document) : value;
  const checked =
    effective === undefined
      ? undefined
      : checkProject(effective, {
          ...{ root, settingsRoot: trusted?.project.root, local, env, file, readsElsewhere },
          secrets: startup?.secrets,
        });
  const all = [...findings, ...(checked?.findings ?? [])];
  const project = checked?.project && { ...checked.project, documents: cacheOf(checked.project, root, cacheFolder) };
  if (value === undefined || project === undefined || all.length > 0) {
    const { locate } = await import('../manifests/positions.ts');
    throw new InvalidProject(
      locate(all, (each) => path.join(root, each)),
      project,
    );
  }
  startup?.check(value, project);
  if (known === undefined) settings?.set(key, { documents: [{ index: 0, line: 1, value }], problems: [] });
  await settings?.endRound();
  return project;
}

/** Returns the cache of parsed manifests. It contains the same prompts as the states, so it is sealed if any state is sealed. */
function cacheOf(
  { workspaces }: Pick<ProjectConfig, 'workspaces'>,
  root: string,
  cacheFolder: string | undefined,
): ParseCache | undefined {
  if (cacheFolder === undefined) return undefined;
  const seals = Object.values(workspaces).flatMap(({ state: { seal } }) => seal ?? []);
  if (seals.length === 0) return new ParseCache(cacheFolder, root);
  return new ParseCache(cacheFolder, root, () => seals.map(fileKey).find((key) => key !== undefined));
}
