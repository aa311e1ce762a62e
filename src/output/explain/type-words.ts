import { isObject, type Json, type JsonObject } from '../../values/json.ts';

/** What a JSON Schema takes, in a word or two, e.g. `whole number`. */
export function typeOf(schema: JsonObject): string {
  const { anyOf, oneOf, enum: choices, const: only, type, items } = schema;
  const alternatives = anyOf ?? oneOf;
  if (Array.isArray(alternatives)) return [...new Set(alternatives.map(typeOfAny))].join(' or ');
  if (only !== undefined) return JSON.stringify(only);
  if (Array.isArray(choices)) return `one of ${choices.map(String).join(', ')}`;
  if (Array.isArray(type)) return type.map((each) => WORDS[String(each)] ?? String(each)).join(' or ');
  if (type === 'array')
    return isObject(items) && items.anyOf === undefined && Object.keys(items).length > 0
      ? `list of ${plural(typeOfAny(items as Json))}`
      : 'list';
  return WORDS[String(type)] ?? 'any value';
}

function typeOfAny(schema: Json): string {
  return isObject(schema) ? typeOf(schema as JsonObject) : 'any value';
}

function plural(type: string): string {
  if (type === 'true or false' || type.startsWith('one of')) return `items, ${type}`;
  return `${type}s`;
}

const WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: 'true or false',
  object: 'object',
  null: 'null',
};

/** What a JSON Schema demands beyond its type, a clause each. */
export function limitsOf(schema: JsonObject): string[] {
  const { anyOf, items, type, format, pattern } = schema;
  if (Array.isArray(anyOf))
    return anyOf.flatMap((each: Json) => (isObject(each) ? limitsOf(each as JsonObject) : []));
  const own = [
    range(schema.minLength, schema.maxLength, 'characters'),
    range(schema.minimum, schema.maximum),
    range(schema.minItems, schema.maxItems, 'items'),
    format === 'uri' ? 'a URL' : undefined,
    typeof pattern === 'string' && format === undefined ? `matches ${pattern}` : undefined,
  ].filter((each) => each !== undefined);
  const inItems =
    type === 'array' && isObject(items)
      ? limitsOf(items as JsonObject).map((each) => `each item: ${each}`)
      : [];
  return [...own, ...inItems];
}

function range(least: Json | undefined, most: Json | undefined, unit = ''): string | undefined {
  const words = (text: string) => `${text} ${text.endsWith(' 1') ? unit.replace(/s$/, '') : unit}`.trim();
  if (least === undefined && most === undefined) return undefined;
  if (most === undefined) return words(`at least ${least}`);
  return least === undefined ? words(`at most ${most}`) : words(`${least} to ${most}`);
}
