import { loadRules, projectDiagnostics, withPolicies } from '../policies/load-rules.ts';
import type { ExternalPolicies } from '../policies/rule.ts';
import { compareDiagnostics, type Diagnostic } from '../problems/diagnostic.ts';
import { InvalidProject } from '../project/invalid-project.ts';
import { type LoadDesiredOptions, loadDesired } from '../project/load-desired.ts';
import { loadProject } from '../project/load-project.ts';
import type { LocalPaths } from '../project/local-paths.ts';
import type { Desired, ProjectConfig, WorkspaceConfig } from '../project/project.ts';
import { type ReadDeclarations, readDeclarations } from '../project/read-declarations.ts';
import { selectWorkspaces } from '../project/select-workspace.ts';
import { strayManifests } from '../project/stray-manifests.ts';

interface ValidateProject extends Pick<LoadDesiredOptions, 'kinds' | 'lookups' | 'env' | 'signal' | 'memory'> {
  readonly cwd: string;
  readonly cacheFolder?: string | undefined;
  /** `undefined` means the workspace that the environment or the project selects. */
  readonly names: readonly (string | undefined)[] | 'all';
  readonly mode: 'without-secrets' | 'offline' | 'offline-with-secrets';
  readonly policies: ExternalPolicies | undefined;
  /** The folders that may contain state and secrets. If absent, any folder may, and paths are relative to the project folder. */
  readonly local?: LocalPaths | undefined;
  /** If true, the source positions of the spec fields are returned even if there are no rules. */
  readonly withSources?: boolean | undefined;
}

interface ValidatedWorkspace extends Desired {
  readonly name: string | undefined;
  /** Undefined if the project file is invalid. */
  readonly workspace: WorkspaceConfig | undefined;
}

interface ValidatedProject {
  /** Undefined if the project file is invalid. */
  readonly project?: ProjectConfig;
  readonly read?: ReadDeclarations;
  readonly workspaces: readonly ValidatedWorkspace[];
}

/**
 * Finds all problems of a project, its manifests and its rules for each workspace. The files are read once.
 * @throws UserError for an unknown workspace.
 */
export async function validateProject(options: ValidateProject): Promise<ValidatedProject> {
  const { cwd, env, cacheFolder, names, signal, policies, local, mode } = options;
  try {
    const readsElsewhere = mode !== 'without-secrets';
    const project = await loadProject({ cwd, env, cacheFolder, local, readsElsewhere });
    const selected = selectWorkspaces(project, names, env);
    const read = await readDeclarations(project, options);
    const strays = strayManifests(project);
    const ruleSet = await loadRules(project, policies);
    const withSources = options.withSources === true || ruleSet.rules.length > 0;
    const workspaces = [];
    for (const workspace of selected) {
      const { name } = workspace;
      const desired = await loadDesired({ ...options, project, workspace, declarations: read, withSources });
      const diagnostics = [...desired.diagnostics, ...strays].sort(compareDiagnostics);
      const all = { ...desired, diagnostics };
      const checked = await withPolicies(all, ruleSet, { root: project.root, workspace, signal });
      workspaces.push({ name, workspace, ...checked });
    }
    return { project, read, workspaces };
  } catch (error) {
    if (!(error instanceof InvalidProject)) throw error;
    return { workspaces: await partialDiagnostics(error, options) };
  }
}

/** Returns the problems of each workspace that can be found despite an invalid project file. */
async function partialDiagnostics(error: InvalidProject, options: ValidateProject): Promise<ValidatedWorkspace[]> {
  const wanted = options.names === 'all' ? Object.keys(error.usable?.workspaces ?? {}) : options.names;
  const found = [];
  for (const name of wanted.length === 0 ? [undefined] : wanted) {
    const diagnostics = await projectDiagnostics(error, { ...options, name });
    found.push({ name, workspace: undefined, resources: [], diagnostics });
  }
  return found;
}

/** A problem, with the workspaces that have it. */
interface SharedDiagnostic extends Diagnostic {
  readonly workspaces: readonly string[];
}

/** Merges equal problems of several workspaces, in the order of `compareDiagnostics`. */
export function sharedDiagnostics(
  found: readonly Pick<ValidatedWorkspace, 'name' | 'diagnostics'>[],
): SharedDiagnostic[] {
  const merged = new Map<string, { readonly diagnostic: Diagnostic; readonly workspaces: string[] }>();
  for (const { name = '', diagnostics } of found) {
    for (const diagnostic of diagnostics) {
      const { severity, code, message, file, line, column, path } = diagnostic;
      const key = JSON.stringify([severity, code, message, file, line, column, path]);
      const entry = merged.get(key) ?? { diagnostic, workspaces: [] };
      if (!entry.workspaces.includes(name)) entry.workspaces.push(name);
      merged.set(key, entry);
    }
  }
  return [...merged.values()]
    .map(({ diagnostic, workspaces }) => ({ ...diagnostic, workspaces }))
    .sort(compareDiagnostics);
}
