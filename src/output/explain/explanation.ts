import { Document, isScalar, visit } from 'yaml';
import { API_VERSION } from '../../manifests/envelope.ts';
import type { FieldRule } from '../../manifests/kind-schema.ts';
import { EXAMPLES } from '../../manifests/value-forms.ts';
import { isObject, type Json, type JsonObject } from '../../values/json.ts';
import type { Style } from '../style.ts';
import { ANY_KEY, type Topic } from './topics.ts';

/** The maximum number of fields of each object in an example of a kind. */
const MAX_EXAMPLE_FIELDS = 2;

interface Explanation {
  readonly path: string;
  readonly about: Topic['about'];
  readonly type: string;
  readonly description: string;
  readonly required: boolean;
  readonly limits: readonly string[];
  /** The properties of the field that affect how it is compared and sent. False flags are absent. */
  readonly flags: Readonly<Record<string, true | string>>;
  /** The consequences of the flags, one sentence each. */
  readonly treatment: readonly string[];
  /** An example in YAML, as written in a file. */
  readonly example: string | undefined;
  readonly fields: readonly (Pick<Topic, 'path' | 'description' | 'required'> & { readonly type: string })[];
}

export function explain(topic: Topic, all: readonly Topic[]): Explanation {
  const treatments = treatmentsOf(topic);
  const inside = all.filter(({ path }) => isDirectlyIn(path, topic.path));
  return {
    path: topic.path,
    about: topic.about,
    type: topic.about === 'lookup' ? 'looked up by name, never declared' : typeOf(topic.schema),
    description: topic.description,
    required: topic.required,
    limits: limitsOf(topic.schema),
    flags: Object.fromEntries(treatments.map(({ flag, value }) => [flag, value])),
    treatment: [...abilitiesOf(topic), ...treatments.map(({ sentence }) => sentence)],
    example: exampleOf(topic, all),
    fields: inside.map(({ path, schema, description, required }) => ({
      path,
      type: typeOf(schema),
      description,
      required,
    })),
  };
}

/** True if the path has exactly one more key than its parent. */
function isDirectlyIn(path: string, parent: string): boolean {
  return path.startsWith(`${parent}.`) && !path.slice(parent.length + 1).includes('.');
}

function abilitiesOf({ about, kind }: Topic): string[] {
  if (about !== 'kind' || kind === undefined) return [];
  const read = kind.list === undefined ? 'read by id (no list)' : 'list';
  const create = kind.create === undefined ? 'no create (only in the dashboard)' : 'create';
  const update = kind.update === undefined ? 'no update' : 'update';
  return [`API operations: ${read}, ${create}, ${update}, no delete.`];
}

/** Returns the flags for JSON, each with its consequence as text. */
function treatmentsOf({ rule, kind, path, about }: Topic) {
  const field = path.slice(path.indexOf('.') + 1);
  const isKey = about === 'field' && kind?.naturalKey?.({ [field]: 'x' })?.field === field;
  const { hidden, writeOnly, immutable, manual, set, opaque, refersTo, notAtCreate }: FieldRule = rule;
  const treatments: [flag: string, value: true | string | undefined, sentence: string][] = [
    ['natural_key', isKey || undefined, 'Identifies the record.'],
    ['hidden', hidden, 'Hidden: accepted by the platform but never returned; the value last sent is compared.'],
    ['write_only', writeOnly, 'Write-only: compared by fingerprint; it never appears in a plan, state, log or error.'],
    ['immutable', immutable, 'Immutable: a new value needs a new record.'],
    [
      'manual',
      manual,
      `Manual: the API cannot ${notAtCreate ? 'set it, not even at create' : 'change it on an existing record'}; the plan lists the steps in the dashboard.`,
    ],
    ['set', set, 'Set: order does not matter.'],
    ['opaque', opaque, 'Opaque: compared and sent as a whole.'],
    ['refers_to', refersTo, `Reference: { $ref: ${refersTo}/name } resolves to the id.`],
  ];
  return treatments.flatMap(([flag, value, sentence]) => (value === undefined ? [] : [{ flag, value, sentence }]));
}

