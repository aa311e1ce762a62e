import { z } from 'zod';
import { stateDocument } from './document.ts';

/** JSON Schema (draft 2020-12) of the state document. */
export function stateJsonSchema(): object {
  return z.toJSONSchema(stateDocument, { target: 'draft-2020-12' });
}
