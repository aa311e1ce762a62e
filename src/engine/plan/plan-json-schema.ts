import { z } from 'zod';
import { planDocument } from './plan-document.ts';

/** JSON Schema (draft 2020-12) of the plan document: what `plan --output json` prints and `plan --out` saves. */
export function planJsonSchema(): object {
  return z.toJSONSchema(planDocument, { target: 'draft-2020-12' });
}

/** JSON Schema of what `drift --output json` prints: a plan with what would be restored, and nothing else. */
export function driftJsonSchema(): object {
  const drift = planDocument
    .omit({ digest: true })
    .describe('Changes on the platform since the last apply, as the plan that would undo them');
  return z.toJSONSchema(drift, { target: 'draft-2020-12' });
}
