import path from 'node:path';
import { CommanderError, type OutputConfiguration } from 'commander';
import { userFolder } from '../files/user-folder.ts';
import { diagnosticsOf, type ErrorContext, errorJson, renderError } from '../output/errors.ts';
import type { ReportFormat } from '../output/formats/format.ts';
import { reportFormats } from '../output/formats/index.ts';
import { PlatformError } from '../platform/platform-error.ts';
import { ExitCode, UserError, usageError } from '../problems/user-error.ts';
import type { WorkspaceSelection } from '../problems/workspace-command.ts';
import { ownVariables } from '../values/own-variables.ts';
import { Redactor } from '../values/redactor.ts';
import { cursorIn } from './completion/cursor.ts';
import type { CommandAction, Context, Host, Start } from './context.ts';
import { Log } from './log.ts';
import { normaliseArgs, requestsJson } from './normalise-args.ts';
import { createProgram, type GlobalFlags } from './program.ts';
import { diagnosticsText, inProject, type ProjectLookup } from './project-context.ts';
import { Terminal } from './terminal.ts';
import { tracingFor } from './tracing.ts';
import { explainUsageError, refuseUnknownHelp } from './usage-errors.ts';

/**
 * Runs a command line and returns its exit code. Never throws.
 * @param given overrides parts of the context, for a command that runs another command.
 */
