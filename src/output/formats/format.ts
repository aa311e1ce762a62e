import type { ErrorDocument } from '../error-json-schema.ts';
import type { Report, ReportOptions, SeveralReports } from '../report.ts';
import type { Style } from '../style.ts';

interface Presentation extends ReportOptions {
  readonly style: Style;
  readonly verbose: boolean;
  /** The time of the subject, if known. */
  readonly made?: Date;
}

/** A format of all reports: the whole text with its final newline. */
export interface ReportFormat {
  report(report: Report, presentation: Presentation): string;
  several(several: SeveralReports, presentation: Presentation): string;
  /** Why there is no result, for programs. Absent in formats for people, who read stderr. */
  error?(document: ErrorDocument): string;
}
