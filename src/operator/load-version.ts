import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { kinds, lookups } from '../kinds/index.ts';
import { splitGlob } from '../manifests/glob.ts';
import { isInside } from '../manifests/read-file.ts';
import type { Resource } from '../manifests/resource.ts';
import { loadRules } from '../policies/load-rules.ts';
import type { Diagnostic } from '../problems/diagnostic.ts';
import { UserError } from '../problems/user-error.ts';
import { PROJECT_FILES } from '../project/find-project.ts';
import { InvalidProject } from '../project/invalid-project.ts';
import { loadDesired } from '../project/load-desired.ts';
import { loadProject } from '../project/load-project.ts';
import type { LocalPaths } from '../project/local-paths.ts';
import type { ProjectConfig, WorkspaceConfig } from '../project/project.ts';
import { type ReadDeclarations, readDeclarations } from '../project/read-declarations.ts';
import { readCredentials, selectWorkspace } from '../project/select-workspace.ts';
import type { TrustedProject } from '../project/trusted-settings.ts';
import { fileUses } from '../project/write-back/edit-planner.ts';
import { OpenWorkspace } from '../runs/open-workspace.ts';
import type { RunContext } from '../runs/run-context.ts';
import { type InputFiles, LastLoad, type LoadedFiles } from './last-load.ts';
import type { Invalid } from './run-report.ts';
import type { FetchResult, ManifestSource, Version } from './source.ts';

export interface LoadedVersion {
  readonly version: Version;
  readonly opened: OpenWorkspace;
  readonly resources: readonly Resource[];
  readonly warnings: readonly Diagnostic[];
}

type LoadResult = { readonly inputs: InputFiles } & (
  | { readonly loaded: LoadedVersion }
  | { readonly invalid: Invalid }
);

interface LoadingOptions {
  readonly version: Version;
  /** Restricts the folders for state and secrets. If undefined, any folder is allowed, and paths are relative to the project folder. */
  readonly local: LocalPaths | undefined;
  /** The cache of an earlier load with the same environment variables. */
  readonly last: LastLoad;
  /** Trusted settings that override those of the project file. */
  readonly trusted?: TrustedProject | undefined;
}

/** Loads the manifests and secrets of a version. Returns diagnostics if they are invalid. Throws only for bugs and interruptions. */
export async function loadVersion(
  context: RunContext,
  { version, local, last, trusted }: LoadingOptions,
): Promise<LoadResult> {
  const { env } = context;
  let inputs: InputFiles = { folders: [], files: projectFilesOf(version.folder), secretFolders: [] };
  try {
    refuseOutside(version);
    const key = JSON.stringify([version.folder, version.checkout, context.workspace, local]);
    const load = await last.load(key, async (documents): Promise<LoadedFiles> => {
      const project = await loadProject({ cwd: version.folder, env, local, trusted });
      const workspace = selectWorkspace(project, { name: context.workspace, env });
      await readCredentials([workspace], context.interrupts.requests);
      const ruleSet = await loadRules(project, context.policies);
      const known = { kinds, lookups };
      const declarations = await readDeclarations(project, { ...known, documents });
      inputs = inputsOf(project, workspace, { ...declarations, policies: context.policies });
      const withSources = ruleSet.rules.length > 0;
      const source = { project, workspace, ...known, env, declarations, withSources };
      const desired = await loadDesired({ ...source, mode: 'live', signal: context.interrupts.requests });
      return { project, workspace, inputs, desired, ruleSet };
    });
    inputs = load.inputs;
    const opened = new OpenWorkspace({ ...context, local, memory: last }, load);
    opened.remember(load.desired);
    opened.ruleSet = load.ruleSet;
    const { resources } = load.desired;
    const diagnostics = [...load.desired.diagnostics, ...load.ruleSet.diagnostics];
    if (diagnostics.some(({ severity }) => severity === 'error'))
      return { inputs, invalid: { diagnostics, error: undefined } };
    return { inputs, loaded: { version, opened, resources, warnings: diagnostics } };
  } catch (error) {
    // After an interruption, it is unknown whether the manifests are valid.
    if (context.interrupts.requests.aborted) throw error;
    if (error instanceof InvalidProject)
      return { inputs, invalid: { diagnostics: error.diagnostics, error: undefined } };
    if (error instanceof UserError) return { inputs, invalid: { diagnostics: [], error } };
    throw error;
  }
}

