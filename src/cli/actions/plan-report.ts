import type { PlanResult } from '../../engine/engine.ts';
import { isNotApplied, type PlanDocument } from '../../engine/plan/plan-document.ts';
import { type ReportFormatName, reportFormats } from '../../output/formats/index.ts';
import { createProgress, type Progress } from '../../output/progress.ts';
import type { Report, SeveralReports } from '../../output/report.ts';
import { ExitCode, misuse } from '../../problems/user-error.ts';
import type { Reach } from '../../problems/workspace-command.ts';
import { type Planning, planWorkspace } from '../../runs/planning.ts';
import type { Context } from '../context.ts';
import type { FullFlag, PlanFlags } from '../flags.ts';

/** Plans all resources in scope, with progress. */
export async function planAll(context: Context, planning: Planning): Promise<PlanResult> {
  const progress = progressFor(context);
  const planned = await planWorkspace({ ...planning, onProgress: progress.read });
  progress.clear();
  return planned;
}

/** `writes` is the number of resources that an apply will write. */
export function progressFor({ terminal, log, quiet, now }: Context, writes?: number): Progress {
  return createProgress({
    write: (text) => (log.isJson ? log.block('info', text) : terminal.draw(text)),
    interactive: terminal.canDraw && !log.isJson,
    quiet,
    writes,
    style: terminal.errorStyle,
    now: () => now().getTime(),
  });
}

/** From now on, requests in flight finish. @param writes the number of resources to be written. */
export function beginWriting(context: Context, writes: number): Progress {
  const { interrupts, log } = context;
  interrupts.patient = true;
  const onStop = () => log.warn('Finishing requests in flight. Press Ctrl-C again to stop now.');
  interrupts.stop.addEventListener('abort', onStop, { once: true });
  return progressFor(context, writes);
}

export interface ReportFlags extends FullFlag {
  readonly output: ReportFormatName;
}

/** Prints the report of one or several workspaces in the requested format. */
export async function report(
  { terminal, verbose, quiet, now }: Context,
  { output, full, reach }: ReportFlags & { readonly reach?: Reach },
  subject: Report | SeveralReports,
): Promise<void> {
  const { format } = await reportFormats[output]();
  const presentation = { style: terminal.style, verbose, full, quiet, reach, made: now() };
  const isSeveral = 'reports' in subject;
  terminal.out(isSeveral ? format.several(subject, presentation) : format.report(subject, presentation));
}

/** @throws UserError if `--even-if-all` is used without its companion flag. */
export function refuseLooseEvenIfAll({ allowRecreate = [], evenIfAll }: PlanFlags): void {
  if (!evenIfAll || allowRecreate.includes('all')) return;
  throw misuse('--even-if-all needs --allow-recreate all');
}

/** With `--strict`, manual steps are an error. */
export function strictCode(document: PlanDocument, { strict }: PlanFlags): number {
  const { manual, blocked, unknown } = document.summary;
  const needsPerson = manual + blocked + unknown > 0 || document.resources.some(isNotApplied);
  return strict && needsPerson ? ExitCode.error : ExitCode.ok;
}
