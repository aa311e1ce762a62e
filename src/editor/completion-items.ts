import path from 'node:path';
import { kinds } from '../kinds/index.ts';
import { flowValue, type ScalarValue, scalarText } from '../manifests/editing/new-value.ts';
import type { DocumentPath } from '../manifests/finding.ts';
import { explain } from '../output/explain/explanation.ts';
import { isObject, type Json, type JsonObject } from '../values/json.ts';
import { valueAt } from '../values/path.ts';
import { isKeyedByAddress } from './address-places.ts';
import { documentAround } from './document-at.ts';
import {
  environmentNames,
  fileNames,
  type NameChoice,
  referableNames,
  secretNames,
  variableNames,
} from './form-names.ts';
import { ruleCursor } from './rule-completion.ts';
import { ownAddress, SchemaPlace, specPlace } from './schema-place.ts';
import { type FileRole, knownFile, type ProjectSnapshot, type TextRange } from './snapshot.ts';
import { cursorAt, type TextCursor } from './text-cursor.ts';
import { topics } from './topics.ts';

/** A replacement for the text at the cursor. */
export interface Suggestion {
  readonly label: string;
  readonly is: 'field' | 'value' | 'form' | 'reference' | 'file' | 'folder' | 'function' | 'snippet';
  readonly detail: string;
  readonly description: string;
  readonly newText: string;
  readonly range: TextRange;
}

interface CompletionContext {
  readonly snapshot: ProjectSnapshot;
  /** Relative to the project folder. */
  readonly file: string;
  readonly role: FileRole;
  readonly cursor: TextCursor;
  readonly place: SchemaPlace;
}

/** Returns completions at an offset of a file, best first. The file may have syntax errors. */
export function suggestionsAt(snapshot: ProjectSnapshot, file: string, offset: number): readonly Suggestion[] {
  const known = knownFile(snapshot, file);
  const cursor = known && cursorAt(known.text, offset);
  if (known === undefined || cursor === undefined) return [];
  const { text, role } = known;
  const rule = cursor.at === 'key' ? undefined : ruleCursor(role, cursor);
  if (rule !== undefined) {
    const start = offset - rule.typed.length;
    const end = offset + (/^\w*/.exec(text.slice(offset))?.[0].length ?? 0);
    return rule.words.map(({ name, detail, isFunction }) => ({
      label: name,
      is: isFunction ? 'function' : 'field',
      detail,
      description: '',
      newText: isFunction && text[end] !== '(' ? `${name}(` : name,
      range: { start, end },
    }));
  }
  if (cursor.isBlock) return [];
  const place = new SchemaPlace(role, cursor.value, cursor.path);
  const context = { snapshot, file, role, cursor, place };
  const keys = cursor.at === 'value' ? [] : keysFor(context);
  const values = cursor.at === 'key' ? [] : valuesFor(context);
  if (role === 'manifest' && EMPTY.test(documentAround(text, offset).text)) return [...newManifests(cursor), ...keys];
  const found = keys.some(({ is }) => is === 'field') ? [...keys, ...values] : [...values, ...keys];
  return [...new Map(found.map((each) => [each.label, each])).values()];
}

const EMPTY = /^(?:---)?\s*\w*\s*$/;

/** Returns a manifest of each kind, for an empty document. */
function newManifests({ range }: TextCursor): Suggestion[] {
  const { all, byPath } = topics();
  return [...kinds.keys()].flatMap((name) => {
    const topic = byPath.get(name);
    const { description = '', example } = topic === undefined ? {} : explain(topic, all);
    return example === undefined
      ? []
      : [{ label: name, is: 'snippet' as const, detail: 'new manifest', description, newText: example, range }];
  });
}

function keysFor({ snapshot, cursor, place, role }: CompletionContext): Suggestion[] {
  const { siblings, range, style, flow, json, hasColon } = cursor;
  const fields = place.fields.map(({ name, description, takes }) => ({
    name,
    description,
    detail: detailOf(takes),
    isObject: !name.startsWith('$') && takes.some(isComposite),
  }));
  const free = freeKeys(snapshot, role, cursor.path).map(({ name, detail }) => ({
    name,
    detail,
    description: '',
    isObject: true,
  }));
  return [...fields, ...free]
    .filter(({ name }) => !siblings.has(name))
    .map(({ name, description, detail, isObject: isComposed }) => ({
      label: name,
      is: name.startsWith('$') ? 'form' : 'field',
      detail,
      description,
      newText: `${scalarText(name, { flow: true, json, style })}${hasColon ? '' : isComposed && !flow ? ':' : ': '}`,
      range,
    }));
}

