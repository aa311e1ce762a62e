import { createStyle, type Style } from '../../src/output/style.ts';
import { displayWidth } from '../../src/output/text-width.ts';

export function plainStyle(width = 80): Style {
  return createStyle({ color: false, width });
}

export function colorStyle(width = 80): Style {
  return createStyle({ color: true, width });
}

const names: Readonly<Record<string, string>> = {
  1: 'bold',
  2: 'dim',
  22: '/',
  31: 'red',
  32: 'green',
  33: 'yellow',
  34: 'blue',
  35: 'magenta',
  36: 'cyan',
  39: '/',
};

/** The text with its colour codes as words, e.g. `‹red›`. */
export function named(text: string): string {
  return text.replace(new RegExp(`${String.fromCharCode(27)}\\[(\\d+)m`, 'g'), (_, code) => `‹${names[code] ?? code}›`);
}

export function widest(text: string): number {
  return Math.max(...text.split('\n').map(displayWidth));
}

/** Steers a terminal, begins lines that look like ours, turns the reading order round, and hides what it says. */
export const evil = 'x\u001b[2J\u009b1m\r\n::error::forged\n+ Agent/forged\u202e\u2028\u200bx\u0000\u{e0041}';

/** What must never reach a terminal. Line feeds are for the renderers alone. */
export const unsafe = /(?!\n)[\p{Cc}\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/u;

/** Lines that only an unescaped line feed can have begun. */
export const forged = /^\s*(::error::forged|\+ Agent\/forged)/m;
