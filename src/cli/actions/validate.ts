import { kinds, lookups } from '../../kinds/index.ts';
import { diagnosticsGithub, diagnosticsJson, diagnosticsJunit } from '../../output/diagnostics.ts';
import { escapeControls } from '../../output/escape-controls.ts';
import { jsonText } from '../../output/json-text.ts';
import { kindCounts, plural } from '../../output/plural.ts';
import type { Diagnostic } from '../../problems/diagnostic.ts';
import { ExitCode } from '../../problems/user-error.ts';
import type { Desired } from '../../project/project.ts';
import { sharedDiagnostics, validateProject } from '../../runs/validate-project.ts';
import type { Context } from '../context.ts';
import { type PolicyFlags, type WorkspacesFlags, withPolicyFiles } from '../flags.ts';
import { diagnosticsText, folderInRepository } from '../project-context.ts';
import { requestedWorkspaces } from './report.ts';

type DiagnosticFormat = 'text' | 'json' | 'junit' | 'github';

interface ValidateOptions extends WorkspacesFlags, PolicyFlags {
  readonly output: DiagnosticFormat;
  readonly secrets?: boolean;
}

/** Checks one or several workspaces. If a problem does not affect all of them, its message names the affected workspaces. */
export async function validate(given: Context, options: ValidateOptions): Promise<number> {
  const context = withPolicyFiles(given, options);
  const { terminal, cwd: here, projectFolder: cwd = here, env, cacheFolder, interrupts, policies } = context;
  const { output } = options;
  const several = requestedWorkspaces(context, options);
  const { workspaces } = await validateProject({
    ...{ cwd, env, cacheFolder, kinds, lookups, policies, signal: interrupts.stop },
    names: several ?? [context.workspace],
    mode: options.secrets ? 'offline-with-secrets' : 'offline',
  });
  const shared = sharedDiagnostics(workspaces);
  const diagnostics = shared.map(({ workspaces: affected, ...diagnostic }) =>
    affected.length === workspaces.length || output === 'json'
      ? diagnostic
      : { ...diagnostic, message: `${diagnostic.message} (in ${affected.join(', ')})` },
  );
  terminal.out(
    several !== undefined && output === 'json'
      ? jsonText({ ...diagnosticsJson(shared), workspaces: workspaces.flatMap(({ name }) => name ?? []) })
      : render(diagnostics, output, context),
  );
  // An invalid project is a result and not an error, so its problems were printed to stdout.
  const isValid = diagnostics.every(({ severity }) => severity !== 'error');
  for (const { name = '', resources } of isValid && output === 'text' ? workspaces : []) {
    const where = several === undefined ? '' : ` in ${escapeControls(name)}`;
    terminal.out(`${terminal.style.good('Valid')}${where}: ${resourceCounts({ resources })}.\n`);
  }
  return isValid ? ExitCode.ok : ExitCode.error;
}

function render(diagnostics: readonly Diagnostic[], output: DiagnosticFormat, context: Context): string {
  const formats: Record<DiagnosticFormat, () => string> = {
    text: () => diagnosticsText(context, diagnostics, 'out'),
    json: () => jsonText(diagnosticsJson(diagnostics)),
    junit: () => diagnosticsJunit(diagnostics, folderInRepository(context)),
    github: () => diagnosticsGithub(diagnostics, folderInRepository(context)),
  };
  return formats[output]();
}

/** Returns text such as `3 Agent, 2 PhoneNumber in 4 files`. */
function resourceCounts({ resources }: Pick<Desired, 'resources'>): string {
  const files = new Set(resources.map(({ source }) => source.file)).size;
  if (resources.length === 0) return 'no resources';
  return `${kindCounts(resources)} in ${plural(files, 'file')}`;
}