/** Returns candidates for user-defined keys. */
function freeKeys({ declarations }: ProjectSnapshot, role: FileRole, at: DocumentPath): readonly NameChoice[] {
  if (role === 'project' && at.length === 3 && isKeyedByAddress(at)) {
    return declarations.map(({ address, source }) => ({ name: address, detail: source.file }));
  }
  if (role !== 'manifest' || at.length !== 2 || at[0] !== 'metadata' || at[1] !== 'labels') return [];
  const labels = new Set(declarations.flatMap(({ metadata }) => Object.keys(metadata.labels ?? {})));
  return [...labels].map((name) => ({ name, detail: 'label' }));
}

function valuesFor(context: CompletionContext): Suggestion[] {
  const { cursor, place } = context;
  const { range, style, flow, json } = cursor;
  const names = namesAt(context);
  const scalar = (value: ScalarValue): string => scalarText(value, { flow, json, style });
  if (names !== undefined) {
    return names.map(({ name, detail, is }) => ({
      label: name,
      is,
      detail,
      description: '',
      newText: scalar(name),
      range,
    }));
  }
  const forms = style === 'PLAIN' ? formsFor(context) : [];
  const plain = plainValues(context)
    .filter((value) => style === 'PLAIN' || typeof value === 'string')
    .map(
      (value): Suggestion => ({
        label: String(value),
        is: 'value',
        detail: '',
        description: valueDescription(place.takes, value),
        newText: scalar(value),
        range,
      }),
    );
  return [...plain, ...forms];
}

type NamedChoice = NameChoice & Pick<Suggestion, 'is'>;

/** Returns the possible names at the cursor; undefined if the position does not require a name. */
function namesAt({ snapshot, file, role, cursor, place }: CompletionContext): readonly NamedChoice[] | undefined {
  const choices = (is: Suggestion['is'], names: readonly NameChoice[]) => names.map((each) => ({ ...each, is }));
  const last = cursor.path.at(-1);
  switch (last) {
    case '$ref':
      return choices('reference', referableNames(snapshot, requiredKind(place.takes), ownAddress(cursor.value)));
    case '$secret':
      return choices('value', secretNames(snapshot));
    case '$var':
      return choices('value', variableNames(snapshot));
    case '$env':
      return choices('value', environmentNames(snapshot));
    case '$file': {
      const folder = path.join(snapshot.folder, role === 'manifest' ? path.dirname(file) : '');
      return fileNames(snapshot, folder, cursor.typed).map((each) => ({
        ...each,
        is: each.name.endsWith('/') ? 'folder' : 'file',
      }));
    }
    default:
  }
  if (role === 'project' && cursor.path.length === 1 && last === 'default_workspace') {
    return choices('value', Object.keys(snapshot.project?.workspaces ?? {}).map(plainName));
  }
  if (last === 'kind' && cursor.path[0] === 'policies') {
    return choices(
      'value',
      [...kinds.values()].map(({ name, description: detail }) => ({ name, detail })),
    );
  }
  if (role !== 'project' || cursor.path[2] !== 'skip' || cursor.path.length !== 4) return undefined;
  const all = [...kinds.keys()].map((kind) => ({ name: `${kind}/*`, detail: 'all resources of this kind' }));
  const each = snapshot.declarations.map(({ address, source }) => ({ name: address, detail: source.file }));
  return choices('reference', [...each, ...all]);
}

function plainName(name: string): NameChoice {
  return { name, detail: '' };
}

