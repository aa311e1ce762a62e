import { stripVTControlCharacters } from 'node:util';

/**
 * Returns text from the platform on one line, safe for a terminal and truncated to `length` characters. Removes escape sequences, control
 * characters and text direction characters, collapses white space and redacts secrets.
 */
export function oneLine(text: string, length: number, redact: (text: string) => string): string {
  // Redact before cleaning, for secrets with line breaks, and again after it, for secrets that were split by removed characters.
  const clean = stripVTControlCharacters(redact(text))
    .replace(/[\s\u0085]+/g, ' ')
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}]/gu, '')
    .trim();
  return truncate(redact(clean), length);
}

function truncate(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${text
    .slice(0, length - 1)
    .toWellFormed()
    .replace(/\ufffd$/, '')
    .trimEnd()}…`;
}

/** The maximum number of characters of a page that are searched. */
const MAX_MARKUP_LENGTH = 8192;

/** Returns the title of an HTML or XML page. Without a title, returns the first heading or message, or else the text. */
export function textOfMarkup(page: string): string {
  const markup = page.slice(0, MAX_MARKUP_LENGTH);
  for (const element of ['title', 'h1', 'h2', 'message']) {
    const found = new RegExp(`<${element}\\b[^>]*>([\\s\\S]*?)</${element}\\s*>`, 'i').exec(markup)?.[1];
    const text = found === undefined ? '' : withoutTags(found);
    if (text !== '') return text;
  }
  return withoutTags(markup);
}

export function looksLikeMarkup(text: string): boolean {
  return /^\s*(<!doctype|<\?xml|<[a-z][\w:-]*[\s/>])/i.test(text);
}

function withoutTags(markup: string): string {
  return markup
    .replace(/<(script|style)\b[\s\S]*?(<\/\1\s*>|$)|<!--[\s\S]*?(-->|$)|<[^>]*(>|$)/gi, ' ')
    .replace(/&(#x?[0-9a-f]{1,6}|[a-z]+);/gi, (whole, name: string) => character(name) ?? whole)
    .replace(/\s+/g, ' ')
    .trim();
}

const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
};

function character(name: string): string | undefined {
  if (!name.startsWith('#')) return NAMED[name.toLowerCase()];
  const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number.parseInt(name.slice(1), 10);
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : undefined;
}
