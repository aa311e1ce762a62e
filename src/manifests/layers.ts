import { isObject, type Json, type JsonObject, setOwn } from '../values/json.ts';
import { type DocumentPath, type Finding, findingOf, follow, type Problem } from './finding.ts';

/** One of the texts that a spec is laid together from. */
export interface Layer {
  /** As written, value forms included. */
  readonly value: Json;
  /** Relative to the project folder. */
  readonly file: string;
  /** Index of the document in its file. */
  readonly document: number;
  /** Where the value stands in that document. */
  readonly base: DocumentPath;
}

/** True for `{ $ref: … }` and the like: one value, which no merging looks into. */
export function isForm(value: unknown): value is JsonObject {
  return isObject(value) && Object.keys(value).some((key) => key.startsWith('$'));
}

/** Every value form in a value, those inside of others included, with where it stands. */
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

/** `value` completed by `defaults`: objects are merged, and everywhere else what `value` has, null included, stays. */
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

/** RFC 7396: a null in the patch removes a field, objects are merged, everything else replaces. A value form is one value. */
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

/** Where the parts of a spec were written. */
export interface SpecSources {
  /** The manifest: it stands in where no layer has a path. */
  readonly home: Layer;
  /** All that the spec is laid together from, the one that wins first. */
  readonly layers: readonly Layer[];
  /** Where the workspace's variables stand. */
  readonly vars: Omit<Layer, 'value'>;
}

/** A problem at a path of the merged value, as a finding in the text that the value there comes from. */
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

/** True where the value has the path, or something on the way that no other layer is laid under. */
export function decides(value: Json, path: DocumentPath): boolean {
  const found = follow(value, path);
  return found.depth === path.length || !isMergeable(found.value);
}
