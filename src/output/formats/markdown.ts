import { applyMarkdown, driftMarkdown, planMarkdown } from '../plan-markdown.ts';
import { severalPlansMarkdown } from '../several/plans.ts';
import type { ReportFormat } from './format.ts';

export const format: ReportFormat = {
  plan: (document, { full }) => planMarkdown(document, { full }),
  drift: (document, { full }) => driftMarkdown(document, { full }),
  apply: (report, { full }) => applyMarkdown(report, { full }),
  several: (plans, { full }) => severalPlansMarkdown(plans, { full }),
};
