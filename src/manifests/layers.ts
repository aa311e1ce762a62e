import { isObject, type Json, type JsonObject, setOwn } from '../values/json.ts';
import type { Value } from '../values/value.ts';
import type { PlacedReference } from './check-spec.ts';
import type { Metadata } from './envelope.ts';
import { type DocumentPath, type Finding, findingOf, follow, type Problem } from './finding.ts';
import type { KindSchema } from './kind-schema.ts';
import type { Address, Source } from './resource.ts';

/** One of the values that a spec is merged from, such as the manifest or the defaults. */
export interface Layer {
  /** The value as written, including value forms. */
  readonly value: Json;
  /** The path of the file, relative to the project folder. */
  readonly file: string;
  /** Index of the document in its file. */
  readonly document: number;
  /** The path of the value in that document. */
  readonly base: DocumentPath;
}

/** Returns true for a value form, such as `{ $ref: … }`. Merges treat a value form as one value. */
export function isForm(value: unknown): value is JsonObject {
  return isObject(value) && Object.keys(value).some((key) => key.startsWith('$'));
}

/** Yields all value forms in a value, including nested ones, with their paths. */
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

/** Adds missing fields from `defaults` to `value`. Objects are merged. Any other value is kept, including null. */
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

/** Applies a patch (RFC 7396): null removes a field, objects are merged, other values are replaced. A value form is one value. */
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

/** The layers that a spec is merged from. */
export interface SpecSources {
  /** The layer of the manifest. Problems at paths that no layer contains are reported in this layer. */
  readonly home: Layer;
  /** All layers, in descending order of precedence. */
  readonly layers: readonly Layer[];
  /** The location where the variables of the workspace are declared. */
  readonly vars: Omit<Layer, 'value'>;
}

/** Converts a problem of the merged spec to a finding in the file that the value comes from. */
export function findingIn({ home, layers, vars }: SpecSources, problem: Problem): Finding {
  const layer = layers.find(({ value }) => determinesValue(value, problem.path)) ?? home;
  const { path } = problem;
  const { depth, value } = follow(layer.value, path);
  const rest = path.slice(depth);
  const isInVariable = isForm(value) && typeof value.$var === 'string' && rest[0] !== '$var';
  const { file, document, base } = isInVariable ? vars : layer;
  const innerPath = isInVariable ? [String(value.$var), ...rest] : path;
  return findingOf({ ...problem, path: [...base, ...innerPath] }, file, document);
}

/** Returns true if the value contains the path, or contains a value at a parent path that hides lower layers. */
export function determinesValue(value: Json, path: DocumentPath): boolean {
  const found = follow(value, path);
  return found.depth === path.length || !isMergeable(found.value);
}

/** A document with a known kind and a name. */
export interface Declaration {
  readonly address: Address;
  readonly kind: KindSchema;
  readonly metadata: Metadata;
  readonly source: Source;
  readonly home: Layer;
}

/** A `${name}` or a value form inside a string. The string is sent unchanged. */
export interface FoundPlaceholder {
  /** The name, or the argument of a form. */
  readonly name: string;
  /** The key of the form, without `$`. Undefined for `${name}`. */
  readonly form: string | undefined;
  readonly path: DocumentPath;
  /** The index in the string at `path`. For a string from `$file`, `included` is the position in that file. */
  readonly offset: number;
  readonly included?: { readonly file: string; readonly line: number; readonly column: number };
}

/** A declaration that this workspace uses. */
export interface CheckedDeclaration extends Declaration, SpecSources {
  /** The spec with evaluated value forms. */
  readonly spec: { readonly [key: string]: Value };
  readonly references: readonly PlacedReference[];
  readonly placeholders: readonly FoundPlaceholder[];
  /** Undefined if the kind has no natural key, or if its field is invalid. */
  readonly naturalKey: { readonly path: DocumentPath; readonly key: string } | undefined;
}

export function findingAt(
  { home }: Declaration,
  path: DocumentPath,
  problem: Pick<Problem, 'code' | 'message' | 'fix'>,
): Finding {
  return findingOf({ ...problem, path, at: 'value' }, home.file, home.document);
}

/** Returns a finding at a path of the spec, in the file that the value comes from. */
export function findingInSpec(
  sources: SpecSources,
  path: DocumentPath,
  problem: Pick<Problem, 'code' | 'message' | 'fix'>,
): Finding {
  return findingIn(sources, { ...problem, path, at: 'value' });
}

/** Formats a source as `manifests/agents.yaml:3`. */
export function sourceText({ file, line }: Source): string {
  return `${file}:${line}`;
}
