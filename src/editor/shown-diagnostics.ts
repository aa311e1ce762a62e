import { DiagnosticSeverity, type Diagnostic as Shown } from 'vscode-languageserver-protocol';
import { TextDocument } from 'vscode-languageserver-textdocument';
import type { Diagnostic } from '../problems/diagnostic.ts';
import type { TextRange } from './snapshot.ts';

/** A diagnostic for an editor, at the range of its key or value. */
export function shownDiagnostic(diagnostic: Diagnostic, document: TextDocument): Shown {
  const { severity, code, message } = diagnostic;
  const { start, end } = rangeOf(diagnostic, document);
  return {
    range: { start: document.positionAt(start), end: document.positionAt(end) },
    severity: severity === 'error' ? DiagnosticSeverity.Error : DiagnosticSeverity.Warning,
    code,
    source: 'voxform',
    message,
  };
}

/** A key, or a value on one line. */
const WORD = /"(?:\\.|[^"\\])*"|'(?:''|[^'])*'|[{[].*[\]}]|\S.*?(?=\s*(?:\s#|:(?:\s|$)|[,\]}]|$))/y;

/** The range of the key or value of a diagnostic; the first line for a diagnostic of the whole file. */
export function rangeOf({ line = 1, column }: Diagnostic, document: TextDocument): TextRange {
  const text = document.getText();
  const begin = document.offsetAt({ line: line - 1, character: 0 });
  const end = text.slice(begin).search(/[\r\n]|$/) + begin;
  if (column === undefined) return { start: begin, end };
  const start = Math.min(begin + column - 1, end);
  WORD.lastIndex = 0;
  const [word = ''] = WORD.exec(text.slice(start, end)) ?? [];
  return { start, end: start + word.length };
}

export function documentOf(uri: string, text: string): TextDocument {
  return TextDocument.create(uri, 'yaml', 0, text);
}
