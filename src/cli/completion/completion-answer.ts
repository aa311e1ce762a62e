import { readdirSync } from 'node:fs';
import path from 'node:path';
import type { Completion } from './candidates.ts';

/*
 * The script of a shell, in `completions/`, passes every word to `voxform completion SHELL --complete` with a leading =, so that none is
 * empty or looks like a flag. It reads candidates, or :files, :folders and :stay.
 */

export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;

export type Shell = (typeof SHELLS)[number];

/** An instruction to the shell's script in place of a candidate. */
const FILES = ':files';
const FOLDERS = ':folders';
/** No blank after the word: more will follow. */
const STAY = ':stay';

/** The lines for the script of a shell: candidates with descriptions after a tab, or what the shell must complete itself. */
export function answerFor(shell: Shell, { candidates, cursor }: Completion, cwd: string): string {
  const lines =
    typeof candidates === 'string'
      ? pathLines(candidates, { folder: cursor.flags.get('--chdir'), text: cursor.text, cwd })
      : candidates.map(({ value, description }) => line(forShell(shell, value), description));
  return lines.map((each) => `${each}\n`).join('');
}

interface Paths {
  /** The folder of `-C`. The shell is in another one and cannot complete files there. */
  readonly folder: string | undefined;
  readonly text: string;
  readonly cwd: string;
}

function pathLines(what: 'files' | 'folders', { folder, text, cwd }: Paths): string[] {
  if (folder === undefined) return [what === 'files' ? FILES : FOLDERS];
  const parent = text.slice(0, text.lastIndexOf('/') + 1);
  const entries = readdirSync(path.resolve(cwd, parent), { withFileTypes: true });
  const fitting = entries
    .filter((entry) => entry.isDirectory() || what === 'files')
    .map((entry) => `${parent}${entry.name}${entry.isDirectory() ? '/' : ''}`)
    .filter((each) => each.startsWith(text) && /^[\w./@+-]+$/.test(each))
    .filter((each) => !each.slice(parent.length).startsWith('.') || text.length > parent.length);
  const [only] = fitting;
  return fitting.length === 1 && only?.endsWith('/') ? [only, STAY] : fitting;
}

/** For bash, the text after = is a separate word. */
function forShell(shell: Shell, value: string): string {
  return shell === 'bash' ? value.replace(/^--[^=]*=/, '') : value;
}

function line(value: string, description: string): string {
  const words = description.replace(/\s+/g, ' ').trim();
  return words === '' ? value : `${value}\t${words}`;
}

/** The actual words: bash splits them at = and passes them with their quotes. */
export function wordsFrom(shell: Shell, given: readonly string[]): string[] {
  const words = given.map((word) => word.replace(/^=/, ''));
  if (shell !== 'bash') return words;
  const joined: string[] = [];
  for (const [index, word] of words.entries()) {
    const before = words[index - 1];
    const continues = word === '=' ? before?.startsWith('--') : before === '=' && index > 1;
    if (continues && joined.length > 0) joined.push(`${joined.pop()}${word}`);
    else joined.push(word);
  }
  return joined.map(unquoted);
}

function unquoted(word: string): string {
  return word.replace(/'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/g, (_, single, double, escaped) =>
    String(single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped),
  );
}
