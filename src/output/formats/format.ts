import type { Reach } from '../../problems/workspace-command.ts';
import type { ErrorDocument } from '../error-json-schema.ts';
import type { Report, SeveralReports } from '../report.ts';
import type { Style } from '../style.ts';

interface Presentation {
  readonly style: Style;
  readonly verbose: boolean;
  /** Repeat common statements for each resource. */
  readonly full?: boolean | undefined;
  /** Without notes on unchanged resources. */
  readonly quiet?: boolean | undefined;
  /** The time of the subject, if known. */
  readonly made?: Date;
  /** How commands name the reported workspace. */
  readonly reach: Reach;
}

/** A format of all reports: the whole text with its final newline. */
export interface ReportFormat {
  report(report: Report, presentation: Presentation): string;
  several(several: SeveralReports, presentation: Presentation): string;
  /** Why there is no result, for programs. Absent in formats for people, who read stderr. */
  error?(document: ErrorDocument): string;
}
