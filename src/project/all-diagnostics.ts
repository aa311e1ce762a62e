import { SecretReader } from '../manifests/secret-reader.ts';
import { compareDiagnostics, type Diagnostic } from '../problems/diagnostic.ts';
import { UserError } from '../problems/user-error.ts';
import { placeOf } from '../state/state-location.ts';
import { Secret } from '../values/value.ts';
import type { InvalidProject } from './invalid-project.ts';
import { type LoadDesiredOptions, loadDesired } from './load-desired.ts';
import type { ProjectConfig, WorkspaceConfig } from './project.ts';
import { selectWorkspace } from './select-workspace.ts';

interface FurtherOptions extends Pick<LoadDesiredOptions, 'kinds' | 'lookups' | 'env' | 'signal' | 'memory'> {
  /** Without secrets, none is read. */
  readonly mode?: LoadDesiredOptions['mode'] | undefined;
  /** The workspace, from the command line. */
  readonly name: string | undefined;
}

/**
 * The problems of an invalid project file, with all others that can be found despite them: in the rest of the file, and in the manifests
 * if the workspace is clear. Problems that may only be consequences are left out.
 */
export async function allDiagnostics(
  { diagnostics, usable }: InvalidProject,
  { name, kinds, lookups, env, signal, memory, mode }: FurtherOptions,
): Promise<readonly Diagnostic[]> {
  if (usable === undefined) return diagnostics;
  const chosen = chosenWorkspace(usable, { name, env });
  const workspace = chosen ?? Object.values(usable.workspaces)[0] ?? noWorkspace(usable);
  const known = { kinds, lookups, env, signal, memory };
  const desired = await loadDesired({
    ...known,
    project: usable,
    workspace,
    mode: mode === 'without-secrets' ? mode : 'offline',
  });
  const isHarmless = diagnostics.every(({ path = '' }) => HARMLESS.test(path));
  const further = desired.diagnostics.filter(
    (each) =>
      (chosen !== undefined || each.file === usable.file) &&
      (isHarmless || !CONSEQUENCES.has(each.code)) &&
      !diagnostics.some((known) => known.file === each.file && areNested(known.path, each.path)),
  );
  return [...diagnostics, ...further].sort(compareDiagnostics);
}

/** Settings that do not affect the resources. */
const HARMLESS =
  /^(version|default_workspace|limits|guards|literal_variables|secrets|watch|notify|policies|workspaces\.("(\\.|[^"\\])*"|[^.]+)\.(base_url|workspace_id|api_key|state|secrets|secrets_dir|ca_file|dashboard))(?![^.[])/;

/** Problems that may disappear once the project file is valid. */
const CONSEQUENCES: ReadonlySet<string> = new Set([
  'missing-field',
  'missing-var',
  'dangling-reference',
  'unknown-address',
  'no-match',
  'no-manifests',
]);

/** True if one path equals or contains the other. */
function areNested(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const [outer, inner] = a.length < b.length ? [a, b] : [b, a];
  return inner.startsWith(outer) && ['', '.', '['].includes(inner.charAt(outer.length));
}

function chosenWorkspace(
  project: ProjectConfig,
  { name, env }: Pick<FurtherOptions, 'name' | 'env'>,
): WorkspaceConfig | undefined {
  try {
    return selectWorkspace(project, { name, env });
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}

/** A placeholder if all workspaces of the project file are invalid. */
function noWorkspace({ root }: ProjectConfig): WorkspaceConfig {
  return {
    name: '',
    baseUrl: '',
    workspaceId: '',
    apiKey: new Secret('', undefined),
    vars: {},
    patches: {},
    skip: [],
    secrets: new SecretReader([]),
    state: placeOf(undefined, { workspace: '', root }),
  };
}
