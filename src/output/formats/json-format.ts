import { withDigest } from '../../engine/plan/plan-digest.ts';
import { PLANS_FORMAT_VERSION, type PlansDocument } from '../../runs/plans-document.ts';
import { VERSION } from '../../version.ts';
import { applyJson } from '../apply-json.ts';
import { jsonParts, jsonText } from '../json-text.ts';
import type { Report } from '../report.ts';
import type { ReportFormat } from './format.ts';

export const format: ReportFormat = {
  report: (report) => jsonParts(report.applied === undefined ? planJson(report) : applyJson(report.applied)),
  reportSet({ reports, failures }) {
    const document: PlansDocument = {
      format_version: PLANS_FORMAT_VERSION,
      voxform_version: VERSION,
      plans: reports.map(planJson),
      failures,
    };
    return jsonParts(document);
  },
  error: jsonText,
};

/** Adds the digest to a plan, but not to drift, which cannot be applied. */
function planJson({ type, document }: Report) {
  return type === 'plan' ? withDigest(document) : document;
}
