import { kinds, lookups } from '../../kinds/index.ts';
import { diagnosticsGithub, diagnosticsJson } from '../../output/diagnostics.ts';
import { diagnosticsJunit } from '../../output/diagnostics-junit.ts';
import { escapeControls } from '../../output/escape-controls.ts';
import { jsonText } from '../../output/json-text.ts';
import { kindCounts, plural } from '../../output/plural.ts';
import { loadRules } from '../../policies/load-rules.ts';
import { withPolicies } from '../../policies/manifest-diagnostics.ts';
import { projectDiagnostics } from '../../policies/project-diagnostics.ts';
import { compareDiagnostics, type Diagnostic } from '../../problems/diagnostic.ts';
import { ExitCode } from '../../problems/user-error.ts';
import { InvalidProject } from '../../project/invalid-project.ts';
import { loadDesired } from '../../project/load-desired.ts';
import { loadProject } from '../../project/load-project.ts';
import type { Desired } from '../../project/project.ts';
import { selectWorkspace } from '../../project/select-workspace.ts';
import { strayManifests } from '../../project/stray-manifests.ts';
import { validateWorkspaces } from '../../runs/validate-workspaces.ts';
import type { Context } from '../context.ts';
import { diagnosticsText } from '../diagnostics-text.ts';
import type { WorkspacesFlags } from '../flags.ts';
import { type PolicyFlags, withPolicyFiles } from '../policy-flags.ts';
import { severalNamed } from './several.ts';

type DiagnosticFormat = 'text' | 'json' | 'junit' | 'github';

export interface ValidateOptions extends WorkspacesFlags, PolicyFlags {
  readonly output: DiagnosticFormat;
  readonly secrets?: boolean;
}

export async function validate(given: Context, options: ValidateOptions): Promise<number> {
  const context = withPolicyFiles(given, options);
  const several = severalNamed(context, options);
  if (several !== undefined) return validateSeveral(context, several, options);
  const { terminal } = context;
  const desired = await check(context, options);
  terminal.out(rendered(desired.diagnostics, options.output, context));
  const isValid = desired.diagnostics.every(({ severity }) => severity !== 'error');
  if (isValid && options.output === 'text') {
    terminal.out(`${terminal.style.good('Valid')}: ${counted(desired)}.\n`);
  }
  return isValid ? ExitCode.ok : ExitCode.error;
}

/** One report for all: a problem that not all of them have names those that do. */
async function validateSeveral(
  context: Context,
  names: readonly string[] | 'all',
  { output, secrets }: ValidateOptions,
): Promise<number> {
  const { cwd: here, projectFolder: cwd = here, env, cacheFolder, terminal, interrupts, policies } = context;
  const mode = secrets ? 'offline-with-secrets' : 'offline';
  const read = { cwd, env, cacheFolder, names, kinds, lookups, policies };
  const { workspaces, diagnostics } = await validateWorkspaces({ ...read, mode, signal: interrupts.stop });
  const all = workspaces.length;
  const told = diagnostics.map(({ workspaces: having, ...diagnostic }) =>
    having.length === all
      ? diagnostic
      : { ...diagnostic, message: `${diagnostic.message} (in ${having.join(', ')})` },
  );
  terminal.out(
    output === 'json'
      ? jsonText({ ...diagnosticsJson(diagnostics), workspaces: workspaces.map(({ name }) => name) })
      : rendered(told, output, context),
  );
  const isValid = diagnostics.every(({ severity }) => severity !== 'error');
  if (isValid && output === 'text') {
    const lines = workspaces.map(
      ({ name, resources }) =>
        `${terminal.style.good('Valid')} in ${escapeControls(name)}: ${counted({ resources })}.\n`,
    );
    terminal.out(lines.join(''));
  }
  return isValid ? ExitCode.ok : ExitCode.error;
}

/** A project file that is wrong is a result like any other: with its diagnostics in the form that was asked for. */
async function check(context: Context, { secrets }: ValidateOptions): Promise<Desired> {
  const {
    cwd: here,
    projectFolder: cwd = here,
    env,
    cacheFolder,
    workspace: name,
    interrupts,
    policies,
  } = context;
  try {
    const project = await loadProject({ cwd, env, cacheFolder });
    const workspace = selectWorkspace(project, { name, env, requireKey: false });
    const mode = secrets ? 'offline-with-secrets' : 'offline';
    const signal = interrupts.stop;
    const ruleSet = await loadRules(project, policies);
    const withSources = ruleSet.rules.length > 0;
    const desired = await loadDesired({ project, workspace, kinds, lookups, env, mode, signal, withSources });
    const diagnostics = [...desired.diagnostics, ...strayManifests(project)].sort(compareDiagnostics);
    return withPolicies({ ...desired, diagnostics }, ruleSet, { project, workspace: workspace.name, signal });
  } catch (error) {
    if (!(error instanceof InvalidProject)) throw error;
    return { resources: [], diagnostics: await projectDiagnostics(error, { kinds, lookups, env, name }) };
  }
}

function rendered(diagnostics: readonly Diagnostic[], output: DiagnosticFormat, context: Context): string {
  const formats: Record<DiagnosticFormat, () => string> = {
    text: () => diagnosticsText(context, diagnostics, 'out'),
    json: () => jsonText(diagnosticsJson(diagnostics)),
    junit: () => diagnosticsJunit(diagnostics),
    github: () => diagnosticsGithub(diagnostics),
  };
  return formats[output]();
}

/** `3 Agent, 2 PhoneNumber in 4 files` */
function counted({ resources }: Pick<Desired, 'resources'>): string {
  const files = new Set(resources.map(({ source }) => source.file)).size;
  if (resources.length === 0) return 'no resources';
  return `${kindCounts(resources)} in ${plural(files, 'file')}`;
}
