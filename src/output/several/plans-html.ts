import { htmlReports } from '../html/html-report.ts';
import { driftReport, type PageOptions, planReport } from '../html/reports.ts';
import { flagOf, type SeveralPlans } from './plans.ts';

/** All workspaces on one page. */
export function severalPlansHtml(
  { what, documents, failures }: SeveralPlans,
  options: PageOptions = {},
): string {
  const report = what === 'plan' ? planReport : driftReport;
  return htmlReports({
    what,
    made: options.made,
    reports: documents.map((document) => ({
      ...report(document),
      full: options.full,
      workspaceFlag: flagOf(document),
    })),
    failures: failures.map(({ workspace, message, hint, diagnostics = [] }) => ({
      workspace,
      said: [
        message,
        ...(hint === undefined ? [] : [hint]),
        ...diagnostics.map(
          ({ file, line, message: wrong }) => `${file}${line === undefined ? '' : `:${line}`} ${wrong}`,
        ),
      ],
    })),
  });
}
