import { readdirSync } from 'node:fs';
import path from 'node:path';
import type { Completion } from './candidates.ts';

export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;

export type Shell = (typeof SHELLS)[number];

/** What stands between the shell's script and us instead of a candidate. */
const FILES = ':files';
const FOLDERS = ':folders';
/** No blank after the word: more of it is to come. */
const STAY = ':stay';

/**
 * The lines that the script of a shell reads: candidates with their description after a tab, or what the shell is to look for
 * itself.
 */
export function answerFor(shell: Shell, { candidates, cursor }: Completion, cwd: string): string {
  const lines =
    typeof candidates === 'string'
      ? pathLines(candidates, { folder: cursor.flags.get('--chdir'), text: cursor.text, cwd })
      : candidates.map(({ value, description }) => line(forShell(shell, value), description));
  return lines.map((each) => `${each}\n`).join('');
}

interface Paths {
  /** The folder that `-C` names: the shell, which stands elsewhere, cannot look into it. */
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

/** Bash takes what stands after the = for a word of its own. */
function forShell(shell: Shell, value: string): string {
  return shell === 'bash' ? value.replace(/^--[^=]*=/, '') : value;
}

function line(value: string, description: string): string {
  const words = description.replace(/\s+/g, ' ').trim();
  return words === '' ? value : `${value}\t${words}`;
}

/** The words as the person meant them: bash breaks them at = and hands them on with their quotes. */
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
