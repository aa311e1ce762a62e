import type { JsonObject } from '../values/json.ts';

export const DRAFT = 'https://json-schema.org/draft/2020-12/schema';

const nonEmpty: JsonObject = { type: 'string', minLength: 1 };

/** A form with one main key and optional others. */
function form(key: string, description: string, argument: JsonObject, beside: JsonObject = {}): JsonObject {
  return {
    type: 'object',
    description,
    properties: { [key]: { description, ...argument }, ...beside },
    required: [key],
    additionalProperties: false,
  };
}

export function referenceForm(kind?: string): JsonObject {
  const description = `Id of the record of another resource, as ${kind ?? 'Kind'}/name.`;
  return form('$ref', description, { type: 'string', pattern: `^${kind ?? '[A-Za-z]+'}/.+` });
}

const env = form(
  '$env',
  'Text of an environment variable.',
  { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]*$' },
  { default: { type: 'string', description: 'Text used if the variable is not set.' } },
);
const variable = form('$var', 'A variable of the workspace, from vars in the project file.', nonEmpty);

/** The value forms for `$defs`; `formRef` points to them. */
export const formDefinitions = {
  secret: form(
    '$secret',
    "A secret: the environment variable of that name, else the file of that name in the workspace's secrets_dir.",
    { type: 'string', pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]*$' },
  ),
  env,
  var: variable,
  join: form(
    '$join',
    'Texts joined into one.',
    {
      type: 'array',
      items: {
        anyOf: [{ type: ['string', 'number', 'boolean'] }, { $ref: '#/$defs/textForm' }, referenceForm()],
      },
    },
    { separator: { type: 'string', description: 'Text between them; default: a blank line.' } },
  ),
  /** All forms that may give text. */
  textForm: {
    oneOf: [
      { $ref: '#/$defs/secret' },
      { $ref: '#/$defs/env' },
      form('$file', 'Text of a file, relative to this one, without its final newline.', nonEmpty),
      { $ref: '#/$defs/var' },
      { $ref: '#/$defs/join' },
      form('$literal', 'A literal text.', { type: 'string' }),
    ],
  },
  /** Forms that may give other values than text. */
  anyForm: {
    oneOf: [{ $ref: '#/$defs/var' }, form('$literal', 'A literal value, whatever its keys.', {})],
  },
} as const satisfies JsonObject;

export function formRef(name: keyof typeof formDefinitions): JsonObject {
  return { $ref: `#/$defs/${name}` };
}
