import { reportText, severalText } from '../report-text.ts';
import type { ReportFormat } from './format.ts';

export const format: ReportFormat = {
  report: (report, { style, ...options }) =>
    `${report.what === 'apply' ? '\n' : ''}${reportText(report, style, options)}`,
  several: (several, { style, ...options }) => severalText(several, style, options),
};
