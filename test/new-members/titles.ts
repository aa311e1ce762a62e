import type { ReportFormat } from '../../src/output/formats/format.ts';

/** A sixth format: a title each. */
export const format: ReportFormat = {
  plan: ({ workspace, summary }) => `plan of ${workspace}: ${JSON.stringify(summary)}\n`,
  drift: ({ workspace }) => `drift of ${workspace}\n`,
  apply: ({ results }) => `applied ${results.size}\n`,
  several: ({ documents }) => `${documents.length} plans\n`,
  error: ({ error }) => `no result: ${error.message}\n`,
};
