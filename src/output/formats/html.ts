import { applyHtml, driftHtml, planHtml } from '../html/reports.ts';
import { severalPlansHtml } from '../several/plans-html.ts';
import type { ReportFormat } from './format.ts';

export const format: ReportFormat = {
  plan: (document, { full, made, workspaceFlag }) => planHtml(document, { full, made, workspaceFlag }),
  drift: (document, { full, made, workspaceFlag }) => driftHtml(document, { full, made, workspaceFlag }),
  apply: (report, { full, made, workspaceFlag }) => applyHtml(report, { full, made, workspaceFlag }),
  several: (plans, { full, made }) => severalPlansHtml(plans, { full, made }),
};
