import type { PlanDocument } from '../../engine/plan/plan-document.ts';
import { type ReportFormatName, reportFormats } from '../../output/formats/index.ts';
import { planReport, reachOf } from '../../output/report.ts';
import type { Reach } from '../../problems/workspace-command.ts';
import { VERSION } from '../../version.ts';
import type { Context } from '../context.ts';
import type { FullFlag } from '../flags.ts';
import { readSavedPlan } from '../read-saved-plan.ts';

interface ShowOptions extends FullFlag {
  readonly 'plan-file': string;
  readonly output: ReportFormatName;
}

/** Shows a saved plan as `plan` did. */
export async function show(context: Context, options: ShowOptions): Promise<void> {
  const { 'plan-file': file } = options;
  const document = await readSavedPlan(context, file);
  const { voxform_version: madeBy } = document;
  if (madeBy !== VERSION) context.log.warn(`${file} was made by voxform ${madeBy}; this is voxform ${VERSION}`);
  await showPlan(context, document, options);
}

export async function showPlan(
  { terminal, verbose }: Context,
  document: PlanDocument,
  { output, full, reach }: Omit<ShowOptions, 'plan-file'> & { readonly reach?: Reach },
): Promise<void> {
  const { format } = await reportFormats[output]();
  const report = planReport(document);
  const presentation = { style: terminal.style, verbose, full, reach: reach ?? reachOf(report) };
  terminal.out(format.report(report, presentation));
}
