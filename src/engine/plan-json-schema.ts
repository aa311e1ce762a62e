import { z } from 'zod';
import { planDocument } from './plan-document.ts';

/** JSON Schema (draft 2020-12) of the plan document: what `plan --output json` prints and `plan --out` saves. */
export function planJsonSchema(): object {
  return z.toJSONSchema(planDocument, { target: 'draft-2020-12' });
}
