import type { Reach } from '../../problems/workspace-command.ts';
import type { ErrorDocument } from '../error-json-schema.ts';
import type { Report, SeveralReports } from '../report.ts';
import type { Style } from '../style.ts';

/** What a format may need to know beside its subject. */
interface Presentation {
  readonly style: Style;
  readonly verbose: boolean;
  /** Repeats what several resources share for each of them. */
  readonly full?: boolean | undefined;
  /** Without notes on what is unchanged. */
  readonly quiet?: boolean | undefined;
  /** When its subject was made, where that is known. */
  readonly made?: Date;
  /** Of the one workspace that is reported. */
  readonly reach: Reach;
}

/** One form of everything that is reported: the whole text, its final newline included. */
export interface ReportFormat {
  report(report: Report, presentation: Presentation): string;
  several(several: SeveralReports, presentation: Presentation): string;
  /** Why there is no result, for a program. Absent where people read the format: they read stderr. */
  error?(document: ErrorDocument): string;
}
