import { z } from 'zod';
import type { Json } from './json.ts';
import { lazy } from './lazy.ts';

export const jsonValue: z.ZodType<Json> = z.json();

/** Metadata of a schema: its description in editors and `voxform explain`, and examples as written in a manifest. */
export const about = (description: string, ...examples: z.core.util.JSONType[]) => ({
  description,
  examples,
});

/** Returns the schema of an object with exactly these fields. */
export function describedObject<Fields extends z.ZodRawShape>(description: string, fields: Fields) {
  return z.strictObject(fields).describe(description);
}

/* Schemas of objects, created on first use. */

export const lazyObject = <Fields extends z.ZodRawShape>(fields: () => Fields) => lazy(() => z.object(fields()));
export const lazyStrictObject = <Fields extends z.ZodRawShape>(fields: () => Fields) =>
  lazy(() => z.strictObject(fields()));
export const lazyLooseObject = <Fields extends z.ZodRawShape>(fields: () => Fields) =>
  lazy(() => z.looseObject(fields()));
