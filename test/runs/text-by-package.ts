import { Document, isMap, Pair, Scalar, YAMLMap, YAMLSeq } from 'yaml';
import { API_VERSION } from '../../src/manifests/envelope.ts';
import { isForm } from '../../src/manifests/layers.ts';
import { yamlOptions } from '../../src/manifests/parse-yaml.ts';
import type { ManifestDraft } from '../../src/runs/export/manifest-text.ts';
import { isObject, type Json, type JsonObject } from '../../src/values/json.ts';
import { type LeafPath, rootOf, unflatten } from '../../src/values/path.ts';
import { escapeUnsafe, isUnsafe } from '../../src/values/unsafe-text.ts';

/** The document as the yaml package alone writes it: what exports must be, byte for byte. */
export function textByPackage(draft: ManifestDraft): string {
  const spec = unflatten(draft.leaves) as JsonObject;
  // With merge keys, one that is meant as it stands would be written without its quotes. Quoted too is what other readers of YAML, those
  // of version 1.1, take for something else: `yes`, `12:30:45`.
  const document = new Document(null, { ...yamlOptions, merge: false, compat: 'yaml-1.1' });
  const root = node({
    apiVersion: API_VERSION,
    kind: draft.kind,
    metadata: { name: draft.name, ...(draft.id !== undefined && { id: draft.id }) },
    spec,
  }) as YAMLMap;
  const specNode = root.get('spec') as YAMLMap;
  for (const [path, note] of draft.notes) commentOn(specNode, path, note);
  for (const { path, name } of draft.secrets) offerSecret(specNode, path, name);
  document.contents = root;
  return escapeUnsafe(document.toString({ lineWidth: 0, flowCollectionPadding: true }));
}

/** In one line without what could end it. */
function commentText(text: string): string {
  return ` ${text.toWellFormed().replace(/[\p{Cc}\p{Zl}\p{Zp}\uFEFF]/gu, ' ')}`;
}

function node(value: Json): YAMLMap | YAMLSeq | Scalar {
  if (Array.isArray(value)) {
    const list = new YAMLSeq();
    list.items = value.map((item: Json) => node(item));
    if (value.length === 0) list.flow = true;
    return list;
  }
  if (!isObject(value)) return scalar(value as string | number | boolean | null);
  const map = new YAMLMap();
  for (const [key, item] of Object.entries(value as JsonObject))
    map.items.push(new Pair(scalar(key), node(item)));
  if (isShortForm(value) || map.items.length === 0) map.flow = true;
  return map;
}

function isShortForm(value: JsonObject | Readonly<Record<string, unknown>>): boolean {
  return (
    isForm(value) && Object.values(value).every((item) => typeof item === 'string' && !item.includes('\n'))
  );
}

function scalar(value: string | number | boolean | null): Scalar {
  const made = new Scalar(value);
  if (typeof value === 'string' && !isPlainText(value)) made.type = 'QUOTE_DOUBLE';
  return made;
}

/** False for what only escapes carry safely: characters that steer a terminal, blanks at the ends of lines, a merge key. */
function isPlainText(text: string): boolean {
  return text !== '<<' && !isUnsafe(text) && !/^\s|\s\n|[^\S\n]$|\n\n$/u.test(text);
}

function commentOn(spec: YAMLMap, path: LeafPath, note: string): void {
  const keys = path.split('.');
  let map: unknown = spec;
  for (const [index, key] of keys.entries()) {
    if (!isMap(map)) return;
    const pair = map.items.find((each) => (each.key as Scalar).value === key);
    if (pair === undefined) return;
    if (index === keys.length - 1) {
      const before = (pair.key as Scalar).commentBefore;
      (pair.key as Scalar).commentBefore = [before, commentText(note)].filter(Boolean).join('\n');
    }
    map = pair.value;
  }
}

/** At the end of the object that it belongs into, or else of the spec with its object around it. */
function offerSecret(spec: YAMLMap, path: LeafPath, name: string): void {
  const root = rootOf(path);
  const inside = path.slice(root.length + 1);
  const object = spec.get(root);
  const line = `{ $secret: ${name} }`;
  if (isMap(object) && !object.flow && inside !== '' && !inside.includes('.')) {
    object.comment = append(object.comment, ` ${inside}: ${line}`);
    return;
  }
  const keys = path.split('.');
  const lines = keys.map(
    (key, depth) => ` ${'  '.repeat(depth)}${key}:${depth === keys.length - 1 ? ` ${line}` : ''}`,
  );
  if (spec.items.length === 0) spec.flow = false;
  spec.comment = append(spec.comment, lines.join('\n'));
}

function append(comment: string | null | undefined, line: string): string {
  return comment ? `${comment}\n${line}` : line;
}
