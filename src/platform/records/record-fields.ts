import { z } from 'zod';
import { about } from '../../values/described.ts';
import { lazy } from '../../values/lazy.ts';

/*
 * Schemas of the platform's records and requests, created on first use. Request schemas are strict and have the limits of the API
 * document. The schemas of manifests, the emulator and the JSON Schemas are derived from them. Record schemas are loose: they keep
 * undocumented fields, and accept any value of a field that a manifest may manage, because that value is only compared.
 */

/** Adds a description and an example to a schema. Unlike zod's `meta`, does not copy the schema. */
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
export const anyValue = (subject: string): string => `${subject} (values not documented).`;
export const anyRange = (subject: string): string => `${subject} (range not documented).`;

/** An ISO 8601 time in UTC, with `+00:00`, or with microseconds and `Z`. The value is kept as received. */
export const timestamp = lazy(() => z.string().nullish());
/** An optional string. */
export const anyText = timestamp;
export const anything = lazy(() => z.unknown().optional());

/** The schema of the field that identifies a record in a list. Null counts as absent, so that the record matches nothing. */
export function nameField<T extends z.ZodType>(name: T) {
  return name.nullish().transform((value) => value ?? undefined);
}

/** Returns the names of the fields of a request that accept a value. */
export function fieldsAccepting(value: number | boolean, { shape }: z.ZodObject): readonly string[] {
  return Object.keys(shape).filter((key) => z.safeParse(shape[key] ?? z.never(), value).success);
}

const NUMERIC_STRING = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;

/** Converts a numeric string to a number. Returns other values unchanged. */
function asNumber(observed: unknown): unknown {
  if (typeof observed !== 'string' || !NUMERIC_STRING.test(observed)) return observed;
  const number = Number(observed);
  return Number.isFinite(number) ? number : observed;
}

/** An optional value of any type. A numeric string becomes a number. */
export const anyNumber = lazy(() => z.unknown().optional().transform(asNumber));

const FLAGS: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  [0, false],
  ['0', false],
  ['false', false],
  [1, true],
  ['1', true],
  ['true', true],
]);

/** Converts a number or a string that represents a boolean. Returns other values unchanged. */
function asFlag(observed: unknown): unknown {
  return FLAGS.get(observed) ?? observed;
}

/** An optional value of any type. A number or a string that represents a boolean becomes a boolean. */
export const anyFlag = lazy(() => z.unknown().optional().transform(asFlag));

/** An optional id of another record. The platform may omit the field or return an empty string instead of null. */
export const link = lazy(() =>
  z
    .unknown()
    .optional()
    .transform((id) => ((id ?? '') === '' ? null : id)),
);

/** Returns a placeholder for a secret that the platform should not have returned. Returns null and undefined unchanged. */
function conceal(observed: unknown): unknown {
  return (observed ?? null) === null ? observed : '(secret)';
}

/** A field that the API document calls secret. Its value is never exposed. */
export const concealed = lazy(() => z.unknown().optional().transform(conceal));

interface ConvertedFields {
  readonly numbers: readonly string[];
  readonly flags: readonly string[];
  readonly secrets: readonly string[];
}

/** Converts some fields of observed values to numbers and booleans, and conceals secret ones. */
export function convertValues(
  observed: Readonly<Record<string, unknown>>,
  { numbers, flags, secrets }: ConvertedFields,
): Record<string, unknown> {
  const values = { ...observed };
  for (const field of numbers) if (Object.hasOwn(observed, field)) values[field] = asNumber(observed[field]);
  for (const field of flags) if (Object.hasOwn(observed, field)) values[field] = asFlag(observed[field]);
  for (const field of secrets) if (Object.hasOwn(observed, field)) values[field] = conceal(observed[field]);
  return values;
}
