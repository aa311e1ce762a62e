import { z } from 'zod';
import type { FieldRule } from '../../manifests/kind-schema.ts';
import { takesText, unwrapSchema } from '../../manifests/schema-fields.ts';
import type { LeafPath } from '../../values/path.ts';

export type Type =
  | { readonly is: 'any' | 'nothing' | 'null' | 'bool' | 'int' | 'double' | 'timestamp' | 'duration' | 'secret' }
  /** `values` lists all possible strings, if they are known. */
  | { readonly is: 'string'; readonly values?: readonly string[] }
  | { readonly is: 'list'; readonly of: Type }
  /** An object with any keys. */
  | { readonly is: 'map'; readonly of: Type }
  | { readonly is: 'object'; readonly fields: ReadonlyMap<string, Type> };

export const ANY: Type = { is: 'any' };
/** The type of the items of an empty list. */
export const NOTHING: Type = { is: 'nothing' };
export const BOOL: Type = { is: 'bool' };
export const INT: Type = { is: 'int' };
export const DOUBLE: Type = { is: 'double' };
export const STRING: Type = { is: 'string' };
export const TIMESTAMP: Type = { is: 'timestamp' };
export const DURATION: Type = { is: 'duration' };

export function listOf(of: Type): Type {
  return { is: 'list', of };
}

/**
 * Derives a type from a Zod schema.
 * @param rules special fields by path. A write-only field is a secret.
 */
export function typeOf(schema: unknown, rules: Readonly<Record<LeafPath, FieldRule>> = {}, path: LeafPath = ''): Type {
  const plain = unwrapSchema(schema);
  const rule = Object.hasOwn(rules, path) ? rules[path] : undefined;
  if (rule?.writeOnly) return { is: 'secret' };
  if (plain instanceof z.ZodObject) {
    const fields = Object.entries(plain.shape).map(([key, field]): [string, Type] => [
      key,
      typeOf(field, rules, path === '' ? key : `${path}.${key}`),
    ]);
    return { is: 'object', fields: new Map(fields) };
  }
  if (plain instanceof z.ZodArray) return listOf(typeOf(plain.element));
  if (plain instanceof z.ZodRecord) return { is: 'map', of: typeOf(plain.valueType) };
  if (plain instanceof z.ZodUnion) return plain.options.map((each) => typeOf(each)).reduce(unionOf);
  if (plain instanceof z.ZodEnum) return { is: 'string', values: plain.options.map(String) };
  if (plain instanceof z.ZodLiteral) return literal([...plain.values]);
  if (takesText(plain)) return STRING;
  if (plain instanceof z.ZodNumber) return plain.isInt ? INT : DOUBLE;
  if (plain instanceof z.ZodBoolean) return BOOL;
  return ANY;
}

function literal(values: readonly unknown[]): Type {
  if (values.every((value) => typeof value === 'string')) return { is: 'string', values };
  return values.every((value) => typeof value === 'boolean') ? BOOL : ANY;
}

/** Returns the type of a value that has one of the two types; `any` if no other type covers both. */
export function unionOf(a: Type, b: Type): Type {
  if (a === b || b.is === 'nothing' || b.is === 'null') return a;
  if (a.is === 'nothing' || a.is === 'null') return b;
  if (a.is === 'string' && b.is === 'string') {
    return a.values && b.values ? { is: 'string', values: [...new Set([...a.values, ...b.values])] } : STRING;
  }
  if (a.is === 'list' && b.is === 'list') return listOf(unionOf(a.of, b.of));
  if (a.is === 'map' && b.is === 'map') return { is: 'map', of: unionOf(a.of, b.of) };
  if (a.is === 'object' && b.is === 'object') {
    const fields = new Map(a.fields);
    for (const [key, type] of b.fields) fields.set(key, unionOf(fields.get(key) ?? NOTHING, type));
    return { is: 'object', fields };
  }
  return a.is === b.is ? a : ANY;
}

export function typeName({ is }: Type): string {
  return words[is];
}

const words = {
  any: 'any value',
  nothing: 'any value',
  null: 'null',
  bool: 'true or false',
  int: 'an int',
  double: 'a double',
  string: 'a string',
  timestamp: 'a time',
  duration: 'a duration',
  secret: 'a secret',
  list: 'a list',
  map: 'an object',
  object: 'an object',
} satisfies Record<Type['is'], string>;
