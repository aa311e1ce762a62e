import type { ErrorDocument } from '../error-json-schema.ts';
import type { Report, ReportOptions, ReportSet } from '../report.ts';
import type { Style } from '../style.ts';

interface Presentation extends ReportOptions {
  readonly style: Style;
  readonly verbose: boolean;
  /** The time of the plan, drift or apply, if known. */
  readonly made?: Date;
}

/** An output format. Its functions return text with a final newline, possibly in parts of whole lines. */
export interface ReportFormat {
  report(report: Report, presentation: Presentation): string | Iterable<string>;
  reportSet(reports: ReportSet, presentation: Presentation): string | Iterable<string>;
  /** Formats an error for programs. Formats for people omit this function, because errors are also printed to stderr. */
  error?(document: ErrorDocument): string;
}
