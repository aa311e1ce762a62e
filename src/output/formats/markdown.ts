import { applyMarkdown, driftMarkdown, planMarkdown } from '../plan-markdown.ts';
import { severalPlansMarkdown } from '../several/plans.ts';
import type { ReportFormat } from './format.ts';

export const format: ReportFormat = {
  plan: (document, { full, workspaceFlag }) => planMarkdown(document, { full, workspaceFlag }),
  drift: (document, { full, workspaceFlag }) => driftMarkdown(document, { full, workspaceFlag }),
  apply: (report, { full, workspaceFlag }) => applyMarkdown(report, { full, workspaceFlag }),
  several: (plans, { full }) => severalPlansMarkdown(plans, { full }),
};
