import type { z } from 'zod';
import type { KindSchema } from '../manifests/kind-schema.ts';
import { DRAFT, formDefinitions, formRef, plainSchema, specJsonSchema } from '../manifests/manifest-json-schema.ts';
import { settingForms } from '../manifests/schema-fields.ts';
import type { JsonObject } from '../values/json.ts';
import { projectSchema } from './project-schema.ts';

/** Returns the JSON Schema (draft 2020-12) of the project file, including the defaults of each kind. */
export function projectJsonSchema(kinds: Iterable<KindSchema>): JsonObject {
  const all = [...kinds];
  const schema = settingsJsonSchema(projectSchema());
  const properties = schema.properties as JsonObject;
  const defaults = properties.defaults as JsonObject;
  const defaultsByKind = {
    description: defaults.description ?? '',
    type: 'object',
    properties: Object.fromEntries(all.map(({ name }) => [name, { $ref: `#/$defs/${name}` }])),
    additionalProperties: false,
  };
  const { properties: workspaceProperties } = (properties.workspaces as JsonObject).additionalProperties as {
    readonly properties: Record<string, JsonObject>;
  };
  const { description, additionalProperties: template } = workspaceProperties.dashboard ?? {};
  workspaceProperties.dashboard = {
    description: description ?? '',
    type: 'object',
    properties: Object.fromEntries(all.map(({ dashboardKey }) => [dashboardKey, template ?? {}])),
    additionalProperties: false,
  };
  const specs = Object.fromEntries(all.map((kind) => [kind.name, specJsonSchema(kind)]));
  return {
    $schema: DRAFT,
    title: 'voxform project',
    ...schema,
    properties: { ...properties, defaults: defaultsByKind },
    $defs: { ...specs, ...formDefinitions },
  };
}

/** Returns the JSON Schema of a settings file, including the value forms of each setting. */
export function settingsJsonSchema(settings: z.ZodType): JsonObject {
  return plainSchema(settings, ({ zodSchema, jsonSchema }) => {
    const setting = settingForms.get(zodSchema as unknown as z.ZodType);
    if (setting !== undefined) allowForms(jsonSchema as Record<string, unknown>, setting.forms);
  });
}

type Forms = Exclude<ReturnType<typeof settingForms.get>, undefined>['forms'];

/** Changes a setting's schema so that it accepts value forms. A secret setting accepts only forms. */
function allowForms(schema: Record<string, unknown>, forms: Forms): void {
  const { description, examples, ...plain } = schema;
  for (const key of Object.keys(plain)) delete schema[key];
  if (forms.includes('any')) {
    if (plain.type === 'object') schema.type = 'object';
    return;
  }
  const formNames = forms.filter((form) => form !== 'text');
  const references = formNames.map((form) => formRef(form === '$env' ? 'env' : 'secret'));
  const text = forms.includes('text') ? { type: 'string' } : plain;
  const isSecret = forms.includes('$secret') && !forms.includes('text');
  schema.anyOf = isSecret ? references : [text, ...references];
}
