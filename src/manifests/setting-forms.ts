import { z } from 'zod';

/** The value forms that a setting may be written in, for the checks and for the JSON Schema. With `text`, plain text is taken too. */
export const settingForms = z.registry<{
  readonly forms: readonly ('$env' | '$secret' | 'text' | 'any')[];
}>();
