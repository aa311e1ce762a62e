import { kinds, lookups } from '../../kinds/index.ts';
import { diagnosticsGithub, diagnosticsJson, diagnosticsJunit } from '../../output/diagnostics.ts';
import { escapeControls } from '../../output/escape-controls.ts';
import { jsonText } from '../../output/json-text.ts';
import { kindCounts, plural } from '../../output/plural.ts';
import type { Diagnostic } from '../../problems/diagnostic.ts';
import { ExitCode } from '../../problems/user-error.ts';
import type { Desired } from '../../project/project.ts';
import { sharedDiagnostics, type ValidateProject, validateProject } from '../../runs/validate-project.ts';
import type { Context } from '../context.ts';
import { diagnosticsText } from '../diagnostics-text.ts';
import type { WorkspacesFlags } from '../flags.ts';
import { type PolicyFlags, withPolicyFiles } from '../policy-flags.ts';
import { severalNamed } from './several.ts';

type DiagnosticFormat = 'text' | 'json' | 'junit' | 'github';

interface ValidateOptions extends WorkspacesFlags, PolicyFlags {
  readonly output: DiagnosticFormat;
  readonly secrets?: boolean;
}

export async function validate(given: Context, options: ValidateOptions): Promise<number> {
  const context = withPolicyFiles(given, options);
  const several = severalNamed(context, options);
  if (several !== undefined) return validateSeveral(context, several, options);
  const { terminal } = context;
  // An invalid one is a normal result.
  const [desired = { resources: [], diagnostics: [] }] = (
    await validateProject(readFrom(context, options, [context.workspace]))
  ).workspaces;
  terminal.out(rendered(desired.diagnostics, options.output, context));
  const isValid = desired.diagnostics.every(({ severity }) => severity !== 'error');
  if (isValid && options.output === 'text') {
    terminal.out(`${terminal.style.good('Valid')}: ${counted(desired)}.\n`);
  }
  return isValid ? ExitCode.ok : ExitCode.error;
}

/** One report for all. A problem of some workspaces names them. */
async function validateSeveral(
  context: Context,
  names: readonly string[] | 'all',
  options: ValidateOptions,
): Promise<number> {
  const { terminal } = context;
  const { output } = options;
  const { workspaces } = await validateProject(readFrom(context, options, names));
  const diagnostics = sharedDiagnostics(workspaces);
  const all = workspaces.length;
  const told = diagnostics.map(({ workspaces: having, ...diagnostic }) =>
    having.length === all
      ? diagnostic
      : { ...diagnostic, message: `${diagnostic.message} (in ${having.join(', ')})` },
  );
  terminal.out(
    output === 'json'
      ? jsonText({
          ...diagnosticsJson(diagnostics),
          workspaces: workspaces.flatMap(({ name }) => name ?? []),
        })
      : rendered(told, output, context),
  );
  const isValid = diagnostics.every(({ severity }) => severity !== 'error');
  if (isValid && output === 'text') {
    const lines = workspaces.map(
      ({ name = '', resources }) =>
        `${terminal.style.good('Valid')} in ${escapeControls(name)}: ${counted({ resources })}.\n`,
    );
    terminal.out(lines.join(''));
  }
  return isValid ? ExitCode.ok : ExitCode.error;
}

function readFrom(
  context: Context,
  { secrets }: ValidateOptions,
  names: ValidateProject['names'],
): ValidateProject {
  const { cwd: here, projectFolder: cwd = here, env, cacheFolder, interrupts, policies } = context;
  const mode = secrets ? 'offline-with-secrets' : 'offline';
  return { cwd, env, cacheFolder, names, kinds, lookups, policies, mode, signal: interrupts.stop };
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
