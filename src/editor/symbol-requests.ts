import {
  type DocumentSymbol,
  DocumentSymbolRequest,
  type ServerCapabilities,
  SymbolKind,
  WorkspaceSymbolRequest,
} from 'vscode-languageserver-protocol/node';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import { forQuery, inFile } from './request-params.ts';
import { type FileSymbol, resourcesNamed, symbolsIn } from './symbols.ts';
import { documentIn, type EditorRequests, openedFile, rangeIn } from './word-requests.ts';

export const SYMBOL_CAPABILITIES: ServerCapabilities = {
  documentSymbolProvider: true,
  workspaceSymbolProvider: true,
};

const MAX_FOUND = 200;

const KINDS: Readonly<Record<FileSymbol['is'], SymbolKind>> = {
  resource: SymbolKind.Class,
  section: SymbolKind.Module,
  entry: SymbolKind.Field,
};

export function listenToSymbols({ connection, session, answer }: EditorRequests): void {
  connection.onRequest(DocumentSymbolRequest.type, (params) =>
    answer(inFile, params, async () => {
      const found = await openedFile(session, params.textDocument.uri, 'latest');
      if (found === undefined) return [];
      return symbolsIn(found.snapshot, found.file).map((symbol) => shownSymbol(symbol, found.document));
    }),
  );
  connection.onRequest(WorkspaceSymbolRequest.type, (params) =>
    answer(forQuery, params, async () => {
      const snapshots = await session.projects();
      return snapshots.flatMap((snapshot) =>
        resourcesNamed(snapshot, params.query, MAX_FOUND).map(({ name, file, ...range }) => {
          const document = documentIn(session, snapshot, file);
          const location = { uri: document.uri, range: rangeIn(document, range) };
          return { name, kind: KINDS.resource, location, containerName: file };
        }),
      );
    }),
  );
}

function shownSymbol({ name, is, range, nameRange, children }: FileSymbol, document: TextDocument): DocumentSymbol {
  return {
    name,
    kind: KINDS[is],
    range: rangeIn(document, range),
    selectionRange: rangeIn(document, nameRange),
    children: children.map((child) => shownSymbol(child, document)),
  };
}
