import { reportGithub, severalGithub } from '../report-github.ts';
import type { ReportFormat } from './format.ts';

export const format: ReportFormat = {
  report: (report, { workspaceFlag }) => reportGithub(report, { workspaceFlag }),
  several: severalGithub,
};
