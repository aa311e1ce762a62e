import { z } from 'zod';
import type { Json } from './json.ts';
import { lazily } from './lazily.ts';

export const jsonValue: z.ZodType<Json> = z.json();

/** Metadata of a schema: its description in editors and `voxform explain`, and examples as written in a manifest. */
export const about = (description: string, ...examples: z.core.util.JSONType[]) => ({
  description,
  examples,
});

/** Returns the schema of an object with exactly these fields. */
export function described<Fields extends z.ZodRawShape>(description: string, fields: Fields) {
  return z.strictObject(fields).describe(description);
}

/* Schemas of objects, created on first use. */

export const lazyObject = <Fields extends z.ZodRawShape>(fields: () => Fields) => lazily(() => z.object(fields()));
export const lazyStrictObject = <Fields extends z.ZodRawShape>(fields: () => Fields) =>
  lazily(() => z.strictObject(fields()));
export const lazyLooseObject = <Fields extends z.ZodRawShape>(fields: () => Fields) =>
  lazily(() => z.looseObject(fields()));
