import { CannotEdit } from '../../manifests/editing/change.ts';
import { alignment } from '../../manifests/editing/next-change.ts';
import { type DocumentPath, follow } from '../../manifests/finding.ts';
import type { FieldRule } from '../../manifests/kind-schema.ts';
import { determinesValue, isForm, type Layer, type SpecSources } from '../../manifests/layers.ts';
import { canonicalJson, isObject, type Json, type JsonObject, jsonEqual, mapParts } from '../../values/json.ts';
import type { LeafPath } from '../../values/path.ts';

interface ValueContext {
  readonly rule: FieldRule;
  /** Returns the address of the record with this kind and id. */
  addressOf(kind: string, id: string): string | undefined;
  /** Returns the value of `raw` with ids for references; undefined if a part of it is unknown or secret. */
  plainValueOf(raw: Json): Json | undefined;
  /** Returns the reason why a `$join` cannot be edited to this value. */
  joinReason(form: JsonObject, value: Json): string;
  /** Called with the new text for the file of a `$file`. */
  toFile(form: JsonObject, text: string): void;
}

/**
 * Returns the value to write instead of `raw`. Unchanged parts stay as written, ids become references, and the text for a `$file` is passed
 * to `toFile`.
 * @throws CannotEdit if a form prevents it.
 */
export function writtenValue(raw: Json | undefined, value: Json, writing: ValueContext): Json {
  if (raw === undefined) return newValue(value, writing);
  const current = writing.plainValueOf(raw);
  if (current !== undefined && jsonEqual(current, value)) return raw;
  if (isForm(raw)) return valueInForm(raw, value, writing);
  if (Array.isArray(raw) && Array.isArray(value)) {
    return writing.rule.set ? writtenSet(raw, value, writing) : writtenList(raw, value, writing);
  }
  if (!isObject(raw) || !isObject(value) || isForm(value)) return newValue(value, writing);
  return mapParts<Json, Json>(value as JsonObject, (part, key) =>
    writtenValue(Object.hasOwn(raw, key) ? (raw[key] as Json) : undefined, part, writing),
  );
}

function valueInForm(form: JsonObject, value: Json, writing: ValueContext): Json {
  if (Object.hasOwn(form, '$literal')) return { $literal: value };
  if (Object.hasOwn(form, '$ref')) return newValue(value, writing);
  if (Object.hasOwn(form, '$join')) throw new CannotEdit(writing.joinReason(form, value));
  if (!Object.hasOwn(form, '$file')) throw new CannotEdit(formReason(form));
  if (typeof value !== 'string') return newValue(value, writing);
  writing.toFile(form, value);
  return form;
}

/** Returns the items of a set. Existing items keep their order, and new items follow. */
function writtenSet(raw: readonly Json[], value: readonly Json[], writing: ValueContext): Json[] {
  const wanted = new Map(value.map((item) => [canonicalJson(item), item]));
  const existing = raw.filter((item) => {
    const current = writing.plainValueOf(item);
    return current !== undefined && wanted.delete(canonicalJson(current));
  });
  return [...existing, ...[...wanted.values()].map((item) => newValue(item, writing))];
}

function writtenList(raw: readonly Json[], value: readonly Json[], writing: ValueContext): Json[] {
  const current = raw.map((item, index): Json => writing.plainValueOf(item) ?? { $unknown: index });
  const written: Json[] = [];
  let before = 0;
  for (const [a, b] of [...alignment(current, value), [raw.length, value.length] as const]) {
    while (written.length < b) {
      const own = before < a ? raw[before++] : undefined;
      written.push(writtenValue(own, value[written.length] as Json, writing));
    }
    if (a < raw.length) written.push(raw[a] as Json);
    before = a + 1;
  }
  return written;
}

/** Converts a value that has no previous text in the manifests. */
function newValue(value: Json, writing: ValueContext): Json {
  const { refersTo } = writing.rule;
  if (typeof value === 'string' && refersTo !== undefined) {
    const address = writing.addressOf(refersTo, value);
    return address === undefined ? value : { $ref: address };
  }
  // A plain value that looks like a value form must not become one.
  return isForm(value) ? { $literal: value } : mapParts<Json, Json>(value, (part) => newValue(part, writing));
}

/** The layer that determines a value, and the path of the value in the layer. */
export interface OwnedValue {
  readonly layer: Layer;
  /** The path from the root of the layer. */
  readonly path: DocumentPath;
  /** The value as written. Undefined if the layer does not contain it. */
  readonly raw: Json | undefined;
  /** True in a merge patch, where null removes a field. */
  readonly isPatch: boolean;
}

/**
 * Returns the layer that determines a leaf: the workspace's patch, or else the manifest, or else the defaults. A new leaf belongs to the
 * manifest.
 * @throws CannotEdit if the layer applies to several resources or has the leaf inside a value form.
 */
export function ownerOf({ layers, home }: SpecSources, leaf: LeafPath): OwnedValue {
  const path = leaf.split('.');
  const layer = layers.find(({ value }) => determinesValue(value, path)) ?? home;
  const at = layers.indexOf(layer);
  const isPatch = at < layers.indexOf(home);
  if (at > layers.indexOf(home)) {
    throw new CannotEdit(
      `the value comes from ${layer.base.join('.')} in ${layer.file}, which all resources of the kind share; to change only this resource, set the field in its manifest`,
    );
  }
  const { depth, value } = follow(layer.value, path);
  if (depth === path.length) return { layer, path, raw: value as Json, isPatch };
  if (!isForm(value)) return { layer, path, raw: undefined, isPatch };
  if (!Object.hasOwn(value, '$literal')) throw new CannotEdit(formReason(value));
  const inside = [...path.slice(0, depth), '$literal', ...path.slice(depth)];
  const literal = follow(layer.value, inside);
  return {
    layer,
    path: inside,
    raw: literal.depth === inside.length ? (literal.value as Json) : undefined,
    isPatch: false,
  };
}

/** Returns the reason why the value of a form cannot be changed where the form is written. */
export function formReason(form: { readonly [key: string]: unknown }): string {
  const name = Object.keys(form).find((key) => key.startsWith('$')) ?? '';
  const argument = form[name];
  switch (name) {
    case '$var':
      return `the value comes from the variable ${String(argument)} of the workspace, which other values may share; change it there`;
    case '$env':
      return `the value comes from the environment variable ${String(argument)}`;
    case '$secret':
      return `the value comes from the secret ${String(argument)}`;
    case '$join':
      return 'the value is joined from parts ($join)';
    default:
      return `the value is written as ${name}`;
  }
}
