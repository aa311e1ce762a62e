import { Document, Pair, Scalar, YAMLMap } from 'yaml';
import { API_VERSION } from '../../manifests/envelope.ts';
import { isForm } from '../../manifests/layers.ts';
import { yamlOptions } from '../../manifests/parse-yaml.ts';
import { isObject, type Json, type JsonObject } from '../../values/json.ts';
import { type LeafPath, rootOf, unflatten } from '../../values/path.ts';
import { escapeUnsafe, isUnsafe } from '../../values/unsafe-text.ts';

/** One manifest, ready to be written. */
export interface ManifestDraft {
  readonly kind: string;
  readonly name: string;
  /** Undefined where the record is found without it. */
  readonly id: string | undefined;
  /** As a manifest writes them, value forms included. */
  readonly leaves: ReadonlyMap<LeafPath, Json>;
  /** What a reader should know of a field, by its path or the path of the object it is in. */
  readonly notes: ReadonlyMap<LeafPath, string>;
  /** Secrets that the record may have and that nobody shows: written as comments. */
  readonly secrets: readonly { readonly path: LeafPath; readonly name: string }[];
}

/** The document as YAML text, without a line of three hyphens before it. */
export function manifestText({ kind, name, id, leaves, notes, secrets }: ManifestDraft): string {
  const spec = unflatten(leaves) as JsonObject;
  const metadata = { name, ...(id !== undefined && { id }) };
  const comments = { before: notes, after: offersIn(spec, secrets) };
  const identity = mapText({ apiVersion: API_VERSION, kind, metadata }, LINE, NO_COMMENTS);
  return escapeUnsafe(`${identity.slice(1)}${LINE}spec:${valueText(spec, `${LINE}  `, comments)}\n`);
}

/** What goes before a line: with the blanks before it for what is further in. */
const LINE = '\n';

/** By path, for the object `path`. */
interface Comments {
  readonly path?: LeafPath;
  readonly before: ReadonlyMap<LeafPath, string>;
  /** At the end of an object. */
  readonly after: ReadonlyMap<LeafPath, readonly string[]>;
}

const NO_COMMENTS: Comments = { before: new Map(), after: new Map() };

/** Comments for secrets, each at the end of the object that it belongs into, or else of the spec with its object around it. */
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

function mapText(map: JsonObject, line: string, comments: Comments): string {
  const { path = '', before, after } = comments;
  let text = '';
  for (const key of Object.keys(map)) {
    const at = path === '' ? key : `${path}.${key}`;
    const note = before.get(at);
    if (note !== undefined) text += `${line}#${commentText(note)}`;
    const head = keyText(key, line);
    const value = valueText(
      map[key] as Json,
      `${line}  `,
      comments === NO_COMMENTS ? comments : { ...comments, path: at },
    );
    text += head + (head.startsWith(`${line}? `) ? besides(value) : value);
  }
  return text + (after.get(path) ?? []).map((each) => `${line}#${each}`).join('');
}

/** What comes after a key's colon: a blank and the rest of the line, or lines. */
function valueText(value: Json, line: string, comments: Comments): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return ' []';
    return value
      .map((item: Json) => `${line}-${besides(valueText(item, `${line}  `, NO_COMMENTS))}`)
      .join('');
  }
  if (isObject(value)) {
    if (!isShort(value)) return mapText(value as JsonObject, line, comments);
    const pairs = Object.entries(value).map((pair) => pair.map((text) => simpleText(text as string, true)));
    if (pairs.flat().includes(undefined)) return otherText(value as JsonObject, line);
    if (pairs.length > 0) return ` { ${pairs.map((pair) => pair.join(': ')).join(', ')} }`;
    const offers = mapText({}, line, comments);
    return offers === '' ? ' {}' : `${line}{}${offers}`;
  }
  const text = typeof value === 'string' ? simpleText(value, false) : JSON.stringify(value);
  return text === undefined || Object.is(value, -0) ? otherText(value, line) : ` ${text}`;
}

/** A value that begins on the line of what is before it. */
function besides(text: string): string {
  return ` ${text.trimStart()}`;
}

/** With the colon. */
function keyText(key: string, line: string): string {
  const text = key.length > LONGEST_KEY ? undefined : simpleText(key, false);
  return text === undefined ? otherText({ [key]: 0 }, line).slice(0, -' 0'.length) : `${line}${text}:`;
}

/** Of a key that needs no mark before it, with quotes. */
const LONGEST_KEY = 1000;

/** True for an object that is written on one line: an empty one, and most value forms. */
function isShort(value: Readonly<Record<string, unknown>>): boolean {
  const values = Object.values(value);
  return (
    values.length === 0 ||
    (isForm(value) && values.every((item) => typeof item === 'string' && !item.includes('\n')))
  );
}

/**
 * A text on one line, in quotes where it must; undefined where it takes more than quotes. Quoted is also what readers of YAML 1.1 take
 * for something else: `yes`, `12:30:45`.
 */
function simpleText(text: string, flow: boolean): string | undefined {
  if (WORDS.test(text)) return text;
  if (text.includes('\n') || !isPlainText(text)) return undefined;
  const isPlain =
    !INDICATOR.test(text) && !(flow && /[[\]{},]/.test(text)) && !OTHERS.some((other) => other.test(text));
  if (isPlain) return text;
  return text.includes('"') && !text.includes("'") ? `'${text}'` : JSON.stringify(text);
}

/** Most texts: longer than any word that means something else, and no number, as `e00000` is one. */
const WORDS = /^[a-z]{2}[\w .-]{3,}\w$/i;

const INDICATOR = /^[,[\]{}#&*!|>'"%@`]|^[?-](?: |$)|: | #|:$/;

/** With merge keys, one that is meant as it stands would be written without its quotes. */
const { schema } = new Document(null, { ...yamlOptions, merge: false, compat: 'yaml-1.1' });

/** What no plain text may look like. */
const OTHERS = [...schema.tags, ...(schema.compat ?? [])].flatMap((tag) =>
  'test' in tag && tag.test !== undefined && tag.default ? [tag.test] : [],
);

/** What comes after a key's colon, by the package. */
function otherText(value: Json, line: string): string {
  const document = new Document(null, { ...yamlOptions, schema });
  document.contents = node({ k: value });
  const text = document.toString({ lineWidth: 0, flowCollectionPadding: true });
  return text.slice('k:'.length, -1).replaceAll('\n  ', line);
}

/** In one line without what could end it. */
function commentText(text: string): string {
  return ` ${text.toWellFormed().replace(/[\p{Cc}\p{Zl}\p{Zp}\uFEFF]/gu, ' ')}`;
}

/** Of no list: each of its items is written by itself. */
function node(value: Json): YAMLMap | Scalar {
  if (!isObject(value)) return scalar(value as string | number | boolean | null);
  const map = new YAMLMap();
  for (const [key, item] of Object.entries(value as JsonObject))
    map.items.push(new Pair(scalar(key), node(item)));
  if (isShort(value)) map.flow = true;
  return map;
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
