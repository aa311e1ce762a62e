import { renderApply } from '../apply-text.ts';
import { renderDriftText } from '../drift-text.ts';
import { renderPlanText } from '../plan-text.ts';
import { severalPlansText } from '../several/plans.ts';
import type { ReportFormat } from './format.ts';

export const format: ReportFormat = {
  plan: (document, { style, ...options }) => renderPlanText(document, style, options),
  drift: (document, { style, ...options }) => renderDriftText(document, style, options),
  apply: (report, { style, full, workspaceFlag }) =>
    `\n${renderApply(report, style, { full, workspaceFlag })}`,
  several: (plans, { style, ...options }) => severalPlansText(plans, style, options),
};