export async function run(host: Host, given: Partial<Context> = {}): Promise<number> {
  let exitCode: number = ExitCode.ok;
  const redactor = host.redactor ?? new Redactor();
  const contextBeforeParsing = (logFormat: 'text' | 'json'): Context =>
    contextFor(host, { color: !host.args.includes('--no-color'), logFormat }, redactor);
  const start: Start = async (action, traits) => {
    const tracing = await tracingFor(host.env);
    const flags = program.optsWithGlobals<GlobalFlags>();
    const context = {
      ...contextFor(host, flags, redactor),
      tracing,
      onRequest: tracing?.request,
      ...given,
    };
    if (traits?.ownRuns !== true) tracing?.begin(`voxform ${command}`);
    const checkedAction = traits?.acceptsWorkspaces ? action : forOneWorkspace(action);
    const lookup = traits?.withoutProject
      ? undefined
      : { isNamed: flags.chdir !== undefined, usesEnvFile: flags.envFile ?? true, isSilent: traits?.ownRuns === true };
    exitCode = await perform(checkedAction, { host, context, format, lookup });
    if (traits?.ownRuns !== true) tracing?.end({ command, exit_code: exitCode }, failureOf(exitCode));
    await tracing?.close();
  };
  const helpTerminal = contextBeforeParsing('text').terminal;
  const program = await createProgram(start, { words: host.args, output: outputOf(helpTerminal) });
  let command = '';
  program.hook('preAction', (_, action) => {
    const group = action.parent === program ? '' : `${action.parent?.name()} `;
    command = group + action.name();
  });
  const args = normaliseArgs(program, host.args);
  const typedFlags = cursorIn(program, [...args, '']).flags;
  const format = typedFlags.get('--output') ?? given.errorFormat ?? '';
  try {
    if (host.args.length === 0) {
      program.outputHelp({ error: true });
      return ExitCode.usage;
    }
    refuseUnknownHelp(program, args);
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (thrown) {
    const isParsing = thrown instanceof CommanderError;
    const error = isParsing
      ? (explainUsageError(thrown, program, { typed: host.args, args }) ??
        (await helpTerminal.flush().catch((flushError: unknown) => flushError)))
      : thrown;
    if (error === undefined) return isParsing && thrown.exitCode === 0 ? ExitCode.ok : ExitCode.usage;
    const { redact } = redactor;
    const { terminal, log } = contextBeforeParsing(typedFlags.get('--log-format') === 'json' ? 'json' : 'text');
    await log.begin('text');
    log.block('error', renderError(error, terminal.errorStyle, { redact }));
    exitCode = exitCodeOf(error);
    // The parser does not know the flags of an unknown command.
    const errorFormat = requestsJson(host.args) ? 'json' : format;
    terminal.out(await errorFor(errorFormat, error, { exitCode, redact }));
    return exitCode;
  }
}

function outputOf(terminal: Terminal): OutputConfiguration {
  return {
    writeOut: (text) => terminal.out(text),
    writeErr: (text) => terminal.err(text),
    // `run` prints the error, in the format of all voxform errors.
    outputError() {},
    getOutHelpWidth: () => terminal.style.width,
    getErrHelpWidth: () => terminal.errorStyle.width,
    getOutHasColors: () => terminal.style.color,
    getErrHasColors: () => terminal.errorStyle.color,
  };
}

/** Returns the description of a failing exit code; undefined for success. The exit code for changes counts as success. */
function failureOf(exitCode: number): string | undefined {
  return exitCode === ExitCode.ok || exitCode === ExitCode.changes ? undefined : `exit code ${exitCode}`;
}

interface ActionEnvironment {
  readonly host: Host;
  readonly context: Context;
  readonly format: string;
  /** How to find the project; undefined if the command needs no project. */
  readonly lookup: ProjectLookup | undefined;
}

async function perform(
  action: CommandAction,
  { host, context: outer, format, lookup }: ActionEnvironment,
): Promise<number> {
  // The commands in the hints of an error must select the same workspace as this command.
  let selection = outer.selection ?? (outer.workspace === undefined ? undefined : { workspace: outer.workspace });
  let context: Context = {
    ...outer,
    onWorkspace(selected) {
      selection = selected;
    },
  };
  const { log, terminal, redactor } = context;
  let exitCode: number;
  let failure: unknown;
  await log.begin('text');
  try {
    if (lookup !== undefined && context.projectFolder === undefined) context = inProject(context, lookup);
    exitCode = await action(context);
    await terminal.flush();
    if (failureOf(exitCode) !== undefined) failure = new UserError(log.lastWarning ?? `exit code ${exitCode}`);
  } catch (error) {
    exitCode = report(error, host, { context, selection });
    failure = host.interrupts.exitCode === exitCode ? new UserError('interrupted') : error;
  }
  if (failure !== undefined && !terminal.hasResult) {
    const { redact } = redactor;
    terminal.out(await errorFor(format, failure, { exitCode, selection, redact }));
  }
  return exitCode;
}

/** Returns the error in the output format, or an empty string if the format cannot represent errors. */
async function errorFor(name: string, error: unknown, context: ErrorContext): Promise<string> {
  const load = Object.entries(reportFormats).find(([each]) => each === name)?.[1];
  const format: ReportFormat | undefined = (await load?.())?.format;
  return format?.error?.(errorJson(error, context)) ?? '';
}

function forOneWorkspace(action: CommandAction): CommandAction {
  return async (context) => {
    const { workspaces } = context;
    if (workspaces.length < 2) return action(context);
    throw usageError(
      `this command takes one workspace, got ${workspaces.join(' and ')}`,
      'Run it once per workspace. plan, drift, status, validate and diff take several.',
    );
  };
}

function contextFor(host: Host, flags: GlobalFlags, redactor: Redactor): Context {
  const terminal = new Terminal({ ...host, color: flags.color, redactor });
  const quiet = flags.quiet ?? false;
  const verbose = flags.verbose ?? false;
  const workspaces = [...new Set(flags.workspace)];
  const [workspace, ...more] = workspaces;
  return {
    cwd: path.resolve(host.cwd, flags.chdir ?? '.'),
    startFolder: host.cwd,
    env: ownVariables(host.env),
    workspace: more.length === 0 ? workspace : undefined,
    workspaces,
    quiet,
    verbose,
    terminal,
    log: new Log({ terminal, format: flags.logFormat, quiet, verbose, now: host.now }),
    interrupts: host.interrupts,
    cacheFolder: flags.cache === false ? undefined : userFolder('cache', host.env),
    redactor,
    now: host.now,
    failPoint: host.failPoint,
    run: (args, given, other) => run({ ...host, ...other, args, redactor }, given),
  };
}

function report(
  error: unknown,
  { interrupts, args }: Host,
  { context, selection }: { readonly context: Context; readonly selection: WorkspaceSelection },
): number {
  const { terminal, log, verbose, redactor } = context;
  const isAborted = error instanceof PlatformError && error.reason === 'aborted';
  if (interrupts.exitCode !== undefined && (isAborted || error instanceof UserError)) {
    log.warn('interrupted');
    return interrupts.exitCode;
  }
  const diagnostics = diagnosticsOf(error);
  if (diagnostics !== undefined) {
    log.block('error', diagnosticsText(context, diagnostics, 'err'));
    return ExitCode.error;
  }
  const command = `voxform ${args[0] ?? ''}`.trim();
  const { redact } = redactor;
  log.block('error', renderError(error, terminal.errorStyle, { verbose, command, selection, redact }));
  return exitCodeOf(error);
}

function exitCodeOf(error: unknown): number {
  return error instanceof UserError ? error.exitCode : ExitCode.error;
}
