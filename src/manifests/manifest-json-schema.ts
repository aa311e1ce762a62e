import { z } from 'zod';
import { distinct, isObject, type Json, type JsonObject, mapParts } from '../values/json.ts';
import { envelopeSchema, manifestSchema, metadataSchema } from './envelope.ts';
import type { KindSchema } from './kind-schema.ts';
import { schemaPaths } from './schema-fields.ts';

/** Returns the JSON Schema (draft 2020-12) of a manifest of one kind, including value forms. */
export function manifestJsonSchema(kind: KindSchema): JsonObject {
  return { $schema: DRAFT, title: `${kind.name} manifest`, ...manifestOf(kind), $defs: formDefinitions };
}

/** Returns the JSON Schema (draft 2020-12) of a manifest of any of these kinds. */
export function allManifestsJsonSchema(kinds: Iterable<KindSchema>): JsonObject {
  const all = [...kinds];
  return {
    $schema: DRAFT,
    title: 'voxform manifest',
    description: 'One resource: its name, and the managed fields of its record.',
    type: 'object',
    properties: {
      apiVersion: plainSchema(envelopeSchema.shape.apiVersion),
      kind: { description: 'Kind of the resource.', enum: all.map(({ name }) => name) },
      metadata: true,
      spec: true,
    },
    required: ['apiVersion', 'kind', 'metadata', 'spec'],
    allOf: all.map(({ name }) => ({
      if: { properties: { kind: { const: name } }, required: ['kind'] },
      // biome-ignore lint/suspicious/noThenProperty: a JSON Schema keyword.
      then: { $ref: `#/$defs/${name}` },
    })),
    $defs: { ...Object.fromEntries(all.map((kind) => [kind.name, manifestOf(kind)])), ...formDefinitions },
  };
}

/** Returns the JSON Schema of a spec with value forms. Nothing is required, as defaults may supply it. `$ref`s point to `$defs`. */
export function specJsonSchema(kind: KindSchema): JsonObject {
  return fieldsSchema(kind, plainSchema(kind.spec), '');
}

function manifestOf(kind: KindSchema): JsonObject {
  const { apiVersion, kind: name, spec } = manifestSchema(kind).shape;
  return {
    type: 'object',
    description: kind.description,
    properties: {
      apiVersion: plainSchema(apiVersion),
      kind: plainSchema(name),
      metadata: metadataJsonSchema(kind),
      spec: { ...specJsonSchema(kind), description: spec.description ?? '' },
    },
    required: ['apiVersion', 'kind', 'metadata', 'spec'],
    additionalProperties: false,
  };
}

function metadataJsonSchema(kind: KindSchema): JsonObject {
  const { description: about = '' } = metadataSchema.shape.ignore_drift.unwrap();
  const paths = z.array(z.enum(schemaPaths(kind.spec))).describe(about);
  const { description = '' } = metadataSchema;
  return plainSchema(metadataSchema.extend({ ignore_drift: paths.optional() }).describe(description));
}

/** Returns the JSON Schema of a zod schema, without zod's own additions. */
export function plainSchema(
  schema: z.ZodType,
  override?: NonNullable<Parameters<typeof z.toJSONSchema>[1]>['override'],
): JsonObject {
  const {
    $schema: _,
    $defs: __,
    ...rest
  } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    ...(override && { override }),
  });
  return simplify(rest as JsonObject) as JsonObject;
}

/** Removes zod's definition of arbitrary JSON, and the bounds and property name types that zod adds by default. */
function simplify(schema: Json): Json {
  if (!isObject(schema)) return mapParts<Json, Json>(schema, simplify);
  if (typeof schema.$ref === 'string' && schema.$ref.startsWith('#/$defs/__')) return {};
  const entries = Object.entries(schema as JsonObject).filter(
    ([key, value]) =>
      !(key === 'minimum' && value === Number.MIN_SAFE_INTEGER) &&
      !(key === 'maximum' && value === Number.MAX_SAFE_INTEGER) &&
      !(key === 'propertyNames' && isObject(value) && Object.keys(value).length === 1),
  );
  return mapParts<Json, Json>(Object.fromEntries(entries), simplify);
}

