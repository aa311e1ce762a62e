import { escapeHtml } from '../../values/escape-html.ts';
import { escapeControls } from '../escape-controls.ts';

/** HTML, SVG or XML in which all values are escaped. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Part = Html | string | number | false | undefined | readonly Part[];

/** A template tag that escapes values between tags and in quoted attributes. Inserts markup, joins lists, omits `false` and `undefined`. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(String.raw({ raw: strings }, ...parts.map(textOf)));
}

/** Marks text as markup that is already escaped, or that is part of the program. Must not be used for external input. */
export function trusted(text: string): Html {
  return new Html(text);
}

/** Joins all non-empty parts with a separator. */
export function joined(parts: readonly Part[], separator: ' ' | ', ' | ' · ' | '\n'): Html {
  const texts = parts.map(textOf).filter((text) => text !== '');
  return new Html(texts.join(separator));
}

function textOf(part: Part): string {
  if (part === undefined || part === false) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(textOf).join('');
  // XML forbids most control characters, U+FFFE and U+FFFF.
  return escapeHtml(escapeControls(String(part)).replace(/[\ufffe\uffff]/g, '\ufffd'));
}
