import { htmlReport, htmlReports } from '../html/html-report.ts';
import type { ReportFormat } from './format.ts';

export const format: ReportFormat = { report: htmlReport, several: htmlReports };