/** Returns an example with its parent keys, as written in a file. The example of an object consists of the examples of its fields. */
function exampleOf(topic: Topic, all: readonly Topic[]): string | undefined {
  const { path, about, kind } = topic;
  if (about === 'form') return path.includes('.') ? undefined : `field: { ${path}: ${EXAMPLES[path] ?? '…'} }\n`;
  const value = valueFor(topic, about === 'kind' ? MAX_EXAMPLE_FIELDS : Number.POSITIVE_INFINITY, all);
  if (value === undefined) return undefined;
  if (about === 'kind')
    return yamlText({ apiVersion: API_VERSION, kind: kind?.name ?? path, metadata: { name: 'my-first' }, spec: value });
  const steps = path.split('.');
  const inner = steps.slice(1).reduceRight<Json>((inside, key, index) => {
    const isLast = index === steps.length - 2;
    const above = steps.slice(0, index + 2).join('.');
    const isList = !isLast && all.some((each) => each.path === above && each.schema.type === 'array');
    return { [nameIn(key)]: isList ? [inside] : inside };
  }, value);
  if (about === 'project') return yamlText(inner);
  return yamlText({ [about === 'metadata' ? nameIn(steps[0] ?? '') : 'spec']: inner });
}

/** Returns an example value with at most this number of fields in each object. */
function valueFor(topic: Topic, maxFields: number, all: readonly Topic[]): Json | undefined {
  const own = exampleIn(topic.schema);
  if (own !== undefined) return own;
  const inside = all.filter(({ path }) => isDirectlyIn(path, topic.path));
  const pairs = inside
    .slice(0, topic.about === 'kind' ? undefined : maxFields)
    .map((each) => [nameIn(each.path.slice(topic.path.length + 1)), valueFor(each, maxFields, all)] as const)
    .filter(([, value]) => value !== undefined);
  if (pairs.length === 0) return undefined;
  const value = Object.fromEntries(pairs) as JsonObject;
  return topic.schema.type === 'array' ? [value] : value;
}

function nameIn(key: string): string {
  return key === ANY_KEY ? 'staging' : key;
}

/** Returns YAML in which value forms are on one line, as people write them. */
function yamlText(value: Json): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Map(_, map) {
      const [first] = map.items;
      if (isScalar(first?.key) && String(first.key.value).startsWith('$')) map.flow = true;
    },
  });
  return document.toString({ lineWidth: 0 });
}

function exampleIn(schema: JsonObject): Json | undefined {
  const { examples, enum: choices, const: only, anyOf } = schema;
  if (Array.isArray(examples)) return examples[0];
  if (only !== undefined) return only;
  if (Array.isArray(choices)) return choices[0];
  if (Array.isArray(anyOf))
    return anyOf
      .filter(isObject)
      .map((each) => exampleIn(each as JsonObject))
      .find((each) => each !== undefined);
  return undefined;
}

/** Returns the type of a JSON Schema in words, such as `whole number`. */
function typeOf(schema: JsonObject): string {
  const { anyOf, oneOf, enum: choices, const: only, type, items } = schema;
  const alternatives = anyOf ?? oneOf;
  if (Array.isArray(alternatives)) return [...new Set(alternatives.map(typeOfAny))].join(' or ');
  if (only !== undefined) return JSON.stringify(only);
  if (Array.isArray(choices)) return `one of ${choices.map(String).join(', ')}`;
  if (Array.isArray(type)) return type.map((each) => WORDS[String(each)] ?? String(each)).join(' or ');
  if (type === 'array')
    return isObject(items) && items.anyOf === undefined && Object.keys(items).length > 0
      ? `list of ${itemsOf(typeOfAny(items as Json))}`
      : 'list';
  return WORDS[String(type)] ?? 'any value';
}

function typeOfAny(schema: Json): string {
  return isObject(schema) ? typeOf(schema as JsonObject) : 'any value';
}

