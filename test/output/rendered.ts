import { reportGithub } from '../../src/output/formats/github-format.ts';
import { reportMarkdown } from '../../src/output/formats/markdown-format.ts';
import { reportText } from '../../src/output/formats/text-format.ts';
import { htmlReport } from '../../src/output/html/html-report.ts';
import { applyReport, driftReport, planReport, type Report } from '../../src/output/report.ts';

/* Each kind of report in each format. */

function rendered<Subject, Rest extends unknown[]>(
  reportOf: (subject: Subject) => Report,
  render: (report: Report, ...rest: Rest) => string,
): (subject: Subject, ...rest: Rest) => string {
  return (subject, ...rest) => render(reportOf(subject), ...rest);
}

export const planText = rendered(planReport, reportText);
export const driftText = rendered(driftReport, reportText);
export const applyText = rendered(applyReport, reportText);
export const planMarkdown = rendered(planReport, reportMarkdown);
export const driftMarkdown = rendered(driftReport, reportMarkdown);
export const applyMarkdown = rendered(applyReport, reportMarkdown);
export const planGithub = rendered(planReport, reportGithub);
export const driftGithub = rendered(driftReport, reportGithub);
export const applyGithub = rendered(applyReport, reportGithub);
export const planHtml = rendered(planReport, htmlReport);
export const driftHtml = rendered(driftReport, htmlReport);
export const applyHtml = rendered(applyReport, htmlReport);
