import { SecretReader } from '../manifests/secret-reader.ts';
import { compareDiagnostics, type Diagnostic } from '../problems/diagnostic.ts';
import { UserError } from '../problems/user-error.ts';
import { locateState } from '../state/state-location.ts';
import { Secret } from '../values/value.ts';
import type { InvalidProject } from './invalid-project.ts';
import { type LoadDesiredOptions, loadDesired } from './load-desired.ts';
import type { ProjectConfig, WorkspaceConfig } from './project.ts';
import { selectWorkspace } from './select-workspace.ts';

interface AllDiagnosticsOptions extends Pick<LoadDesiredOptions, 'kinds' | 'lookups' | 'env' | 'signal' | 'memory'> {
  /** With `without-secrets`, no secret is read. The default is `offline`. */
  readonly mode?: LoadDesiredOptions['mode'] | undefined;
  /** The name of the workspace on the command line, if given. */
  readonly name: string | undefined;
}

/**
 * Returns the problems of an invalid project file, and further problems in the rest of the file and, if the workspace is known, in the
 * manifests. Omits further problems that may only be consequences of the problems in the file.
 */
export async function allDiagnostics(
  { diagnostics, usable }: InvalidProject,
  { name, kinds, lookups, env, signal, memory, mode }: AllDiagnosticsOptions,
): Promise<readonly Diagnostic[]> {
  if (usable === undefined) return diagnostics;
  const selected = trySelectWorkspace(usable, { name, env });
  const workspace = selected ?? Object.values(usable.workspaces)[0] ?? emptyWorkspace(usable);
  const known = { kinds, lookups, env, signal, memory };
  const desired = await loadDesired({
    ...known,
    project: usable,
    workspace,
    mode: mode === 'without-secrets' ? mode : 'offline',
  });
  const canCheckManifests = diagnostics.every(({ path = '' }) => UNRELATED_TO_RESOURCES.test(path));
  const further = desired.diagnostics.filter(
    (each) =>
      (selected !== undefined || each.file === usable.file) &&
      (canCheckManifests || !CONSEQUENCES.has(each.code)) &&
      !diagnostics.some((known) => known.file === each.file && areNested(known.path, each.path)),
  );
  return [...diagnostics, ...further].sort(compareDiagnostics);
}

/** Matches the paths of settings that do not affect the resources. */
const UNRELATED_TO_RESOURCES =
  /^(version|default_workspace|limits|guards|literal_variables|secrets|watch|notify|policies|workspaces\.("(\\.|[^"\\])*"|[^.]+)\.(base_url|workspace_id|api_key|state|secrets|secrets_dir|ca_file|dashboard))(?![^.[])/;

/** The codes of problems that may disappear once the project file is valid. */
const CONSEQUENCES: ReadonlySet<string> = new Set([
  'missing-field',
  'missing-var',
  'dangling-reference',
  'unknown-address',
  'no-match',
  'no-manifests',
]);

/** Returns true if one path equals or contains the other. */
function areNested(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const [outer, inner] = a.length < b.length ? [a, b] : [b, a];
  return inner.startsWith(outer) && ['', '.', '['].includes(inner.charAt(outer.length));
}

function trySelectWorkspace(
  project: ProjectConfig,
  { name, env }: Pick<AllDiagnosticsOptions, 'name' | 'env'>,
): WorkspaceConfig | undefined {
  try {
    return selectWorkspace(project, { name, env });
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}

/** Returns a placeholder for a project file whose workspaces are all invalid. */
function emptyWorkspace({ root }: ProjectConfig): WorkspaceConfig {
  return {
    name: '',
    baseUrl: '',
    workspaceId: '',
    apiKey: new Secret('', undefined),
    vars: {},
    patches: {},
    skip: [],
    secrets: new SecretReader([]),
    state: locateState(undefined, { workspace: '', root }),
  };
}
