import type { Kind, Lookup } from '../../kinds/kind.ts';
import { metadataSchema } from '../../manifests/envelope.ts';
import type { FieldRule } from '../../manifests/kind-schema.ts';
import { formDefinitions, plainSchema, referenceForm } from '../../manifests/manifest-json-schema.ts';
import { didYouMeanOneOf, nearestCandidate } from '../../problems/suggest.ts';
import { projectSchema } from '../../project/project-schema.ts';
import { isObject, type Json, type JsonObject } from '../../values/json.ts';

/** A topic of `voxform explain`. Its path is the argument of the command. */
export interface Topic {
  readonly path: string;
  readonly about: 'kind' | 'lookup' | 'field' | 'metadata' | 'form' | 'project';
  readonly description: string;
  /** The JSON Schema. It is empty for a lookup. */
  readonly schema: JsonObject;
  readonly required: boolean;
  readonly rule: FieldRule;
  readonly kind?: Kind | undefined;
}

/** Stands for any key of an object whose keys the user chooses. */
export const ANY_KEY = '<name>';

/** Returns all topics in the order of the schemas, parents before children. */
export function topicsOf(kinds: Iterable<Kind>, lookups: Iterable<Lookup>): Topic[] {
  return [
    ...[...kinds].flatMap((kind): Topic[] => {
      const schema = plainSchema(kind.spec);
      const own = topicOf(schema, { path: kind.name, about: 'kind' });
      const fields = fieldsIn(schema, { path: kind.name, about: 'field', kind });
      return [{ ...own, description: kind.description, schema, kind }, ...fields];
    }),
    ...[...lookups].map(({ name, description }) => topicOf({ description }, { path: name, about: 'lookup' })),
    ...topicsWithin(plainSchema(metadataSchema), { path: 'metadata', about: 'metadata' }, true),
    ...forms(),
    ...topicsWithin(
      { ...plainSchema(projectSchema()), description: 'The project file, voxform.yaml.' },
      { path: 'project', about: 'project' },
      true,
    ),
  ];
}

type TopicPlace = Pick<Topic, 'path' | 'about' | 'kind'>;

function topicOf(
  { description = '', ...schema }: JsonObject,
  { path, about, kind }: TopicPlace,
  required = false,
): Topic {
  const topic = { path, about, description: String(description), schema, required };
  const field = path.slice(path.indexOf('.') + 1);
  const [root = ''] = field.split('.');
  return { ...topic, kind, rule: kind?.fields[field] ?? kind?.fields[root] ?? {} };
}

function topicsWithin(schema: JsonObject, place: TopicPlace, required: boolean): Topic[] {
  return [topicOf(schema, place, required), ...fieldsIn(schema, place)];
}

function fieldsIn(schema: JsonObject, place: TopicPlace): Topic[] {
  const { anyOf, items, properties, additionalProperties, required = [] } = schema;
  if (Array.isArray(anyOf)) {
    const [only, ...others] = anyOf.filter(({ type }: JsonObject) => type !== 'null');
    return others.length === 0 ? fieldsIn(only as JsonObject, place) : [];
  }
  if (isObject(items)) return fieldsIn(items as JsonObject, place);
  if (isObject(properties)) {
    return Object.entries(properties).flatMap(([key, field]) =>
      topicsWithin(field as JsonObject, { ...place, path: `${place.path}.${key}` }, (required as Json[]).includes(key)),
    );
  }
  if (!isObject(additionalProperties) || !isObject(additionalProperties.properties)) return [];
  return topicsWithin(additionalProperties as JsonObject, { ...place, path: `${place.path}.${ANY_KEY}` }, true);
}

/** Returns a topic for each value form, followed by the topics of its optional keys. */
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
      const path = key === form ? key : `${form}.${key}`;
      if (!found.has(path)) found.set(path, topicOf(argument as JsonObject, { path, about: 'form' }));
    }
  };
  visit([...Object.values<JsonObject>(formDefinitions), referenceForm()]);
  return [...found.values()];
}

type FoundTopic =
  | { readonly topic: Topic }
  /** A suffix for the error, `; did you mean "x"?`, or an empty string. */
  | { readonly suggestion: string };

/** Finds the topic for a path from the user, ignoring case. Outer keys of a manifest, the `$` of a form and `project` are optional. */
export function findTopic(topics: readonly Topic[], requested: string): FoundTopic {
  const path = requested
    .replace(/^voxform\.ya?ml(?=\.|$)/, 'project')
    .replace(/^([A-Za-z]+)\.spec(?=\.|$)/, '$1')
    .replace(/^[A-Za-z]+\.(?=metadata(\.|$))/, '');
  const [topic] = [path, `$${path}`, `project.${path}`].flatMap(
    (typed) => topics.find((each) => isSamePath(each.path, typed)) ?? [],
  );
  return topic === undefined ? { suggestion: suggestionFor(topics, path) } : { topic };
}

/** Compares paths, ignoring case. The key `<name>` matches any key. */
function isSamePath(path: string, requested: string): boolean {
  const [own, given] = [path.toLowerCase().split('.'), requested.toLowerCase().split('.')];
  return (
    own.length === given.length && own.every((key, index) => key === given[index] || (key === '<name>' && index > 0))
  );
}

function suggestionFor(topics: readonly Topic[], requested: string): string {
  const last = requested.slice(requested.lastIndexOf('.') + 1).toLowerCase();
  const [root] = requested.toLowerCase().split('.');
  const elsewhere = topics.filter(({ path }) => path.toLowerCase().endsWith(`.${last}`));
  const here = elsewhere.filter(({ path }) => path.toLowerCase().split('.')[0] === root);
  const near = here.length > 0 ? here : elsewhere;
  const paths = topics.map(({ path }) => path);
  const depth = requested.split('.').length;
  const siblings = paths.filter((path) => path.split('.').length === depth);
  const found = nearestCandidate(requested, siblings) ?? nearestCandidate(requested, paths);
  const best = near.length > 0 ? near.map(({ path }) => path) : found === undefined ? [] : [found];
  return didYouMeanOneOf(best.map((path) => `"${path}"`));
}
