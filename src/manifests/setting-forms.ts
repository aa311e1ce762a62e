import { z } from 'zod';

/** The value forms of a setting, for the checks and for the JSON Schema. `text` also allows plain text. */
export const settingForms = z.registry<{
  readonly forms: readonly ('$env' | '$secret' | 'text' | 'any')[];
}>();
