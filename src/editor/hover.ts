import { isScalar } from 'yaml';
import { type DocumentPath, follow } from '../manifests/finding.ts';
import { isForm, sourceText } from '../manifests/layers.ts';
import { escapeControls } from '../output/escape-controls.ts';
import { explain } from '../output/explain/explanation.ts';
import { ANY_KEY, type Topic } from '../output/explain/topics.ts';
import { codeSpan, fenced } from '../output/markdown.ts';
import { valueText } from '../output/value-text.ts';
import { isObject, type Json, jsonEqual } from '../values/json.ts';
import { isSymbolic, Join, mapSymbolicLeaves, Reference, Secret, toForms, type Value } from '../values/value.ts';
import { documentAround, documentsIn, placedNodes, rangeIn, readableValue } from './document-at.ts';
import { addressAt } from './find-references.ts';
import { ownAddress, SchemaPlace, specPlace } from './schema-place.ts';
import {
  type FileRole,
  knownFile,
  namedFile,
  type ProjectSnapshot,
  type TextRange,
  withoutSecrets,
} from './snapshot.ts';
import { topics } from './topics.ts';

interface HoverText {
  readonly range: TextRange;
  /** Markdown paragraphs without secret values. */
  readonly paragraphs: readonly string[];
}

/** Returns undefined if there is no information. The file may have syntax errors. */
export function hoverAt(snapshot: ProjectSnapshot, file: string, offset: number): HoverText | undefined {
  const found = subjectAt(snapshot, file, offset);
  if (found === undefined) return undefined;
  const { subject, range } = found;
  const paragraphs = [...addressText(snapshot, file, offset), ...formText(subject), ...fieldText(subject)].map((each) =>
    withoutSecrets(snapshot, each),
  );
  return paragraphs.length === 0 ? undefined : { range, paragraphs };
}

/** Returns the topic of `voxform explain` for the field at an offset; undefined if there is none. */
export function topicAt(snapshot: ProjectSnapshot, file: string, offset: number): string | undefined {
  const found = subjectAt(snapshot, file, offset);
  return found && topicFor(found.subject)?.path;
}

function subjectAt(
  snapshot: ProjectSnapshot,
  file: string,
  offset: number,
): { readonly subject: HoverSubject; readonly range: TextRange } | undefined {
  const known = knownFile(snapshot, file);
  if (known === undefined) return undefined;
  const { text, role } = known;
  const { start, text: documentText } = documentAround(text, offset);
  const document = documentsIn(documentText).at(-1);
  const placed = [...placedNodes(document?.contents)].find(({ node }) => {
    const range = rangeIn(node);
    return range.start <= offset - start && offset - start < Math.max(range.end, range.start + 1);
  });
  if (placed === undefined || !isScalar(placed.node)) return undefined;
  const at = placed.at === 'key' ? [...placed.path, String(placed.node.value)] : placed.path;
  const range = rangeIn(placed.node);
  return {
    subject: { snapshot, file, role, value: readableValue(document), path: at },
    range: { start: start + range.start, end: start + range.end },
  };
}

/** Returns the source location of the resource at the offset, unless the offset is at the declaration itself. */
function addressText(snapshot: ProjectSnapshot, file: string, offset: number): string[] {
  const place = addressAt(snapshot, file, offset);
  const found = snapshot.declarations.find(({ address }) => address === `${place?.kind}/${place?.name}`);
  return found === undefined || place?.type === 'declaration'
    ? []
    : [`${codeSpan(found.address)}: ${codeSpan(sourceText(found.source))}`];
}

interface HoverSubject {
  readonly snapshot: ProjectSnapshot;
  readonly file: string;
  readonly role: FileRole;
  readonly value: Json;
  readonly path: DocumentPath;
}

/** Returns the keys of the path up to the first value form. */
function fieldPath(path: DocumentPath): string[] {
  const form = path.findIndex((part) => typeof part === 'string' && part.startsWith('$'));
  return path.slice(0, form === -1 ? undefined : form).filter((part) => typeof part === 'string');
}

function topicFor({ role, value, path: at }: HoverSubject): Topic | undefined {
  if (role === 'fleet' || role === 'policies') return undefined;
  const spec = specPlace(role, value, at);
  const { byPath } = topics();
  const [root, inside] =
    spec !== undefined
      ? [spec.kind, spec.path]
      : role === 'project'
        ? ['project', at]
        : at[0] === 'metadata'
          ? ['metadata', at.slice(1)]
          : ['', at];
  let topic = byPath.get(root);
  for (const part of fieldPath(inside)) {
    if (topic === undefined) return undefined;
    const next = byPath.get(`${topic.path}.${part}`) ?? byPath.get(`${topic.path}.${ANY_KEY}`);
    // For a part of a free-form value, use the description of the whole value.
    if (next === undefined) return isObject(topic.schema.properties) ? undefined : topic;
    topic = next;
  }
  return topic;
}

