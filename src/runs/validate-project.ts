import { loadRules } from '../policies/load-rules.ts';
import { withPolicies } from '../policies/manifest-diagnostics.ts';
import type { OtherPolicies } from '../policies/policy-source.ts';
import { projectDiagnostics } from '../policies/project-diagnostics.ts';
import { compareDiagnostics, type Diagnostic } from '../problems/diagnostic.ts';
import { InvalidProject } from '../project/invalid-project.ts';
import { type LoadDesiredOptions, loadDesired } from '../project/load-desired.ts';
import { loadProject } from '../project/load-project.ts';
import type { Desired, ProjectConfig, WorkspaceConfig } from '../project/project.ts';
import { type ReadDeclarations, readDeclarations } from '../project/read-declarations.ts';
import { selectWorkspaces } from '../project/select-workspace.ts';
import { strayManifests } from '../project/stray-manifests.ts';

export interface ValidateProject
  extends Pick<LoadDesiredOptions, 'kinds' | 'lookups' | 'env' | 'signal' | 'memory'> {
  readonly cwd: string;
  readonly cacheFolder?: string | undefined;
  /** Undefined among them for the one that the environment or the project selects. */
  readonly names: readonly (string | undefined)[] | 'all';
  readonly mode: 'offline' | 'offline-with-secrets';
  readonly policies: OtherPolicies | undefined;
  /** Keeps where the parts of each spec were written, also without rules. */
  readonly withSources?: boolean | undefined;
}

interface ValidatedWorkspace extends Desired {
  readonly name: string | undefined;
  /** Undefined where the project file cannot be used. */
  readonly workspace: WorkspaceConfig | undefined;
}

interface ValidatedProject {
  /** Undefined where the project file cannot be used. */
  readonly project?: ProjectConfig;
  readonly read?: ReadDeclarations;
  readonly workspaces: readonly ValidatedWorkspace[];
}

/**
 * What is wrong in the project, its manifests and its rules for each of the workspaces. The files are read once.
 * @throws UserError where a workspace is not known.
 */
export async function validateProject(options: ValidateProject): Promise<ValidatedProject> {
  const { cwd, env, cacheFolder, names, signal, policies } = options;
  try {
    const project = await loadProject({ cwd, env, cacheFolder });
    const selected = selectWorkspaces(project, { names, env });
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
      const judged = await withPolicies(all, ruleSet, { project, workspace, signal });
      workspaces.push({ name, workspace, ...judged });
    }
    return { project, read, workspaces };
  } catch (error) {
    if (!(error instanceof InvalidProject)) throw error;
    return { workspaces: await inSpiteOf(error, options) };
  }
}

/** For a project file that cannot be used: what shows of each workspace in spite of it. */
async function inSpiteOf(error: InvalidProject, options: ValidateProject): Promise<ValidatedWorkspace[]> {
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

/** What is the same in several workspaces once, in the order of `compareDiagnostics`. */
export function sharedDiagnostics(
  found: readonly Pick<ValidatedWorkspace, 'name' | 'diagnostics'>[],
): SharedDiagnostic[] {
  const merged = new Map<string, { readonly diagnostic: Diagnostic; readonly workspaces: string[] }>();
  for (const { name = '', diagnostics } of found) {
    for (const diagnostic of diagnostics) {
      const { severity, code, message, file, line, column, path } = diagnostic;
      const key = JSON.stringify([severity, code, message, file, line, column, path]);
      const known = merged.get(key) ?? { diagnostic, workspaces: [] };
      if (!known.workspaces.includes(name)) known.workspaces.push(name);
      merged.set(key, known);
    }
  }
  return [...merged.values()]
    .map(({ diagnostic, workspaces }) => ({ ...diagnostic, workspaces }))
    .sort(compareDiagnostics);
}