function fieldsSchema(kind: KindSchema, schema: JsonObject, prefix: string): JsonObject {
  const { required: _, properties, ...rest } = schema;
  const fields = Object.entries((properties ?? {}) as JsonObject).map(([key, field]) => [
    key,
    valueSchema(kind, field as JsonObject, prefix + key),
  ]);
  return { ...rest, properties: Object.fromEntries(fields) };
}

/** Returns the schema of a field with its value forms. Editors expect the description and the examples at the top level. */
function valueSchema(kind: KindSchema, { description, examples, ...schema }: JsonObject, path: string): JsonObject {
  return {
    ...(description !== undefined && { description }),
    ...(examples !== undefined && { examples }),
    anyOf: alternatives(kind, schema, path),
  };
}

function alternatives(kind: KindSchema, schema: JsonObject, path: string): Json[] {
  const rule = kind.fields[path] ?? {};
  if (rule.writeOnly === true) return [formRef('secret'), formRef('var'), formRef('join')];
  if (Array.isArray(schema.anyOf)) {
    return distinct(schema.anyOf.flatMap((member: Json) => alternatives(kind, member as JsonObject, path)));
  }
  if (isObject(schema.properties)) return [fieldsSchema(kind, schema, `${path}.`), formRef('anyForm')];
  if (schema.type === 'array') {
    const items = isObject(schema.items) ? (schema.items as JsonObject) : {};
    const isAny = rule.opaque === true || Object.keys(items).length === 0;
    return [{ ...schema, items: isAny ? {} : valueSchema(kind, items, path) }, formRef('anyForm')];
  }
  const takesText = Array.isArray(schema.type) ? schema.type.includes('string') : schema.type === 'string';
  if (!takesText) return [schema, formRef('anyForm')];
  const reference = rule.refersTo === undefined ? [] : [referenceForm(rule.refersTo)];
  return [schema, ...reference, formRef('textForm')];
}

export const DRAFT = 'https://json-schema.org/draft/2020-12/schema';

const nonEmpty: JsonObject = { type: 'string', minLength: 1 };

/** Returns the schema of a value form with one main key and optional other keys. */
function form(key: string, description: string, argument: JsonObject, otherKeys: JsonObject = {}): JsonObject {
  return {
    type: 'object',
    description,
    properties: { [key]: { description, ...argument }, ...otherKeys },
    required: [key],
    additionalProperties: false,
  };
}

export function referenceForm(kind?: string): JsonObject {
  const description = `Record id of the resource with this address: ${kind ?? 'Kind'}/name.`;
  return form('$ref', description, { type: 'string', pattern: `^${kind ?? '[A-Za-z]+'}/.+` });
}

const env = form(
  '$env',
  'Value of an environment variable.',
  { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]*$' },
  { default: { type: 'string', description: 'Value to use if the variable is not set.' } },
);
const variable = form('$var', 'A variable of the workspace, from vars in the project file.', nonEmpty);

/** The schemas of the value forms, for `$defs`. `formRef` returns a reference to one of them. */
export const formDefinitions = {
  secret: form(
    '$secret',
    'A secret, from the sources under secrets in the project file; by default the environment, .env and secrets_dir.',
    { type: 'string', pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]*$' },
  ),
  env,
  var: variable,
  join: form(
    '$join',
    'Strings to join.',
    {
      type: 'array',
      items: {
        anyOf: [{ type: ['string', 'number', 'boolean'] }, { $ref: '#/$defs/textForm' }, referenceForm()],
      },
    },
    { separator: { type: 'string', description: 'Text between the strings; default: a blank line.' } },
  ),
  /** All forms that can produce a string. */
  textForm: {
    oneOf: [
      { $ref: '#/$defs/secret' },
      { $ref: '#/$defs/env' },
      form('$file', 'Text of a file, without its final newline. The path is relative to this file.', nonEmpty),
      { $ref: '#/$defs/var' },
      { $ref: '#/$defs/join' },
      form('$literal', 'A literal string.', { type: 'string' }),
    ],
  },
  /** The forms that can produce a value of any type. */
  anyForm: {
    oneOf: [
      { $ref: '#/$defs/var' },
      form('$literal', 'A literal value. Its keys are not interpreted as value forms.', {}),
    ],
  },
} as const satisfies JsonObject;

export function formRef(name: keyof typeof formDefinitions): JsonObject {
  return { $ref: `#/$defs/${name}` };
}