function fieldText(subject: HoverSubject): string[] {
  const topic = topicFor(subject);
  if (topic === undefined) return schemaDescription(subject);
  const { path: name, type, required, description, limits, treatment } = explain(topic, topics().all);
  const head = `\`${name}\`: ${required ? `${type}, required` : type}`;
  const more = [...limits.map((limit) => `Limits: ${limit}.`), ...treatment].join(' ');
  return [head, description, more, ...valueInWorkspace(subject)].filter((each) => each !== '');
}

/** Returns the description in the JSON Schema of the file, for fields without a topic. */
function schemaDescription({ role, value, path: at }: HoverSubject): string[] {
  const name = fieldPath(at).at(-1);
  const parent = new SchemaPlace(role, value, at.slice(0, -1));
  const field = parent.fields.find((each) => each.name === name);
  return field === undefined || field.description === '' || name === undefined
    ? []
    : [`\`${name}\``, field.description];
}

/** Returns the value in the workspace, if it differs from the value in the file. */
function valueInWorkspace({ snapshot, role, value, path: at }: HoverSubject): string[] {
  const spec = specPlace(role, value, at);
  const address = ownAddress(value);
  if (role !== 'manifest' || spec === undefined || address === undefined || snapshot.workspace === undefined) return [];
  const resource = snapshot.resources.find((each) => each.address === address);
  if (resource === undefined) return [];
  const field = fieldPath(spec.path);
  const applied = follow(resource.spec, field);
  const written = follow(isObject(value) ? value.spec : undefined, field);
  if (applied.depth < field.length || isComposite(applied.value) || isForm(written.value)) return [];
  if (jsonEqual(applied.value, written.value)) return [];
  return [`In ${snapshot.workspace.name}: ${formatValue(applied.value as Value)}`];
}

function isComposite(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !isSymbolic(value);
}

/** Returns the value of the value form that contains the position. */
function formText(subject: HoverSubject): string[] {
  const { snapshot, file, role, value, path: at } = subject;
  const last = at.findLastIndex((part) => typeof part === 'string' && Object.hasOwn(FORMS, part));
  if (last === -1) return [];
  const name = String(at[last]);
  const form = follow(value, at.slice(0, last)).value;
  const argument = isForm(form) ? form[name] : undefined;
  const text = FORMS[name]?.({ snapshot, file, role, value, path: at.slice(0, last), argument });
  return text === undefined ? [] : [text];
}

interface FormSubject extends HoverSubject {
  readonly argument: unknown;
}

const FORMS: Readonly<Record<string, (subject: FormSubject) => string | undefined>> = {
  $var: ({ snapshot, argument }) => {
    const { project, workspace } = snapshot;
    const all = Object.values(project?.workspaces ?? {}).sort(
      (a, b) => Number(b.name === workspace?.name) - Number(a.name === workspace?.name),
    );
    const lines = all.flatMap(({ name, vars }) =>
      typeof argument === 'string' && Object.hasOwn(vars, argument)
        ? [`In ${name}: ${formatValue(vars[argument] as Value)}`]
        : [],
    );
    return lines.length === 0 ? undefined : lines.join('\n\n');
  },
  $file: ({ snapshot, file, role, argument }) => {
    if (typeof argument !== 'string') return undefined;
    const target = namedFile(snapshot, { file, role, name: argument });
    const text = target === undefined ? undefined : snapshot.textOf(target);
    return text === undefined ? undefined : formatBlock(text);
  },
  $join: ({ snapshot, role, value, path: at }) => {
    // Skip patches of other workspaces.
    if (role === 'project' && at[1] !== snapshot.workspace?.name) return undefined;
    const spec = specPlace(role, value, at);
    const address = role === 'project' ? String(at[3]) : ownAddress(value);
    const resource = snapshot.resources.find((each) => each.address === address);
    if (spec === undefined || resource === undefined) return undefined;
    const { depth, value: joined } = follow(resource.spec, spec.path);
    return depth === spec.path.length ? `In ${snapshot.workspace?.name}: ${formatValue(joined as Value)}` : undefined;
  },
  $secret: ({ argument }) => `The secret ${codeSpan(String(argument))}. Its value is never shown.`,
};

const MAX_LINES = 12;

/** Formats a value as Markdown without secrets. */
function formatValue(value: Value): string {
  if (value instanceof Join) {
    const text = mapSymbolicLeaves(value, (leaf) => {
      if (leaf instanceof Secret) return '(secret)';
      return leaf instanceof Reference ? `(id of ${leaf.address})` : `(${leaf.name})`;
    });
    return typeof text === 'string' ? formatValue(text) : valueText(toForms(value));
  }
  if (typeof value === 'string' && value.includes('\n')) return `\n\n${formatBlock(value)}`;
  return codeSpan(valueText(toForms(value)));
}

function formatBlock(text: string): string {
  const lines = text.split(/\r?\n/);
  const omitted = lines.length - MAX_LINES;
  const more = omitted > 0 ? [`… ${omitted} more lines`] : [];
  return fenced('', [...lines.slice(0, MAX_LINES), ...more].map(escapeControls));
}
