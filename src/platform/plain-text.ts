import { stripVTControlCharacters } from 'node:util';

/**
 * The platform's text on one line, safe for a terminal: without escape sequences, control and direction characters, with blanks collapsed
 * and secrets replaced, at most `length` characters.
 */
export function oneLine(text: string, length: number, redact: (text: string) => string): string {
  // Redact before folding, for secrets with line breaks, and after it, for secrets that were split by removed characters.
  const clean = stripVTControlCharacters(redact(text))
    .replace(/[\s\u0085]+/g, ' ')
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}]/gu, '')
    .trim();
  return shortened(redact(clean), length);
}

function shortened(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${text
    .slice(0, length - 1)
    .toWellFormed()
    .replace(/\ufffd$/, '')
    .trimEnd()}…`;
}

/** Only the beginning of a page is searched. */
const LONGEST_MARKUP = 8192;

/** The title of an HTML or XML page, else its first heading, else its text. */
export function textOfMarkup(page: string): string {
  const markup = page.slice(0, LONGEST_MARKUP);
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
