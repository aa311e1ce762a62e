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

/** Returns the text with color codes as words, e.g. `‹red›`. */
export function named(text: string): string {
  return text.replace(new RegExp(`${String.fromCharCode(27)}\\[(\\d+)m`, 'g'), (_, code) => `‹${names[code] ?? code}›`);
}

export function widest(text: string): number {
  return Math.max(...text.split('\n').map(displayWidth));
}

/** Controls a terminal, begins lines that resemble ours, reverses the reading direction, and hides text. */
export const evil = 'x\u001b[2J\u009b1m\r\n::error::forged\n+ Agent/forged\u202e\u2028\u200bx\u0000\u{e0041}';

/** Characters that must never reach a terminal. Only renderers write line feeds. */
export const unsafe = /(?!\n)[\p{Cc}\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/u;

/** Lines that only an unescaped line feed can begin. */
export const forged = /^\s*(::error::forged|\+ Agent\/forged)/m;
