import { type ReportFormatName, reportFormats } from '../../output/formats/index.ts';
import { planReport, reachOf } from '../../output/report.ts';
import { VERSION } from '../../version.ts';
import type { Context } from '../context.ts';
import type { FullFlag } from '../flags.ts';
import { readSavedPlan } from '../read-saved-plan.ts';

interface ShowOptions extends FullFlag {
  readonly 'plan-file': string;
  readonly output: ReportFormatName;
}

/** Shows a saved plan as `plan` did when it made it. */
export async function show(context: Context, options: ShowOptions): Promise<void> {
  const { terminal, log, verbose } = context;
  const { 'plan-file': file, output, full } = options;
  const document = await readSavedPlan(context, file);
  const { voxform_version: madeBy } = document;
  if (madeBy !== VERSION) log.warn(`${file} was made by voxform ${madeBy}; this is voxform ${VERSION}`);
  const { format } = await reportFormats[output]();
  const report = planReport(document);
  const presentation = { style: terminal.style, verbose, full, reach: reachOf(report) };
  terminal.out(format.report(report, presentation));
}