function itemsOf(type: string): string {
  return type === 'true or false' || type.startsWith('one of') ? `items, ${type}` : `${type}s`;
}

const WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: 'true or false',
  object: 'object',
  null: 'null',
};

/** Returns a clause for each constraint of a JSON Schema other than its type. */
function limitsOf(schema: JsonObject): string[] {
  const { anyOf, items, type, format, pattern } = schema;
  if (Array.isArray(anyOf)) return anyOf.flatMap((each: Json) => (isObject(each) ? limitsOf(each as JsonObject) : []));
  const own = [
    range(schema.minLength, schema.maxLength, 'characters'),
    range(schema.minimum, schema.maximum),
    range(schema.minItems, schema.maxItems, 'items'),
    format === 'uri' ? 'a URL' : undefined,
    typeof pattern === 'string' && format === undefined ? `matches ${pattern}` : undefined,
  ].filter((each) => each !== undefined);
  const inItems =
    type === 'array' && isObject(items) ? limitsOf(items as JsonObject).map((each) => `each item: ${each}`) : [];
  return [...own, ...inItems];
}

function range(min: Json | undefined, max: Json | undefined, unit = ''): string | undefined {
  const words = (text: string) => `${text} ${text.endsWith(' 1') ? unit.replace(/s$/, '') : unit}`.trim();
  if (min === undefined && max === undefined) return undefined;
  if (max === undefined) return words(`at least ${min}`);
  return min === undefined ? words(`at most ${max}`) : words(`${min} to ${max}`);
}

export function explanationText(
  { path, type, required, description, limits, treatment, fields, example, about }: Explanation,
  style: Style,
): string {
  const typeText =
    about === 'kind' || path === 'project' || path === 'metadata'
      ? ''
      : `  ${style.dim(required ? `${type}, required` : type)}`;
  const sentences = [...limits.map((limit) => `Limits: ${limit}.`), ...treatment];
  return [
    `${style.bold(path)}${typeText}`,
    '',
    ...(description === '' ? [] : [style.prose(description, { indent: 2 })]),
    ...sentences.map((sentence) => style.prose(sentence, { indent: 2 })),
    ...(fields.length === 0 ? [] : ['', style.bold('Fields'), '', ...fieldLines(path, fields, style)]),
    ...(example === undefined ? [] : ['', style.bold('Example'), '', example.trimEnd().replace(/^/gm, '  ')]),
    '',
  ].join('\n');
}

function fieldLines(path: string, fields: Explanation['fields'], style: Style): string[] {
  const names = fields.map((field) => field.path.slice(path.length + 1));
  const width = Math.max(...names.map((name) => name.length));
  return fields.map(({ type, required, description }, index) => {
    const typeText = type.charAt(0).toUpperCase() + type.slice(1) + (required ? ', required' : '');
    const lead = `${(names[index] ?? '').padEnd(width)}  `;
    return style.prose(`${typeText}. ${description}`, { indent: 2, lead });
  });
}

export function topicsText(topics: readonly Topic[], style: Style): string {
  const groups: [string, Topic[]][] = [
    ['Kinds', topics.filter(({ about }) => about === 'kind' || about === 'lookup')],
    ['In every manifest', topics.filter(({ path }) => path === 'metadata')],
    ['Value forms, in place of a value', topics.filter(({ about, path }) => about === 'form' && !path.includes('.'))],
    ['The project file', topics.filter(({ about, path }) => about === 'project' && path.split('.').length <= 2)],
  ];
  const width = Math.max(...groups.flatMap(([, members]) => members.map(({ path }) => path.length)));
  const lines = groups.flatMap(([title, members]) => [
    style.bold(title),
    '',
    ...members.map(({ path, description }) => style.prose(description, { indent: 2, lead: path.padEnd(width + 2) })),
    '',
  ]);
  return [...lines, style.prose('To see the fields of a topic: voxform explain Agent.llm_config'), ''].join('\n');
}
