import { withDigest } from '../../engine/plan/plan-digest.ts';
import { PLANS_FORMAT_VERSION, type PlansDocument } from '../../runs/plans-document.ts';
import { VERSION } from '../../version.ts';
import { applyJson } from '../apply-json.ts';
import { jsonParts, jsonText } from '../json-text.ts';
import type { Report } from '../report.ts';
import type { ReportFormat } from './format.ts';

export const format: ReportFormat = {
  report: (report) => jsonParts(report.applied === undefined ? planJson(report) : applyJson(report.applied)),
  several({ reports, failures }) {
    const several: PlansDocument = {
      format_version: PLANS_FORMAT_VERSION,
      voxform_version: VERSION,
      plans: reports.map(planJson),
      failures,
    };
    return jsonParts(several);
  },
  error: jsonText,
};

/** Adds the digest to a plan, but not to drift, which cannot be applied. */
function planJson({ what, document }: Report) {
  return what === 'plan' ? withDigest(document) : document;
}
