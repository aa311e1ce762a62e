import type { PlanResult } from '../../engine/engine.ts';
import { isNotApplied, type PlanDocument } from '../../engine/plan/plan-document.ts';
import { failureOf, isBug, renderError } from '../../output/errors.ts';
import { type ReportFormatName, reportFormats } from '../../output/formats/index.ts';
import { createProgress, type Progress } from '../../output/progress.ts';
import { driftReport, planReport, type Report, type ReportSet } from '../../output/report.ts';
import { ExitCode, UserError, usageError } from '../../problems/user-error.ts';
import type { WorkspaceSelection } from '../../problems/workspace-command.ts';
import { type OpenWorkspace, openWorkspace, openWorkspaces } from '../../runs/open-workspace.ts';
import { type Planning, type PlanSources, planWorkspace, withPlanInputs } from '../../runs/planning.ts';
import type { WorkspaceFailure } from '../../runs/plans-document.ts';
import type { PlanningOptions } from '../../runs/run-context.ts';
import { Secret } from '../../values/value.ts';
import type { Context } from '../context.ts';
import type { FullFlag, PlanFlags, WorkspacesFlags } from '../flags.ts';
import { folderInRepository } from '../project-context.ts';

/** Plans all resources in scope, and shows the progress. */
export async function planAll(context: Context, planning: Planning): Promise<PlanResult> {
  const progress = progressFor(context);
  const planned = await planWorkspace({ ...planning, onProgress: progress.read });
  progress.clear();
  return planned;
}

/** @param writes the number of resources that an apply will write. */
export function progressFor({ terminal, log, quiet, now, onProgress }: Context, writes?: number): Progress {
  if (onProgress !== undefined) return { read: onProgress, apply() {}, clear() {} };
  return createProgress({
    write: (text) => (log.isJson ? log.block('info', text) : terminal.draw(text)),
    interactive: terminal.canDraw && !log.isJson,
    quiet,
    writes,
    style: terminal.errorStyle,
    now: () => now().getTime(),
  });
}

/**
 * Must be called before the first write. After this call, an interrupt lets requests in flight finish.
 * @param writes the number of resources that will be written.
 */
export function beginWriting(context: Context, writes: number): Progress {
  const { interrupts, log } = context;
  interrupts.finishesRequests = true;
  const onStop = () => log.warn('Finishing requests in flight. Press Ctrl-C again to stop now.');
  interrupts.stop.addEventListener('abort', onStop, { once: true });
  return progressFor(context, writes);
}

export interface ReportFlags extends FullFlag {
  readonly output: ReportFormatName;
  readonly apiKeyStdin?: boolean;
}

/** Calls `work` with a plan and its inputs. Takes no lock, because the caller only prints the result. */
export function withPlan<T>(
  context: Context,
  { opened, options }: { readonly opened: OpenWorkspace; readonly options: PlanningOptions },
  work: (planned: PlanResult, sources: PlanSources) => Promise<T>,
): Promise<T> {
  return withPlanInputs(opened, options, async (sources) =>
    work(await planAll(context, { ...sources, opened, options }), sources),
  );
}

/** Prints the report of one or of several workspaces in the requested format. */
export async function report(
  context: Context,
  {
    output,
    full,
    selection,
    isSaved,
  }: ReportFlags & { readonly selection?: WorkspaceSelection; readonly isSaved?: true },
  subject: Report | ReportSet,
): Promise<void> {
  const { terminal, verbose, quiet, now } = context;
  const { format } = await reportFormats[output]();
  const presentation = {
    ...{ style: terminal.style, verbose, full, quiet, selection, folder: folderInRepository(context) },
    ...(!isSaved && { made: now() }),
  };
  const text = 'reports' in subject ? format.reportSet(subject, presentation) : format.report(subject, presentation);
  for (const part of typeof text === 'string' ? [text] : text) terminal.out(part);
}

/** @throws UserError if `--even-if-all` is used without `--allow-recreate all`. */
export function requireAllowRecreateAll({ allowRecreate = [], evenIfAll }: PlanFlags): void {
  if (!evenIfAll || allowRecreate.includes('all')) return;
  throw usageError('--even-if-all needs --allow-recreate all');
}

/** Returns the exit code of a plan. With `--strict`, anything that voxform cannot apply is an error. */
export function strictCode(document: PlanDocument, { strict }: PlanFlags): number {
  const { manual, blocked, unknown } = document.summary;
  const isIncomplete = manual + blocked + unknown > 0 || document.resources.some(isNotApplied);
  return strict && isIncomplete ? ExitCode.error : ExitCode.ok;
}

