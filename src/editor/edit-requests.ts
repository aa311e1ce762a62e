import path from 'node:path';
import {
  type CodeAction,
  CodeActionKind,
  type CodeActionParams,
  CodeActionRequest,
  DocumentFormattingRequest,
  type ServerCapabilities,
  type TextEdit,
} from 'vscode-languageserver-protocol/node';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import { fixesOf } from './code-actions.ts';
import type { EditorSession } from './editor-session.ts';
import { formattingEdits } from './formatting.ts';
import { forCodeActions, inFile } from './request-params.ts';
import { rangeOf, shownDiagnostic } from './shown-diagnostics.ts';
import type { ChangedText } from './snapshot.ts';
import type { EditorRequests } from './word-requests.ts';

export const EDIT_CAPABILITIES: ServerCapabilities = {
  documentFormattingProvider: true,
  codeActionProvider: { codeActionKinds: [CodeActionKind.QuickFix] },
};

/** Answers with changes of a file: its canonical form, and fixes of what is wrong in it. */
export function listenToEdits({ connection, session, answer }: EditorRequests): void {
  connection.onRequest(DocumentFormattingRequest.type, (params) =>
    answer(inFile, params, () => {
      const { uri } = params.textDocument;
      const { document, file = uri } = session.files.get(uri) ?? {};
      if (document === undefined) return null;
      const changes = formattingEdits(path.basename(file), document.getText());
      return changes.map((change) => editOf(change, document));
    }),
  );
  connection.onRequest(CodeActionRequest.type, (params) =>
    answer(forCodeActions, params, () => quickFixes(session, params)),
  );
}

async function quickFixes(
  session: EditorSession,
  { textDocument: { uri }, range, context: { only } }: CodeActionParams,
): Promise<CodeAction[]> {
  const opened = session.files.get(uri);
  if (opened === undefined || only?.some((kind) => kind === CodeActionKind.QuickFix || kind === '') === false)
    return [];
  const found = await session.diagnosticsOf(opened);
  const { document } = opened;
  const [start, end] = [document.offsetAt(range.start), document.offsetAt(range.end)];
  return found.flatMap((diagnostic) => {
    const about = rangeOf(diagnostic, document);
    if (about.end < start || about.start > end) return [];
    const fixes = fixesOf(diagnostic, document);
    return fixes.map(({ title, change }) => ({
      title,
      kind: CodeActionKind.QuickFix,
      diagnostics: [shownDiagnostic(diagnostic, document)],
      isPreferred: fixes.length === 1,
      edit: { changes: { [uri]: [editOf(change, document)] } },
    }));
  });
}

function editOf({ start, end, text }: ChangedText, document: TextDocument): TextEdit {
  return { range: { start: document.positionAt(start), end: document.positionAt(end) }, newText: text };
}
