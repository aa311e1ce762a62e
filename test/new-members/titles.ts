import type { ReportFormat } from '../../src/output/formats/format.ts';

/** A sixth format: one title each. */
export const format: ReportFormat = {
  report: ({ type, document }) => `${type} of ${document.workspace}: ${JSON.stringify(document.summary)}\n`,
  reportSet: ({ reports }) => `${reports.length} plans\n`,
  error: ({ error }) => `no result: ${error.message}\n`,
};
