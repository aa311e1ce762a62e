import type { PlanDocument } from '../../engine/plan/plan-document.ts';
import { failureOf, isBug, renderError } from '../../output/errors.ts';
import { driftReport, planReport } from '../../output/report.ts';
import { ExitCode, misuse, UserError } from '../../problems/user-error.ts';
import { type OpenWorkspace, openWorkspace, openWorkspaces } from '../../runs/open-workspace.ts';
import type { WorkspaceFailure } from '../../runs/plans-document.ts';
import type { Context } from '../context.ts';
import type { WorkspacesFlags } from '../flags.ts';
import { type ReportFlags, report } from './plan-report.ts';

/** The requested workspaces if there are several, or all; undefined for one. */
export function severalNamed(
  { workspaces }: Pick<Context, 'workspaces'>,
  { allWorkspaces = false }: WorkspacesFlags,
): readonly string[] | 'all' | undefined {
  if (!allWorkspaces) return workspaces.length > 1 ? workspaces : undefined;
  if (workspaces.length === 0) return 'all';
  throw misuse('--all-workspaces and --workspace are mutually exclusive', 'Use one of them.');
}

/**
 * Restricts an apply to one workspace, because a promotion that fails halfway needs a person's decision.
 * @throws UserError
 */
export function refuseSeveral(context: Context, flags: WorkspacesFlags): void {
  const names = severalNamed(context, flags);
  if (names === undefined) return;
  const each =
    names === 'all'
      ? 'voxform apply --workspace NAME'
      : names.map((name) => `voxform apply --workspace ${name}`).join(', then ');
  throw misuse('apply takes one workspace at a time', `Review all of them with voxform plan, then apply each: ${each}`);
}

export interface Reported<T> {
  readonly done: readonly T[];
  readonly failures: readonly WorkspaceFailure[];
}

/** Runs the work for one workspace after the other. Failures are part of the report; an interrupt ends it. */
export async function inEach<T>(
  context: Context,
  names: readonly string[] | 'all',
  work: (opened: OpenWorkspace) => Promise<T>,
): Promise<Reported<T>> {
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

interface EachDocument {
  readonly what: 'plan' | 'drift';
  look(opened: OpenWorkspace): Promise<PlanDocument>;
  codeFor(documents: readonly PlanDocument[]): number;
}

/** Runs the work for each requested workspace, reports the results, and returns the exit code. */
export async function reportEach(
  context: Context,
  options: WorkspacesFlags & ReportFlags,
  { what, look, codeFor }: EachDocument,
): Promise<number> {
  const reportOf = what === 'plan' ? planReport : driftReport;
  const several = severalNamed(context, options);
  if (several === undefined) {
    const opened = await openWorkspace(context, { requireKey: true });
    const document = await look(opened);
    const { reach } = opened;
    await report(context, { ...options, reach }, reportOf(document));
    return codeFor([document]);
  }
  const found = await inEach(context, several, look);
  const { done: documents, failures } = found;
  await report(context, options, { what, reports: documents.map(reportOf), failures });
  return severalCode(context, found, codeFor(documents));
}

/** 1 if a workspace failed, with a message; otherwise the code of the results. */
export function severalCode({ log, terminal }: Context, { done, failures }: Reported<unknown>, found: number): number {
  if (failures.length === 0) return found;
  const names = failures.map(({ workspace }) => workspace).join(', ');
  const message = `${failures.length} of ${done.length + failures.length} workspaces failed: ${names}`;
  log.block('error', renderError(new UserError(message), terminal.errorStyle));
  return ExitCode.error;
}
