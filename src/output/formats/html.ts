import { applyHtml, driftHtml, planHtml } from '../html/reports.ts';
import { severalPlansHtml } from '../several/plans-html.ts';
import type { ReportFormat } from './format.ts';

export const format: ReportFormat = {
  plan: (document, { full, made }) => planHtml(document, { full, made }),
  drift: (document, { full, made }) => driftHtml(document, { full, made }),
  apply: (report, { full, made }) => applyHtml(report, { full, made }),
  several: (plans, { full, made }) => severalPlansHtml(plans, { full, made }),
};
