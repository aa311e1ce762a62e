import { escapeHtml } from './escape-html.ts';

/** Shorter strings are not treated as secrets: replacing them would garble ordinary words. */
const MIN_LENGTH = 4;

/** The minimum length of a line of a secret, such as a PEM key, that is also replaced if it occurs alone. */
const MIN_LINE_LENGTH = 16;

/** The minimum length for the Base64 of a secret within a longer string such as `user:secret`. Shorter strings could match by chance. */
const MIN_INNER_BASE64_LENGTH = 12;

/** The maximum length of a text in a pattern. Longer ones compile slowly, and very long ones not at all. */
const MAX_PATTERN_LENGTH = 64;

/** Replaces known secrets in text with `(secret)`, in every encoding that may occur. */
export class Redactor {
  readonly #forms = new Set<string>();
  #search: Search | undefined;

  /** Ignores strings shorter than four characters. */
  add(secret: string): void {
    const before = this.#forms.size;
    for (const part of partsOf(secret)) for (const form of spellings(part)) this.#forms.add(form);
    if (this.#forms.size !== before) this.#search = undefined;
  }

  /** Replaces all known secrets, even if they overlap. It can be passed as a callback, because it does not need `this`. */
  readonly redact = (text: string): string => {
    if (this.#forms.size === 0) return text;
    this.#search ??= searchFor(this.#forms);
    const { beginnings, longestFirst } = this.#search;
    beginnings.lastIndex = 0;
    let result = '';
    let end = 0;
    for (let match = beginnings.exec(text); match !== null; match = beginnings.exec(text)) {
      const { index } = match;
      beginnings.lastIndex = index + 1;
      // In text that is replaced already, the beginning and the part after it decide: comparing all of a long, repetitive secret at each
      // of its characters would take minutes.
      const from = Math.max(index, end);
      const form = longestFirst.find(
        (each) =>
          index + each.length > end &&
          text.startsWith(each.slice(0, MAX_PATTERN_LENGTH), index) &&
          text.startsWith(each.slice(from - index), from),
      );
      if (form === undefined) continue;
      if (index >= end) result += `${text.slice(end, index)}(secret)`;
      end = Math.max(end, index + form.length);
    }
    return result + text.slice(end);
  };
}

/** Returns the secret, the secret without surrounding white space, and its longer lines. */
function partsOf(secret: string): Set<string> {
  const parts = new Set([secret, secret.trim()].filter((part) => part.length >= MIN_LENGTH));
  const lines = secret.split(/\r?\n/);
  if (lines.length > 1) {
    for (const line of lines) if (line.trim().length >= MIN_LINE_LENGTH) parts.add(line.trim());
  }
  return parts;
}

function* spellings(text: string): Generator<string> {
  // A URL, a header, a page or a CSV cell may contain JSON. CSV and YAML double the quotes.
  for (const form of new Set([text, ...jsonSpellings(text)])) {
    yield form;
    yield form.replaceAll('"', '""');
    yield form.replaceAll("'", "''");
    yield* urlSpellings(form);
    yield* base64Spellings(form);
    yield escapeHtml(form);
  }
}

function* jsonSpellings(text: string): Generator<string> {
  const escaped = escapedForJson(text);
  const ascii = escaped.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  for (const form of [escaped, ascii]) {
    yield form;
    yield form.replaceAll('/', '\\/');
    // A JSON string may contain JSON, e.g. in a message that quotes a body.
    yield escapedForJson(form);
  }
}

function escapedForJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function* urlSpellings(text: string): Generator<string> {
  const wellFormed = text.toWellFormed();
  const asQuery = new URLSearchParams({ s: wellFormed }).toString().slice(2);
  for (const form of [encodeURIComponent(wellFormed), encodeURI(wellFormed), asQuery]) {
    yield form;
    yield form.replace(/%[0-9A-F]{2}/g, (byte) => byte.toLowerCase());
  }
}

function* base64Spellings(text: string): Generator<string> {
  const bytes = Buffer.from(text);
  const forms = [bytes.toString('base64').replace(/=+$/, '')];
  for (const offset of [0, 1, 2]) {
    const shifted = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    // The first and last characters also encode bits of the adjacent bytes.
    const first = Math.ceil((offset * 8) / 6);
    const last = Math.floor(((offset + bytes.length) * 8) / 6);
    if (last - first >= MIN_INNER_BASE64_LENGTH) forms.push(shifted.slice(first, last));
  }
  for (const form of forms) {
    yield form;
    yield form.replaceAll('+', '-').replaceAll('/', '_');
  }
}

interface Search {
  /** Finds the places where a form may begin. */
  readonly beginnings: RegExp;
  /** The longest form comes first, because one secret may be the beginning of another. */
  readonly longestFirst: readonly string[];
}

function searchFor(forms: ReadonlySet<string>): Search {
  const beginnings = new Set([...forms].map((form) => form.slice(0, MAX_PATTERN_LENGTH)));
  const escaped = [...beginnings].map((text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'));
  return {
    beginnings: new RegExp(escaped.join('|'), 'g'),
    longestFirst: [...forms].sort((a, b) => b.length - a.length),
  };
}
