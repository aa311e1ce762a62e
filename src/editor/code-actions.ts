import type { TextDocument } from 'vscode-languageserver-textdocument';
import { isJson } from '../manifests/write-back/edit-text.ts';
import type { Diagnostic, Fix } from '../problems/diagnostic.ts';
import { rangeOf } from './shown-diagnostics.ts';
import type { ChangedText } from './snapshot.ts';

interface CodeFix {
  readonly title: string;
  readonly change: ChangedText;
}

/** What fixes a diagnostic with one change of the text; the likeliest first. */
export function fixesOf(diagnostic: Diagnostic, document: TextDocument): readonly CodeFix[] {
  const { fix } = diagnostic;
  if (fix === undefined) return [];
  const range = rangeOf(diagnostic, document);
  const text = document.getText();
  const written = text.slice(range.start, range.end);
  // A block text, an alias, an anchor or a tag: the error is elsewhere.
  if (/^[|>*&!]/.test(written) || written === '') return [];
  return textsFor(fix, { written, json: isJson(text) }).map((instead) => ({
    title: 'quotes' in fix ? TITLES[fix.quotes] : `Change to ${instead}`,
    change: { ...range, text: instead },
  }));
}

const TITLES = { add: 'Put it in quotes', remove: 'Remove the quotes' } as const;

interface Written {
  /** As it stands there. */
  readonly written: string;
  readonly json: boolean;
}

function textsFor(fix: Fix, { written, json }: Written): readonly string[] {
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

/** A text that is no other value without quotes. */
const PLAIN = /^(?!(?:true|false|null|yes|no|on|off)$)[A-Za-z_$][\w$./-]*$/i;

function objectText(value: Readonly<Record<string, string>>, json: boolean): string {
  const pairs = Object.entries(value).map(([key, item]) =>
    json ? `${JSON.stringify(key)}: ${JSON.stringify(item)}` : `${key}: ${item}`,
  );
  return `{ ${pairs.join(', ')} }`;
}
