import { reportMarkdown, severalMarkdown } from '../report-markdown.ts';
import type { ReportFormat } from './format.ts';

export const format: ReportFormat = {
  report: (report, { full, workspaceFlag }) => reportMarkdown(report, { full, workspaceFlag }),
  several: severalMarkdown,
};