/** Returns the kind in an address pattern, such as `Agent` for `^Agent/.+`. */
function requiredKind(takes: readonly JsonObject[]): string | undefined {
  const names = takes.map(({ pattern }) => /^\^(\w+)\//.exec(String(pattern))?.[1]);
  return names.find((each) => each !== undefined);
}

/** The maximum number of characters of a suggested value. Longer strings are not readable in a list. */
const MAX_VALUE_LENGTH = 60;
/** Above this number of distinct values, only repeated ones are suggested, because values used once are usually names. */
const MAX_SINGLE_VALUES = 8;

/** Returns the values that the schema lists. If there are none, returns values of the same field in the project, or else examples. */
function plainValues({ snapshot, role, cursor, place }: CompletionContext): readonly ScalarValue[] {
  const listed = place.takes.flatMap((schema): ScalarValue[] => {
    if (schema.const !== undefined) return [schema.const as ScalarValue];
    if (Array.isArray(schema.enum)) return schema.enum as ScalarValue[];
    if (schema.type === 'boolean') return [true, false];
    return typesOf(schema).includes('null') ? [null] : [];
  });
  const used = role === 'manifest' || role === 'project' ? usedValues(snapshot, role, cursor) : [];
  const more = used.length > 0 ? used : place.examples.filter(isScalar);
  return [...new Set([...listed, ...(listed.some((each) => each !== null) ? [] : more)])];
}

function usedValues(
  { declarations, project }: ProjectSnapshot,
  role: FileRole,
  { value, path: at }: TextCursor,
): ScalarValue[] {
  const label = role === 'manifest' && at.length === 3 && at[1] === 'labels' ? String(at[2]) : undefined;
  if (label !== undefined) {
    return declarations.flatMap(({ metadata: { labels = {} } }) =>
      labels[label] === undefined ? [] : [labels[label]],
    );
  }
  const spec = specPlace(role, value, at);
  if (spec === undefined || spec.path.length === 0) return [];
  const isItem = typeof spec.path.at(-1) === 'number';
  const field = spec.path.filter((part) => typeof part === 'string').join('.');
  const specs = declarations.filter(({ kind }) => kind.name === spec.kind).map(({ home }) => home.value);
  const isUnique = kinds.get(spec.kind)?.naturalKey?.({ [field]: 'x' })?.field === field;
  if (isUnique) return [];
  const counts = new Map<ScalarValue, number>();
  for (const each of [...specs, project?.defaults[spec.kind]]) {
    const found = valueAt(each, field);
    for (const item of isItem && Array.isArray(found) ? found : [found]) {
      if (isScalar(item) && item !== null && !(typeof item === 'string' && item.length > MAX_VALUE_LENGTH))
        counts.set(item, (counts.get(item) ?? 0) + 1);
    }
  }
  return [...counts]
    .filter(([, count]) => counts.size <= MAX_SINGLE_VALUES || count > 1)
    .sort(([, a], [, b]) => b - a)
    .map(([item]) => item);
}

function isScalar(value: unknown): value is ScalarValue {
  return value !== undefined && (typeof value !== 'object' || value === null);
}

function valueDescription(takes: readonly JsonObject[], value: ScalarValue): string {
  return String(takes.find((schema) => schema.const === value)?.description ?? '');
}

/** Returns `$ref` and `$var` forms, the forms that an example uses, and `$secret` where plain strings are not allowed. */
function formsFor(context: CompletionContext): Suggestion[] {
  const { snapshot, cursor, place, file, role } = context;
  const { range, json } = cursor;
  const forms = place.takes.flatMap(({ properties, description }) => {
    const [form] = isObject(properties) ? Object.keys(properties) : [];
    return form?.startsWith('$') ? [{ form, description: String(description ?? '') }] : [];
  });
  const takesText = place.takes.some((schema) => typesOf(schema).includes('string'));
  const examples = place.examples.flatMap((each) => (isObject(each) ? Object.keys(each) : []));
  const suggested = forms.filter(
    ({ form }) => form === '$ref' || form === '$var' || examples.includes(form) || (form === '$secret' && !takesText),
  );
  return suggested.flatMap(({ form, description }): Suggestion[] => {
    const innerCursor = { ...cursor, path: [...cursor.path, form], typed: '' };
    const innerPlace = new SchemaPlace(role, cursor.value, innerCursor.path);
    const names = namesAt({ snapshot, file, role, cursor: innerCursor, place: innerPlace }) ?? [];
    const suggestion = (argument: string, detail: string, is: Suggestion['is']): Suggestion => ({
      label: `${form}: ${argument}`,
      is,
      detail,
      description,
      newText: flowValue({ [form]: argument }, { json }),
      range,
    });
    return names.filter(({ is }) => is !== 'folder').map(({ name, detail, is }) => suggestion(name, detail, is));
  });
}

function isComposite({ type, properties }: JsonObject): boolean {
  const [first = ''] = isObject(properties) ? Object.keys(properties) : [];
  return (type === 'object' || type === 'array') && !first.startsWith('$');
}

/** Returns the allowed types and values of a field, such as `string | null`. */
function detailOf(takes: readonly JsonObject[]): string {
  const plain = takes.filter(({ properties }) => !isObject(properties) || !Object.keys(properties)[0]?.startsWith('$'));
  const words = plain.flatMap((schema) => (Array.isArray(schema.enum) ? schema.enum : typesOf(schema)));
  return [...new Set(words.map(String))].join(' | ');
}

function typesOf({ type }: JsonObject): readonly Json[] {
  if (Array.isArray(type)) return type;
  return type === undefined ? [] : [type];
}
