import { diffArrays } from 'diff';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import { kinds } from '../kinds/index.ts';
import { isJson } from '../manifests/editing/edit-text.ts';
import type { Diagnostic, Fix } from '../problems/diagnostic.ts';
import { formattedText } from '../project/format-files.ts';
import { rangeOf } from './editor-session.ts';
import type { ChangedText } from './snapshot.ts';

interface CodeFix {
  readonly title: string;
  readonly change: ChangedText;
}

/** Returns the fixes of a diagnostic, the most likely first. Each fix is one edit. */
export function fixesOf(diagnostic: Diagnostic, document: TextDocument): readonly CodeFix[] {
  const { fix } = diagnostic;
  if (fix === undefined) return [];
  const range = rangeOf(diagnostic, document);
  const text = document.getText();
  const written = text.slice(range.start, range.end);
  // A block scalar, an alias, an anchor or a tag cannot be replaced by a plain value.
  if (/^[|>*&!]/.test(written) || written === '') return [];
  return textsFor(fix, written, isJson(text)).map((instead) => ({
    title: 'quotes' in fix ? TITLES[fix.quotes] : `Change to ${instead}`,
    change: { ...range, text: instead },
  }));
}

const TITLES = { add: 'Add quotes', remove: 'Remove the quotes' } as const;

function textsFor(fix: Fix, written: string, json: boolean): readonly string[] {
  const [quote = ''] = /^["']/.exec(written) ?? [];
  if ('instead' in fix) {
    return fix.instead.map((instead) => {
      if (typeof instead !== 'string') return objectText(instead, json);
      if (quote === "'") return `'${instead.replaceAll("'", "''")}'`;
      return quote === '"' || json || !PLAIN.test(instead) ? JSON.stringify(instead) : instead;
    });
  }
  if (fix.quotes === 'add') return quote === '' ? [JSON.stringify(written)] : [];
  return quote === '' ? [] : [written.slice(1, -1)];
}

/** Matches a string that needs no quotes in YAML. */
const PLAIN = /^(?!(?:true|false|null|yes|no|on|off)$)[A-Za-z_$][\w$./-]*$/i;

function objectText(value: Readonly<Record<string, string>>, json: boolean): string {
  const pairs = Object.entries(value).map(([key, item]) =>
    json ? `${JSON.stringify(key)}: ${JSON.stringify(item)}` : `${key}: ${item}`,
  );
  return `{ ${pairs.join(', ')} }`;
}

/** The maximum number of differing lines. Finding the shortest difference takes quadratic time. */
const MAX_EDITS = 1000;

/** Returns the changes of `voxform fmt` as small edits that keep the cursor in place. Returns no edits if the text is invalid. */
export function formattingEdits(file: string, text: string): readonly ChangedText[] {
  const formatted = formattedText(file, text, kinds);
  if ('problems' in formatted || formatted.text === text) return [];
  const lines = diffArrays(linesOf(text), linesOf(formatted.text), { maxEditLength: MAX_EDITS });
  if (lines === undefined) return [{ start: 0, end: text.length, text: formatted.text }];
  const edits: ChangedText[] = [];
  let at = 0;
  let open: ChangedText | undefined;
  for (const { value, added, removed } of lines) {
    const chunk = value.join('');
    if (!added && !removed) {
      if (open !== undefined) edits.push(open);
      open = undefined;
    } else {
      const before: ChangedText = open ?? { start: at, end: at, text: '' };
      open = added ? { ...before, text: before.text + chunk } : { ...before, end: at + chunk.length };
    }
    if (!added) at += chunk.length;
  }
  return open === undefined ? edits : [...edits, open];
}

function linesOf(text: string): string[] {
  return text.split(/(?<=\n)/);
}
