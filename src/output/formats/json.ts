import { sealed } from '../../engine/plan/saved-plan.ts';
import { PLANS_FORMAT_VERSION, type PlansDocument } from '../../runs/plans-document.ts';
import { VERSION } from '../../version.ts';
import { applyJson } from '../apply-json.ts';
import { jsonText } from '../json-text.ts';
import type { ReportFormat } from './format.ts';

export const format: ReportFormat = {
  plan: (document) => jsonText(sealed(document)),
  drift: (document) => jsonText(document),
  apply: (report) => jsonText(applyJson(report)),
  several({ what, documents, failures }) {
    const several: PlansDocument = {
      format_version: PLANS_FORMAT_VERSION,
      voxform_version: VERSION,
      plans: what === 'plan' ? documents.map(sealed) : documents,
      failures,
    };
    return jsonText(several);
  },
  error: (document) => jsonText(document),
};
