import type { FieldRule } from '../../manifests/kind-schema.ts';
import { isForm } from '../../manifests/layers.ts';
import { alignment } from '../../manifests/write-back/alignment.ts';
import { CannotEdit } from '../../manifests/write-back/change.ts';
import { canonicalJson, isObject, type Json, type JsonObject, jsonEqual, mapParts } from '../../values/json.ts';
import { formReason } from './owning-layer.ts';

interface ValueContext {
  readonly rule: FieldRule;
  /** The address of the record with this id, for a field with ids of the kind. */
  addressOf(kind: string, id: string): string | undefined;
  /** The value of a part as written, with references as ids; undefined if a part is unknown or secret. */
  plainValueOf(raw: Json): Json | undefined;
  /** Why a joined text cannot get this value. */
  joinReason(form: JsonObject, value: Json): string;
  /** Called with the new text for the file of a `$file`. */
  toFile(form: JsonObject, text: string): void;
}

/**
 * The value to write in place of `raw`: parts with the right value stay as written, ids become references, and texts from files are
 * written there.
 * @throws CannotEdit if a form prevents it.
 */
export function writtenValue(raw: Json | undefined, value: Json, writing: ValueContext): Json {
  if (raw === undefined) return fresh(value, writing);
  const current = writing.plainValueOf(raw);
  if (current !== undefined && jsonEqual(current, value)) return raw;
  if (isForm(raw)) return inForm(raw, value, writing);
  if (Array.isArray(raw) && Array.isArray(value)) {
    return writing.rule.set ? writtenSet(raw, value, writing) : writtenList(raw, value, writing);
  }
  if (!isObject(raw) || !isObject(value) || isForm(value)) return fresh(value, writing);
  return mapParts<Json, Json>(value as JsonObject, (part, key) =>
    writtenValue(Object.hasOwn(raw, key) ? (raw[key] as Json) : undefined, part, writing),
  );
}

function inForm(form: JsonObject, value: Json, writing: ValueContext): Json {
  if (Object.hasOwn(form, '$literal')) return { $literal: value };
  if (Object.hasOwn(form, '$ref')) return fresh(value, writing);
  if (Object.hasOwn(form, '$join')) throw new CannotEdit(writing.joinReason(form, value));
  if (!Object.hasOwn(form, '$file')) throw new CannotEdit(formReason(form));
  if (typeof value !== 'string') return fresh(value, writing);
  writing.toFile(form, value);
  return form;
}

/** Existing items keep their order, and new ones follow. */
function writtenSet(raw: readonly Json[], value: readonly Json[], writing: ValueContext): Json[] {
  const wanted = new Map(value.map((item) => [canonicalJson(item), item]));
  const kept = raw.filter((item) => {
    const current = writing.plainValueOf(item);
    return current !== undefined && wanted.delete(canonicalJson(current));
  });
  return [...kept, ...[...wanted.values()].map((item) => fresh(item, writing))];
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

/** A value without an existing place. */
function fresh(value: Json, writing: ValueContext): Json {
  const { refersTo } = writing.rule;
  if (typeof value === 'string' && refersTo !== undefined) {
    const address = writing.addressOf(refersTo, value);
    return address === undefined ? value : { $ref: address };
  }
  // A plain value that looks like a value form must not become one.
  return isForm(value) ? { $literal: value } : mapParts<Json, Json>(value, (part) => fresh(part, writing));
}
