import { isObject, type Json, type JsonObject, setOwn } from '../values/json.ts';
import type { Value } from '../values/value.ts';
import type { PlacedReference } from './check-spec.ts';
import type { Metadata } from './envelope.ts';
import { type DocumentPath, type Finding, findingOf, follow, type Problem } from './finding.ts';
import type { KindSchema } from './kind-schema.ts';
import type { Address, Source } from './resource.ts';

/** One of the texts that a spec is merged from. */
export interface Layer {
  /** As written, value forms included. */
  readonly value: Json;
  /** Relative to the project folder. */
  readonly file: string;
  /** Index of the document in its file. */
  readonly document: number;
  /** The path of the value in that document. */
  readonly base: DocumentPath;
}

/** True for value forms such as `{ $ref: … }`, which are merged as one value. */
export function isForm(value: unknown): value is JsonObject {
  return isObject(value) && Object.keys(value).some((key) => key.startsWith('$'));
}

/** All value forms in a value, including nested ones, with their paths. */
export function* formsIn(
  value: unknown,
  path: DocumentPath = [],
): Generator<{ readonly form: JsonObject; readonly path: DocumentPath }> {
  if (isForm(value)) yield { form: value, path };
  const entries = Array.isArray(value) ? value.entries() : isObject(value) ? Object.entries(value) : [];
  for (const [key, item] of entries) yield* formsIn(item, [...path, key]);
}

function isMergeable(value: unknown): value is JsonObject {
  return isObject(value) && !isForm(value);
}

/** Completes `value` with `defaults`. Objects are merged; everything else keeps the value, including null. */
export function withDefaults(value: Json, defaults: Json): Json {
  if (!isMergeable(value) || !isMergeable(defaults)) return value;
  const merged: Record<string, Json> = {};
  for (const key of Object.keys(defaults)) {
    if (!Object.hasOwn(value, key)) setOwn(merged, key, defaults[key] as Json);
  }
  for (const key of Object.keys(value)) {
    const own = value[key] as Json;
    setOwn(merged, key, Object.hasOwn(defaults, key) ? withDefaults(own, defaults[key] as Json) : own);
  }
  return merged;
}

/** RFC 7396: null removes a field, objects are merged, everything else is replaced. A value form is one value. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isMergeable(patch)) return patch;
  const merged: Record<string, Json> = {};
  const before = isMergeable(target) ? target : {};
  for (const key of Object.keys(before)) setOwn(merged, key, before[key] as Json);
  for (const key of Object.keys(patch)) {
    const change = patch[key] as Json;
    if (change === null) delete merged[key];
    else setOwn(merged, key, mergePatch(Object.hasOwn(before, key) ? before[key] : undefined, change));
  }
  return merged;
}

/** The texts that a spec comes from. */
export interface SpecSources {
  /** The manifest. Used for paths that no layer has. */
  readonly home: Layer;
  /** All layers, the one with the highest precedence first. */
  readonly layers: readonly Layer[];
  /** The place of the workspace's variables. */
  readonly vars: Omit<Layer, 'value'>;
}

/** A problem in the merged value, as a finding in the text that the value comes from. */
export function findingIn({ home, layers, vars }: SpecSources, problem: Problem): Finding {
  const layer = layers.find(({ value }) => decides(value, problem.path)) ?? home;
  const { path } = problem;
  const { depth, value } = follow(layer.value, path);
  const rest = path.slice(depth);
  const isOfVariable = isForm(value) && typeof value.$var === 'string' && rest[0] !== '$var';
  const { file, document, base } = isOfVariable ? vars : layer;
  const inside = isOfVariable ? [String(value.$var), ...rest] : path;
  return findingOf({ ...problem, path: [...base, ...inside] }, file, document);
}

/** True if the value has the path, or a value on the way that hides other layers. */
export function decides(value: Json, path: DocumentPath): boolean {
  const found = follow(value, path);
  return found.depth === path.length || !isMergeable(found.value);
}

/** A document with a valid kind and name. */
export interface Declaration {
  readonly address: Address;
  readonly kind: KindSchema;
  readonly metadata: Metadata;
  readonly source: Source;
  readonly home: Layer;
}

/** A `${name}` or a form inside a text, which is sent as it is. */
export interface FoundPlaceholder {
  /** The name, or the argument of a form. */
  readonly name: string;
  /** The form, without `$`. */
  readonly form: string | undefined;
  readonly path: DocumentPath;
  /** In the text at that path, or in the file that it includes. */
  readonly offset: number;
  readonly included?: { readonly file: string; readonly line: number; readonly column: number };
}

/** A declaration that this workspace uses. */
export interface Checked extends Declaration, SpecSources {
  /** The spec with evaluated value forms. */
  readonly spec: { readonly [key: string]: Value };
  readonly references: readonly PlacedReference[];
  readonly placeholders: readonly FoundPlaceholder[];
  /** Absent if the kind has none, or if its field is invalid. */
  readonly naturalKey: { readonly path: DocumentPath; readonly key: string } | undefined;
}

export function findingAt(
  { home }: Declaration,
  path: DocumentPath,
  problem: Pick<Problem, 'code' | 'message' | 'fix'>,
): Finding {
  return findingOf({ ...problem, path, at: 'value' }, home.file, home.document);
}

/** A finding at a path of the spec, in the text that has this value. */
export function findingInSpec(
  sources: SpecSources,
  path: DocumentPath,
  problem: Pick<Problem, 'code' | 'message' | 'fix'>,
): Finding {
  return findingIn(sources, { ...problem, path, at: 'value' });
}

/** `manifests/agents.yaml:3` */
export function sourceText({ file, line }: Source): string {
  return `${file}:${line}`;
}