/** Returns the files that a load of a project depends on. */
export function inputsOf(
  project: ProjectConfig,
  { secrets }: WorkspaceConfig,
  { declarations, policies }: Pick<ReadDeclarations, 'declarations'> & Pick<RunContext, 'policies'>,
): InputFiles {
  const { root, manifests } = project;
  const bases = manifests
    .filter((pattern) => !pattern.startsWith('!'))
    .map((pattern) => path.resolve(root, splitGlob(pattern).base));
  const policyFiles = (policies?.files ?? []).map(({ path }) => path);
  return {
    folders: [...new Set(bases)],
    files: [...projectFilesOf(root), ...fileUses(project, declarations).keys(), ...policyFiles],
    secretFolders: secrets.folders,
  };
}

/** Throws if the folder is missing or outside the repository. The folder may be a symbolic link to another folder in the repository. */
function refuseOutside({ folder, checkout, commit }: Version): void {
  if (checkout === undefined) return;
  if (!existsSync(folder)) {
    const relative = path.relative(checkout, folder).replaceAll('\\', '/');
    throw new UserError(`the repository has no folder ${relative} at commit ${commit}`, {
      hint: 'Set --path to the project folder in the repository.',
    });
  }
  if (isInside(realpathSync(folder), realpathSync(checkout))) return;
  throw new UserError('--path is outside the repository, because of a symbolic link', {
    hint: 'Set --path to a folder in the repository.',
  });
}

function projectFilesOf(folder: string): string[] {
  return PROJECT_FILES.map((name) => path.join(folder, name));
}

interface RefreshResult {
  /** The newest manifests if they are valid, otherwise the last valid ones. */
  readonly loaded: LoadedVersion | undefined;
  /** The problems of the newest manifests, if they are invalid. */
  readonly invalid: Invalid | undefined;
  readonly fetchProblem: unknown;
}

export interface LastGoodOptions {
  readonly context: RunContext;
  readonly source: ManifestSource;
  /** Restricts the folders for state and secrets. If undefined, any folder is allowed, and paths are relative to the project folder. */
  readonly local: LocalPaths | undefined;
  /** The cache of an earlier run of the workspace. */
  readonly last?: LastLoad | undefined;
  /** Watches the files that a load used. Returns true if additional files are watched. They may have changed since the load. */
  watchFiles(inputs: InputFiles): Promise<boolean>;
}

/** The maximum number of consecutive loads if each load finds more files to watch, for example because a link keeps changing. */
const MAX_LOADS = 3;

/** Loads the newest manifests, and keeps the last valid ones. */
export class LastGoodManifests {
  readonly #options: LastGoodOptions;
  readonly #last: LastLoad;
  #loaded: LoadedVersion | undefined;

  constructor(options: LastGoodOptions) {
    this.#options = options;
    this.#last = options.last ?? new LastLoad();
  }

  /** The last valid manifests. */
  get loaded(): LoadedVersion | undefined {
    return this.#loaded;
  }

  /** Fetches and loads the newest manifests. Throws if they cannot be fetched and there are no earlier ones. */
  async refresh(signal: AbortSignal): Promise<RefreshResult> {
    const { source } = this.#options;
    const fetched = await source.fetch(signal);
    const invalid = await this.#load(fetched);
    if (invalid === undefined) await source.keep(fetched);
    else if (this.#loaded === undefined) await this.#fallBack(fetched);
    return { loaded: this.#loaded, invalid, fetchProblem: fetched.problem };
  }

  async #load(version: Version): Promise<Invalid | undefined> {
    const { context, local, watchFiles } = this.#options;
    for (let loads = 1; ; loads++) {
      const result = await loadVersion(context, { version, local, last: this.#last });
      if ((await watchFiles(result.inputs)) && loads < MAX_LOADS) continue;
      if ('invalid' in result) return result.invalid;
      this.#loaded = result.loaded;
      return undefined;
    }
  }

  /** Loads the last valid version, which the source may still have after a restart. */
  async #fallBack(newest: FetchResult): Promise<void> {
    const lastGood = await this.#options.source.lastGood();
    if (lastGood !== undefined && lastGood.folder !== newest.folder) await this.#load(lastGood);
  }
}
