import { isCollection, isScalar, parseDocument } from 'yaml';
import { yamlOptions } from '../yaml-options.ts';

export type ScalarValue = null | boolean | number | string;

export interface ScalarPlace {
  /** Inside brackets, where commas and brackets end a plain text. */
  readonly flow: boolean;
  /** Only as JSON writes it. */
  readonly json: boolean;
  /** The style that is kept where the value allows it. */
  readonly style?: string | undefined;
}

/** A value on one line, in the wanted style where that can hold it. */
export function scalarText(value: ScalarValue, { flow, json, style }: ScalarPlace): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  if (json || style === 'QUOTE_DOUBLE') return doubleQuoted(value);
  const isShown = isShownAsItIs(value) && !value.includes('\n');
  if (style === 'QUOTE_SINGLE' && isShown) return `'${value.replaceAll("'", "''")}'`;
  return isShown && readsAs(value, flow) ? value : doubleQuoted(value);
}

/** The text in double quotes, everything in it that no eye sees as an escape: valid in YAML and in JSON. */
export function doubleQuoted(text: string): string {
  return JSON.stringify(text).replace(
    UNSEEN,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** A key as it stands before its colon. */
export function keyText(key: string, place: ScalarPlace): string {
  const plain = place.style === undefined && !place.json && /^[A-Za-z_$][\w$-]*$/.test(key);
  return plain && readsAs(key, true) ? key : scalarText(key, { ...place, flow: true });
}

const UNSEEN = /[\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff]/g;

/** True where the text, its line feeds aside, can stand in a file without escapes. */
export function isShownAsItIs(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
  return text.isWellFormed() && !/[\u0000-\u0008\u000b-\u001f]/.test(text) && text.search(UNSEEN) === -1;
}

/** True where the plain text is read as exactly this text. */
function readsAs(text: string, flow: boolean): boolean {
  if (text === '' || text.includes('\t')) return false;
  if (!isPlain(flow ? `[${text}]` : `- ${text}`, { text, at: 0 })) return false;
  return flow || isPlain(`k: ${text}`, { text, at: 'k' });
}

/** True where a collection of this text holds the one text, in plain style, and nothing beside it. */
function isPlain(collection: string, { text, at }: { text: string; at: number | string }): boolean {
  const document = parseDocument(collection, yamlOptions);
  const { contents, errors, warnings, comment } = document;
  if (errors.length > 0 || warnings.length > 0 || comment) return false;
  if (!isCollection(contents) || contents.items.length !== 1) return false;
  const node: unknown = contents.get(at, true);
  return (
    isScalar(node) &&
    node.value === text &&
    node.type === 'PLAIN' &&
    node.anchor === undefined &&
    (node.comment ?? '') === ''
  );
}
