import { z } from 'zod';
import type { Kind, Lookup } from '../../kinds/kind.ts';
import { metadataSchema } from '../../manifests/envelope.ts';
import { formDefinitions, referenceForm } from '../../manifests/form-json-schema.ts';
import type { FieldRule } from '../../manifests/kind-schema.ts';
import { plainSchema } from '../../manifests/manifest-json-schema.ts';
import { bare } from '../../manifests/schema-fields.ts';
import { projectSchema } from '../../project/project-schema.ts';
import { isObject, type Json, type JsonObject } from '../../values/json.ts';

/** Something that can be asked about, by the path that people type. */
export interface Topic {
  readonly path: string;
  readonly about: 'kind' | 'lookup' | 'field' | 'metadata' | 'form' | 'project';
  readonly description: string;
  /** What it takes; nothing for a lookup. */
  readonly schema: JsonObject;
  readonly required: boolean;
  readonly rule: FieldRule;
  readonly kind?: Kind;
}

/** Placeholder for any key of an object with free keys. */
export const ANY_KEY = '<name>';

/** Everything that can be asked about, in the order of the schemas: a topic before what is in it. */
export function topicsOf(kinds: Iterable<Kind>, lookups: Iterable<Lookup>): Topic[] {
  const all = [...kinds];
  return [
    ...all.flatMap(ofKind),
    ...[...lookups].map(({ name, description }): Topic => ({ ...plainTopic(name, 'lookup'), description })),
    ...within(metadataSchema, { path: 'metadata', about: 'metadata' }),
    ...forms(),
    ...within(projectSchema.describe('The project file, voxform.yaml.'), {
      path: 'project',
      about: 'project',
    }),
  ];
}

function ofKind(kind: Kind): Topic[] {
  const { name, description } = kind;
  const own: Topic = {
    ...plainTopic(name, 'kind'),
    description,
    schema: plainSchema(kind.spec),
    kind,
  };
  return [
    own,
    ...fieldsIn(kind.spec, { path: name, about: 'field', kind }).map((topic) => ({ ...topic, kind })),
  ];
}

interface TopicPlace {
  readonly path: string;
  readonly about: Topic['about'];
  readonly kind?: Kind;
}

/** The topic of a schema, and those of what is in it. */
function within(schema: z.ZodType, place: TopicPlace): Topic[] {
  const { description = '', ...rest } = plainSchema(schema);
  const own = { ...plainTopic(place.path, place.about), description: String(description), schema: rest };
  return [
    { ...own, required: !schema.safeParse(undefined).success, rule: ruleIn(place) },
    ...fieldsIn(schema, place),
  ];
}

function fieldsIn(schema: unknown, place: TopicPlace): Topic[] {
  const inner = bare(schema);
  if (inner instanceof z.ZodObject) {
    return Object.entries(inner.shape).flatMap(([key, field]) =>
      within(field as z.ZodType, { ...place, path: `${place.path}.${key}` }),
    );
  }
  if (inner instanceof z.ZodRecord && bare(inner.valueType) instanceof z.ZodObject)
    return within(inner.valueType as z.ZodType, { ...place, path: `${place.path}.${ANY_KEY}` });
  return inner instanceof z.ZodArray ? fieldsIn(inner.element, place) : [];
}

function ruleIn({ path, kind }: TopicPlace): FieldRule {
  if (kind === undefined) return {};
  const field = path.slice(kind.name.length + 1);
  const [root = ''] = field.split('.');
  return kind.fields[field] ?? kind.fields[root] ?? {};
}

function plainTopic(path: string, about: Topic['about']): Topic {
  return { path, about, description: '', schema: {}, required: false, rule: {} };
}

/** The value forms, by the key that makes them; what may stand beside it follows. */
function forms(): Topic[] {
  const found = new Map<string, Topic>();
  const visit = (schema: Json): void => {
    if (Array.isArray(schema)) for (const each of schema) visit(each);
    if (!isObject(schema)) return;
    const { properties, oneOf } = schema as JsonObject;
    if (oneOf !== undefined) visit(oneOf);
    if (!isObject(properties)) return;
    const [form = ''] = Object.keys(properties);
    for (const [key, argument] of Object.entries(properties as JsonObject)) {
      const { description = '', ...rest } = argument as JsonObject;
      const path = key === form ? key : `${form}.${key}`;
      const topic = { ...plainTopic(path, 'form'), description: String(description), schema: rest };
      if (!found.has(path)) found.set(path, topic);
    }
  };
  visit([...Object.values<JsonObject>(formDefinitions), referenceForm()]);
  return [...found.values()];
}
