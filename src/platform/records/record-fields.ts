import { z } from 'zod';
import { about } from '../../values/described.ts';
import { lazily } from '../../values/lazily.ts';

/*
 * The platform's records and requests, each once, and made when they are first needed. Requests are strict: they carry the API
 * document's limits, and the manifests, the emulator and the JSON Schemas are built on them. Records are loose: fields that the
 * document does not name are kept, and the value of a field that a manifest may manage is taken as it comes, because the comparison
 * is the place that judges it.
 */

// ---- Of requests

/** As `meta`, without a copy of the schema. */
function withMeta<T extends z.ZodType>(
  schema: T,
  description: string,
  example: string | number | boolean,
): T {
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
 * A description says no more than the API document does: units, values and limits that it states. A meaning that only the field's
 * name suggests is marked by `presumably`.
 */
export const presumably = (meaning: string): string => `Presumably ${meaning}.`;
export const anyValue = (what: string): string => `${what} (values not documented).`;
export const anyRange = (what: string): string => `${what} (range not documented).`;

// ---- Of records

/** ISO 8601 in UTC, with `+00:00` or with microseconds and `Z`; kept as the platform wrote it. */
export const timestamp = lazily(() => z.string().nullish());
/** Shown or not. */
export const anyText = timestamp;
/** Shown or not, in whatever form. */
export const anything = lazily(() => z.unknown().optional());

/** The field that names a record in a list. A null is no name: it counts as not shown, so that the record matches nothing. */
export function naming<T extends z.ZodType>(name: T) {
  return name.nullish().transform((value) => value ?? undefined);
}

/** The fields of a request that hold numbers. */
export function numberFields({ shape }: z.ZodObject): readonly string[] {
  return Object.keys(shape).filter((key) => z.safeParse(shape[key] ?? z.never(), 1).success);
}

const NUMBER_IN_TEXT = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;

/** A number that the platform may render as text, as a number; anything else as it is. */
function asNumber(shown: unknown): unknown {
  return typeof shown === 'string' && NUMBER_IN_TEXT.test(shown) ? Number(shown) : shown;
}

/** Shown or not, in whatever form; a number in text as a number. */
export const anyNumber = lazily(() => z.unknown().optional().transform(asNumber));

/** What stands for a secret that the platform shows although it should not. Nothing is there where it shows null. */
function conceal(shown: unknown): unknown {
  return (shown ?? null) === null ? shown : '(secret)';
}

/** A field that the API document calls secret: nobody gets to see what is shown in it. */
export const concealed = lazily(() => z.unknown().optional().transform(conceal));

/** The shown values with `asNumber` applied to some of the fields, and others concealed. */
export function shownValues(
  shown: Readonly<Record<string, unknown>>,
  { numbers, secrets }: { readonly numbers: readonly string[]; readonly secrets: readonly string[] },
): Record<string, unknown> {
  const values = { ...shown };
  for (const field of numbers) if (Object.hasOwn(shown, field)) values[field] = asNumber(shown[field]);
  for (const field of secrets) if (Object.hasOwn(shown, field)) values[field] = conceal(shown[field]);
  return values;
}
