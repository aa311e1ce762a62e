import { z } from 'zod';
import { about } from '../../values/described.ts';
import { lazily } from '../../values/lazily.ts';

/*
 * Schemas of the platform's records and requests, created on first use. Requests are strict and have the limits of the API document;
 * manifests, emulator and JSON Schemas are built on them. Records are loose: undocumented fields are kept, and a field that a manifest may
 * manage accepts any value, because only the comparison judges it.
 */

/** As `meta`, without a copy of the schema. */
function withMeta<T extends z.ZodType>(schema: T, description: string, example: string | number | boolean): T {
  z.globalRegistry.add(schema, about(description, example));
  return schema;
}

export const text = (description: string, example: string) => withMeta(z.string(), description, example);
export const integer = (description: string, example: number) => withMeta(z.int(), description, example);
export const decimal = (description: string, example: number) => withMeta(z.number(), description, example);
export const flag = (description: string) => withMeta(z.boolean(), description, true);
export const url = (description: string, example: string) =>
  withMeta(z.url({ error: 'expected a valid URL, such as https://example.com/hook' }), description, example);

/*
 * Descriptions contain only what the API document states: units, values and limits. A meaning that is only suggested by the field's name is
 * marked with `presumably`.
 */
export const presumably = (meaning: string): string => `Presumably ${meaning}.`;
export const anyValue = (what: string): string => `${what} (values not documented).`;
export const anyRange = (what: string): string => `${what} (range not documented).`;

/** ISO 8601 in UTC, with `+00:00` or with microseconds and `Z`; kept as received. */
export const timestamp = lazily(() => z.string().nullish());
/** Optional text. */
export const anyText = timestamp;
/** Optional, of any type. */
export const anything = lazily(() => z.unknown().optional());

/** The field that identifies a record in a list. Null counts as absent, so that the record matches nothing. */
export function naming<T extends z.ZodType>(name: T) {
  return name.nullish().transform((value) => value ?? undefined);
}

/** The numeric fields of a request. */
export function numberFields({ shape }: z.ZodObject): readonly string[] {
  return Object.keys(shape).filter((key) => z.safeParse(shape[key] ?? z.never(), 1).success);
}

const NUMBER_IN_TEXT = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;

/** Converts a number in text to a number; leaves other values unchanged. */
function asNumber(shown: unknown): unknown {
  return typeof shown === 'string' && NUMBER_IN_TEXT.test(shown) ? Number(shown) : shown;
}

/** Optional, of any type; a number in text becomes a number. */
export const anyNumber = lazily(() => z.unknown().optional().transform(asNumber));

/** The placeholder for a secret that the platform shows although it should not; null stays null. */
function conceal(shown: unknown): unknown {
  return (shown ?? null) === null ? shown : '(secret)';
}

/** A field that the API document calls secret. Its value is never exposed. */
export const concealed = lazily(() => z.unknown().optional().transform(conceal));

/** The observed values with `asNumber` applied to some fields, and others concealed. */
export function shownValues(
  shown: Readonly<Record<string, unknown>>,
  { numbers, secrets }: { readonly numbers: readonly string[]; readonly secrets: readonly string[] },
): Record<string, unknown> {
  const values = { ...shown };
  for (const field of numbers) if (Object.hasOwn(shown, field)) values[field] = asNumber(shown[field]);
  for (const field of secrets) if (Object.hasOwn(shown, field)) values[field] = conceal(shown[field]);
  return values;
}
