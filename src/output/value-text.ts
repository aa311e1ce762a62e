import { isObject, type Json, mapParts } from '../values/json.ts';
import { escapeControls } from './escape-controls.ts';

/** Returns a value on one line, similar to the flow style of YAML. Strings are quoted only if they would be ambiguous. */
export function valueText(value: Json): string {
  return flow(value, false);
}

/** Replaces value forms such as `$ref` with a description in parentheses. */
export function withoutForms(value: Json): Json {
  const words = describeForm(value);
  if (words !== undefined) return words;
  const literal = isObject(value) ? literalOf(value) : undefined;
  if (literal !== undefined && !isObject(literal)) return withoutForms(literal);
  return mapParts<Json, Json>(literal ?? value, withoutForms);
}

function flow(value: Json, nested: boolean): string {
  const words = describeForm(value);
  if (words !== undefined) return words;
  if (typeof value === 'string') return quotedWhereNeeded(value, nested);
  if (Array.isArray(value)) return `[${value.map((item) => flow(item, true)).join(', ')}]`;
  if (!isObject(value)) return String(value);
  const literal = literalOf(value) ?? value;
  if (!isObject(literal)) return flow(literal as Json, nested);
  const entries = Object.entries(literal).map(
    ([key, part]) => `${quotedWhereNeeded(key, true)}: ${flow(part as Json, true)}`,
  );
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`;
}

/** Returns the content of `$literal`. Values inside it may still be forms. */
function literalOf(value: Readonly<Record<string, unknown>>): Json | undefined {
  return hasOnlyKey(value, '$literal') ? (value.$literal as Json) : undefined;
}

/** Returns a description of a form, or undefined for a plain value. It contains neither a secret nor its name. */
function describeForm(value: Json): string | undefined {
  if (!isObject(value)) return undefined;
  if (hasOnlyKey(value, '$secret') || hasOnlyKey(value, '$fingerprint')) return '(secret)';
  if (hasOnlyKey(value, 'unknown_until_apply')) return idOf(value.unknown_until_apply);
  if (hasOnlyKey(value, '$ref')) return idOf(value.$ref);
  if (hasOnlyKey(value, '$env')) return '(from the environment)';
  if (Array.isArray(value.$join)) {
    return mentionsSecret(value.$join) ? '(secret)' : '(text, known after apply)';
  }
  return undefined;
}

function idOf(address: unknown): string {
  return `(id of ${escapeControls(String(address))}, known after apply)`;
}

function hasOnlyKey(value: Readonly<Record<string, unknown>>, key: string): boolean {
  return Object.hasOwn(value, key) && Object.keys(value).length === 1;
}

function mentionsSecret(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(mentionsSecret);
  if (!isObject(value)) return false;
  return Object.keys(value).some((key) => key === '$secret' || key === '$fingerprint' || mentionsSecret(value[key]));
}

/** Strings that match are quoted. Parentheses mark descriptions by voxform, and an arrow separates the old and the new value. */
const startsLikeSyntax = /^[-?:]$|^[-?:] |^[,[\]{}#&*!|>'"%@`(~=<]/;
const containsSyntax = /: |:$| #|->|\\|^\s|\s$/;
const looksTyped = /^(true|false|null|yes|no|on|off|[-+]?\.(inf|nan)|[-+]?[\d._]+(e[-+]?\d+)?|0[xob][\da-f_]+)$/i;

/** Strings that replace hidden values and are not quoted. An equal string from a user looks the same, which is harmless. */
const PLACEHOLDERS: readonly string[] = ['(secret)', '(known after apply)'];

function quotedWhereNeeded(text: string, nested: boolean): string {
  if (PLACEHOLDERS.includes(text)) return text;
  const shown = escapeControls(text);
  const plain =
    text !== '' &&
    shown === text &&
    !startsLikeSyntax.test(text) &&
    !containsSyntax.test(text) &&
    !looksTyped.test(text) &&
    !(nested && /[,[\]{}]/.test(text));
  return plain ? text : escapeControls(JSON.stringify(text));
}