/** Returns the names of the requested workspaces if there are several, or `all`; undefined if only one is requested. */
export function requestedWorkspaces(
  { workspaces }: Pick<Context, 'workspaces'>,
  { allWorkspaces = false }: WorkspacesFlags,
): readonly string[] | 'all' | undefined {
  if (!allWorkspaces) return workspaces.length > 1 ? workspaces : undefined;
  if (workspaces.length === 0) return 'all';
  throw usageError('--all-workspaces and --workspace are mutually exclusive', 'Use one of them.');
}

/**
 * Refuses to apply several workspaces, because a promotion that failed halfway must be reviewed before it continues.
 * @throws UserError
 */
export function requireOneWorkspace(context: Context, flags: WorkspacesFlags): void {
  const names = requestedWorkspaces(context, flags);
  if (names === undefined) return;
  const commands =
    names === 'all'
      ? 'voxform apply --workspace NAME'
      : names.map((name) => `voxform apply --workspace ${name}`).join(', then ');
  throw usageError(
    'apply takes one workspace at a time',
    `Review all of them with voxform plan, then apply each: ${commands}`,
  );
}

interface WorkspaceResults<T> {
  readonly done: readonly T[];
  readonly failures: readonly WorkspaceFailure[];
}

/** Runs the work for each workspace in turn. Returns failures as data, but throws after an interrupt. */
export async function forEachWorkspace<T>(
  context: Context,
  names: readonly string[] | 'all',
  work: (opened: OpenWorkspace) => Promise<T>,
): Promise<WorkspaceResults<T>> {
  const { log, terminal, redactor, verbose, interrupts } = context;
  const { redact } = redactor;
  const done: T[] = [];
  const failures: WorkspaceFailure[] = [];
  for (const opened of await openWorkspaces(context, names)) {
    const { name: workspace, baseUrl } = opened.workspace;
    log.debug(`Workspace ${workspace}`);
    try {
      done.push(await work(opened));
    } catch (error) {
      if (interrupts.stop.aborted) throw error;
      if (isBug(error)) log.block('error', renderError(error, terminal.errorStyle, { verbose, redact }));
      failures.push(failureOf(error, { workspace, baseUrl }, redact));
    }
  }
  return { done, failures };
}

interface ReportedDocument {
  readonly type: 'plan' | 'drift';
  compute(opened: OpenWorkspace): Promise<PlanDocument>;
  codeFor(documents: readonly PlanDocument[]): number;
}

/** Computes the document of each requested workspace, prints the report, and returns the exit code. */
export async function reportEach(
  context: Context,
  options: WorkspacesFlags & ReportFlags,
  { type, compute, codeFor }: ReportedDocument,
): Promise<number> {
  const reportOf = type === 'plan' ? planReport : driftReport;
  const names = requestedWorkspaces(context, options);
  if (names !== undefined && options.apiKeyStdin) throw usageError('--api-key-stdin takes one workspace only');
  if (names === undefined) {
    const apiKey = options.apiKeyStdin ? await keyFromStdin(context) : undefined;
    const opened = await openWorkspace({ ...context, apiKey }, { requireKey: true });
    const document = await compute(opened);
    await report(context, { ...options, selection: opened.selection }, reportOf(document));
    return codeFor([document]);
  }
  const results = await forEachWorkspace(context, names, compute);
  const { done: documents, failures } = results;
  await report(context, options, { type, reports: documents.map(reportOf), failures });
  return exitCodeForWorkspaces(context, results, codeFor(documents));
}

async function keyFromStdin({ terminal }: Context): Promise<Secret> {
  const text = await terminal.readInput(10_000);
  if (text === '')
    throw usageError('--api-key-stdin got no key', 'Pipe it to stdin: printf %s "$KEY" | voxform plan --api-key-stdin');
  return new Secret('from stdin', text);
}

/** Returns `successCode` if no workspace failed. Otherwise, logs the failures and returns 1. */
export function exitCodeForWorkspaces(
  { log, terminal }: Context,
  { done, failures }: WorkspaceResults<unknown>,
  successCode: number,
): number {
  if (failures.length === 0) return successCode;
  const names = failures.map(({ workspace }) => workspace).join(', ');
  const message = `${failures.length} of ${done.length + failures.length} workspaces failed: ${names}`;
  log.block('error', renderError(new UserError(message), terminal.errorStyle));
  return ExitCode.error;
}
