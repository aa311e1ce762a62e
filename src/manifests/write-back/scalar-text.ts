import { stringify } from 'yaml';
import { yamlOptions } from '../parse-yaml.ts';

export type ScalarValue = null | boolean | number | string;

interface ScalarPlace {
  /** Inside brackets, where commas and brackets end plain text. */
  readonly flow: boolean;
  /** JSON syntax only. */
  readonly json: boolean;
  readonly style?: string | undefined;
}

/** A value on one line, in the preferred style if possible. */
export function scalarText(value: ScalarValue, { flow, json, style }: ScalarPlace): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  const isQuoted = json || style === 'QUOTE_DOUBLE' || /[\n\t]/.test(value);
  if (isQuoted || !needsNoEscapes(value)) return doubleQuoted(value);
  if (style === 'QUOTE_SINGLE') return `'${value.replaceAll("'", "''")}'`;
  return flow ? stringify([value], FLOW).slice(1, -2) : stringify({ k: value }, ONE_LINE).slice(3, -1);
}

const ONE_LINE = { ...yamlOptions, lineWidth: 0, singleQuote: false } as const;
const FLOW = { ...ONE_LINE, collectionStyle: 'flow', flowCollectionPadding: false } as const;

/** A double-quoted text with escapes for all invisible characters: valid YAML and JSON. */
function doubleQuoted(text: string): string {
  return JSON.stringify(text).replace(
    UNSEEN,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

const UNSEEN = /[\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff]/g;

/** True if the text, apart from line feeds, needs no escapes in a file. */
export function needsNoEscapes(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for control characters.
  return text.isWellFormed() && !/[\u0000-\u0008\u000b-\u001f]/.test(text) && text.search(UNSEEN) === -1;
}
