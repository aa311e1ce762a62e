import type { Resource } from '../manifests/resource.ts';
import { loadRules } from '../policies/load-rules.ts';
import { withPolicies } from '../policies/manifest-diagnostics.ts';
import type { OtherPolicies } from '../policies/policy-source.ts';
import { projectDiagnostics } from '../policies/project-diagnostics.ts';
import { compareDiagnostics, type Diagnostic } from '../problems/diagnostic.ts';
import { InvalidProject } from '../project/invalid-project.ts';
import { type LoadDesiredOptions, loadDesired } from '../project/load-desired.ts';
import { loadProject } from '../project/load-project.ts';
import { readDeclarations } from '../project/read-declarations.ts';
import { selectWorkspaces } from '../project/select-workspace.ts';
import { strayManifests } from '../project/stray-manifests.ts';

interface ValidateWorkspaces extends Pick<LoadDesiredOptions, 'kinds' | 'lookups' | 'env' | 'signal'> {
  readonly cwd: string;
  readonly cacheFolder?: string | undefined;
  readonly names: readonly string[] | 'all';
  readonly mode: 'offline' | 'offline-with-secrets';
  readonly policies: OtherPolicies | undefined;
}

/** A problem, with the workspaces that have it. */
interface SharedDiagnostic extends Diagnostic {
  readonly workspaces: readonly string[];
}

interface Validated {
  readonly workspaces: readonly { readonly name: string; readonly resources: readonly Resource[] }[];
  /** Each once, in the order of `compareDiagnostics`. */
  readonly diagnostics: readonly SharedDiagnostic[];
}

/**
 * What is wrong in the project and its manifests for each of the workspaces. The files are read once.
 * @throws UserError where a workspace is not known.
 */
export async function validateWorkspaces(options: ValidateWorkspaces): Promise<Validated> {
  const { cwd, env, cacheFolder, names, kinds, lookups, mode, signal, policies } = options;
  try {
    const project = await loadProject({ cwd, env, cacheFolder });
    const selected = selectWorkspaces(project, { names, env, requireKey: false });
    const declarations = await readDeclarations(project, { kinds, lookups, signal });
    const strays = strayManifests(project);
    const ruleSet = await loadRules(project, policies);
    const withSources = ruleSet.rules.length > 0;
    const loaded = [];
    for (const workspace of selected) {
      const { name } = workspace;
      const common = { project, kinds, lookups, env, mode, signal, declarations, withSources };
      const desired = await loadDesired({ ...common, workspace });
      const all = { ...desired, diagnostics: [...desired.diagnostics, ...strays] };
      loaded.push({ name, ...(await withPolicies(all, ruleSet, { project, workspace: name, signal })) });
    }
    return { workspaces: loaded, diagnostics: shared(loaded) };
  } catch (error) {
    if (!(error instanceof InvalidProject)) throw error;
    return wrongProject(error, options);
  }
}

/** For a project file that cannot be used: what shows of each workspace in spite of it. */
async function wrongProject(
  error: InvalidProject,
  { names, kinds, lookups, env }: ValidateWorkspaces,
): Promise<Validated> {
  const known = Object.keys(error.usable?.workspaces ?? {});
  const wanted = names === 'all' ? known : names;
  const found = [];
  for (const name of wanted.length === 0 ? [undefined] : wanted) {
    const diagnostics = await projectDiagnostics(error, { kinds, lookups, env, name });
    found.push({ name: name ?? '', resources: [], diagnostics });
  }
  return { workspaces: wanted.map((name) => ({ name, resources: [] })), diagnostics: shared(found) };
}

/** What is the same in several workspaces is said once. */
function shared(
  found: readonly { readonly name: string; readonly diagnostics: readonly Diagnostic[] }[],
): SharedDiagnostic[] {
  const merged = new Map<string, { readonly diagnostic: Diagnostic; readonly workspaces: string[] }>();
  for (const { name, diagnostics } of found) {
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
