import { Document, Pair, Scalar, YAMLMap, YAMLSeq } from 'yaml';
import { API_VERSION } from '../../manifests/envelope.ts';
import { isForm } from '../../manifests/layers.ts';
import { yamlOptions } from '../../manifests/parse-documents.ts';
import { isObject, type Json, type JsonObject } from '../../values/json.ts';
import { type LeafPath, rootOf, unflatten } from '../../values/path.ts';
import { escapeUnsafe, isUnsafe } from '../../values/unsafe-text.ts';

export interface ManifestDraft {
  readonly kind: string;
  readonly name: string;
  /** Undefined if the record is found by its natural key. */
  readonly id: string | undefined;
  /** The values as written in a manifest, including value forms. */
  readonly leaves: ReadonlyMap<LeafPath, Json>;
  /** Comments by the path of a field or of its object. */
  readonly notes: ReadonlyMap<LeafPath, string>;
  /** Secrets that the record may have, and that the API never returns. They are written as comments. */
  readonly secrets: readonly { readonly path: LeafPath; readonly name: string }[];
}

/** Strings that YAML 1.1 reads as another type are also quoted. Merge keys are disabled, because a key `<<` is a string here. */
const YAML_OPTIONS = { ...yamlOptions, merge: false, compat: 'yaml-1.1' } as const;

/** Returns the document as YAML text, without a leading `---`. */
export function manifestText({ kind, name, id, leaves, notes, secrets }: ManifestDraft): string {
  const spec = unflatten(leaves) as JsonObject;
  const contents = mapNode({ apiVersion: API_VERSION, kind, metadata: { name, ...(id !== undefined && { id }) } });
  const specNode = mapNode(spec, { path: '', notes });
  for (const [path, lines] of offersIn(spec, secrets)) {
    const object = path === '' ? specNode : specNode.get(path);
    if (object instanceof YAMLMap) object.comment = lines.join('\n');
  }
  contents.set('spec', specNode);
  const document = new Document(null, YAML_OPTIONS);
  document.contents = contents;
  return escapeUnsafe(document.toString({ lineWidth: 0, flowCollectionPadding: true }));
}

/** Returns comment lines for secrets, by path of an object. A secret without an object is at the end of the spec, with its full path. */
function offersIn(spec: JsonObject, secrets: ManifestDraft['secrets']): Map<LeafPath, readonly string[]> {
  const offers = new Map<LeafPath, readonly string[]>();
  for (const { path, name } of secrets) {
    const root = rootOf(path);
    const object = spec[root];
    const inside = path.slice(root.length + 1);
    const fits = inside !== '' && !inside.includes('.') && isObject(object) && !isShort(object);
    const keys = fits ? [inside] : path.split('.');
    const lines = keys.map((key, depth) => ` ${'  '.repeat(depth)}${key}:`);
    lines.push(`${lines.pop()} { $secret: ${name} }`);
    offers.set(fits ? root : '', [...(offers.get(fits ? root : '') ?? []), ...lines]);
  }
  return offers;
}

interface Notes {
  readonly path: LeafPath;
  readonly notes: ManifestDraft['notes'];
}

function mapNode(map: JsonObject, notesAt?: Notes): YAMLMap {
  const node = new YAMLMap();
  for (const [key, value] of Object.entries(map)) {
    const path = notesAt?.path ? `${notesAt.path}.${key}` : key;
    const keyNode = scalarNode(key);
    const note = notesAt?.notes.get(path);
    if (note !== undefined) keyNode.commentBefore = commentText(note);
    node.items.push(new Pair(keyNode, valueNode(value, notesAt && { ...notesAt, path })));
  }
  if (isShort(map) && node.items.length > 0) node.flow = true;
  return node;
}

function valueNode(value: Json, notesAt?: Notes): YAMLMap | YAMLSeq | Scalar {
  if (isObject(value)) return mapNode(value as JsonObject, notesAt);
  if (!Array.isArray(value)) return scalarNode(value as string | number | boolean | null);
  const list = new YAMLSeq();
  list.items = value.map((item: Json) => valueNode(item));
  return list;
}

/** True if an object is written on one line, as empty objects and most value forms are. */
function isShort(value: Readonly<Record<string, unknown>>): boolean {
  const values = Object.values(value);
  return (
    values.length === 0 || (isForm(value) && values.every((item) => typeof item === 'string' && !item.includes('\n')))
  );
}

function scalarNode(value: string | number | boolean | null): Scalar {
  const node = new Scalar(value);
  if (typeof value === 'string' && !isPlainText(value)) node.type = 'QUOTE_DOUBLE';
  return node;
}

/** False if the string must be quoted because of control characters, spaces or blank lines, or because it is a merge key. */
function isPlainText(text: string): boolean {
  return text !== '<<' && !isUnsafe(text) && !/^\s|\s\n|[^\S\n]$|\n\n$/u.test(text);
}

/** Returns the text of a comment on one line. */
function commentText(text: string): string {
  return ` ${text.toWellFormed().replace(/[\p{Cc}\p{Zl}\p{Zp}\uFEFF]/gu, ' ')}`;
}
