import path from 'node:path';
import {
  CodeActionKind,
  CodeActionRequest,
  type CodeLens,
  CodeLensRequest,
  type CompletionItem,
  CompletionItemKind,
  CompletionRequest,
  DefinitionRequest,
  DocumentFormattingRequest,
  type DocumentSymbol,
  DocumentSymbolRequest,
  HoverRequest,
  type Location,
  MarkupKind,
  MessageType,
  type Position,
  PrepareRenameRequest,
  type ProtocolConnection,
  type Range,
  ReferencesRequest,
  RenameRequest,
  ResponseError,
  type ServerCapabilities,
  ShowMessageNotification,
  SymbolKind,
  type TextDocumentPositionParams,
  type TextEdit,
  WorkspaceSymbolRequest,
} from 'vscode-languageserver-protocol/node';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import { type ZodType, z } from 'zod';
import { FLEET_FILE } from '../fleet/fleet-file.ts';
import { realPath } from '../manifests/read-file.ts';
import { withoutLinks } from '../values/unsafe-text.ts';
import { type Suggestion, suggestionsAt } from './completion-items.ts';
import { NOT_LOADED } from './edited-project.ts';
import { documentOf, type EditorSession, rangeOf, shownDiagnostic } from './editor-session.ts';
import { TopicRequest, WorkspacesRequest } from './extension-requests.ts';
import { definitionsAt, referencesAt } from './find-references.ts';
import { hoverAt, topicAt } from './hover.ts';
import { type OpenFile, realFileOf } from './open-files.ts';
import { renamableAt, renameAt } from './rename.ts';
import { knownFile, type PlaceInFile, type ProjectSnapshot, type TextRange } from './snapshot.ts';
import { type FileSymbol, resourcesNamed, symbolsIn } from './symbols.ts';
import { fixesOf, formattingEdits } from './text-edits.ts';
import { usesOfText } from './text-files.ts';

export const REQUEST_CAPABILITIES: ServerCapabilities = {
  completionProvider: { triggerCharacters: ['$', '/', ' ', '{', '"', "'", '.', '('] },
  hoverProvider: true,
  definitionProvider: true,
  referencesProvider: true,
  renameProvider: { prepareProvider: true },
  documentFormattingProvider: true,
  codeActionProvider: { codeActionKinds: [CodeActionKind.QuickFix] },
  codeLensProvider: {},
  documentSymbolProvider: true,
  workspaceSymbolProvider: true,
};

const REQUEST_FAILED = -32803;
const CONTENT_MODIFIED = -32801;
const MAX_SYMBOLS = 200;
const MAX_NAMED_USERS = 3;

interface EditorRequests {
  readonly connection: ProtocolConnection;
  readonly session: EditorSession;
  /** Validates the parameters of a request, runs the work and redacts errors. Refuses requests before initialization and after shutdown. */
  answer<T>(schema: ZodType, params: unknown, work: () => T | Promise<T>): Promise<T | ResponseError<void>>;
  redact(text: string): string;
}

interface OpenedFile {
  readonly snapshot: ProjectSnapshot;
  /** Relative to the folder of the snapshot. */
  readonly file: string;
  readonly document: TextDocument;
}

/** `now` waits until all changes are loaded; `latest` uses the last load. */
type Freshness = 'now' | 'latest';

/** Registers the handlers of all requests about files and positions. */
export function listenToRequests({ connection, session, answer, redact }: EditorRequests): void {
  const checked =
    <P, T>(schema: ZodType, work: (params: P) => T | Promise<T>) =>
    (params: P) =>
      answer(schema, params, () => work(params));
  /** Creates the handler of a request about a position. The handler returns `none` for a file without a project. */
  const at = <P extends TextDocumentPositionParams, T, None>(
    { none, schema = atPosition, freshness = 'now' }: { none: None; schema?: ZodType; freshness?: Freshness },
    work: (found: OpenedFile & { readonly offset: number }, params: P) => T | Promise<T>,
  ) =>
    checked(schema, async (params: P): Promise<T | None> => {
      const found = await openedFile(session, params.textDocument.uri, freshness);
      return found === undefined ? none : work({ ...found, offset: found.document.offsetAt(params.position) }, params);
    });
  const locationOf = (snapshot: ProjectSnapshot, { file, ...range }: PlaceInFile): Location => {
    const document = documentIn(session, snapshot, file);
    return { uri: document.uri, range: rangeIn(document, range) };
  };
  const editIn = (document: TextDocument, { text, ...range }: TextRange & { readonly text: string }): TextEdit => ({
    range: rangeIn(document, range),
    newText: text,
  });

  connection.onRequest(
    CompletionRequest.type,
    at({ none: [], freshness: 'latest' }, ({ snapshot, file, offset, document }) =>
      suggestionsAt(snapshot, file, offset).map((each, index) => completionItem(each, { index, document, redact })),
    ),
  );
  connection.onRequest(
    HoverRequest.type,
    at({ none: null }, ({ snapshot, file, offset, document }) => {
      const hover = hoverAt(snapshot, file, offset);
      if (hover === undefined) return null;
      const value = redact(hover.paragraphs.join('\n\n'));
      return { contents: { kind: MarkupKind.Markdown, value }, range: rangeIn(document, hover.range) };
    }),
  );
  connection.onRequest(
    DefinitionRequest.type,
    at({ none: null }, ({ snapshot, file, offset }) =>
      definitionsAt(snapshot, file, offset).map((place) => locationOf(snapshot, place)),
    ),
  );
  connection.onRequest(
    ReferencesRequest.type,
    at({ none: null, schema: forReferences }, (found, { context }) =>
      referencesAt(found.snapshot, { ...found, withDeclaration: context.includeDeclaration }).map((place) =>
        locationOf(found.snapshot, place),
      ),
    ),
  );
  connection.onRequest(
    CodeLensRequest.type,
    checked(inFile, async ({ textDocument: { uri } }): Promise<CodeLens[]> => {
      const found = await openedFile(session, uri, 'now');
      const uses = found && usesOfText(found.snapshot, found.file);
      if (found === undefined || uses === undefined || uses.users.length === 0) return [];
      const { users, places } = uses;
      const start = { line: 0, character: 0 };
      const title = `Used by ${users.length > MAX_NAMED_USERS ? `${users.length} resources` : users.join(', ')}`;
      const locations = places.map((place) => locationOf(found.snapshot, place));
      const command = { title, command: session.showLocations, arguments: [uri, start, locations] };
      return [{ range: { start, end: start }, command }];
    }),
  );
  connection.onRequest(
    WorkspacesRequest,
    checked(inFile, async ({ textDocument: { uri } }) => (await session.workspacesAt(realFileOf(uri))) ?? null),
  );
  connection.onRequest(
    TopicRequest,
    at({ none: null }, ({ snapshot, file, offset }) => topicAt(snapshot, file, offset) ?? null),
  );
  connection.onRequest(
    PrepareRenameRequest.type,
    at({ none: null }, ({ snapshot, file, offset, document }) => {
      const name = renamableAt(snapshot, file, offset);
      if (name === undefined) return null;
      if ('refused' in name) return new ResponseError(REQUEST_FAILED, withoutLinks(redact(name.refused)));
      return { range: rangeIn(document, name.range), placeholder: name.name };
    }),
  );
  const noProject = new ResponseError(REQUEST_FAILED, 'the file does not belong to a project');
  connection.onRequest(
    RenameRequest.type,
    at({ none: noProject, schema: forRename }, async (found, { newName }) => {
      const before = versionsIn(session);
      const renaming = await renameAt(found.snapshot, { ...found, newName });
      if ('refused' in renaming) return new ResponseError(REQUEST_FAILED, withoutLinks(redact(renaming.refused)));
      if (versionsIn(session) !== before) return new ResponseError(CONTENT_MODIFIED, 'a file changed; rename again');
      const changes: Record<string, TextEdit[]> = {};
      for (const [file, edits] of Map.groupBy(renaming.edits, (each) => each.file)) {
        const document = documentIn(session, found.snapshot, file);
        changes[document.uri] = edits.map(({ start, end, text }) => editIn(document, { start, end, text }));
      }
      const message = redact(renaming.notes.join('\n'));
      if (message !== '')
        await connection.sendNotification(ShowMessageNotification.type, { type: MessageType.Info, message });
      return { changes };
    }),
  );
  connection.onRequest(
    DocumentFormattingRequest.type,
    checked(inFile, async ({ textDocument: { uri } }) => {
      const found = await openedFile(session, uri, 'latest');
      const known = found && knownFile(found.snapshot, found.file);
      if (found === undefined || (known?.role !== 'manifest' && known?.role !== 'project')) return null;
      return formattingEdits(found.file, known.text).map((change) => editIn(found.document, change));
    }),
  );
  connection.onRequest(
    CodeActionRequest.type,
    checked(forCodeActions, async ({ textDocument: { uri }, range, context: { only } }) => {
      const opened = session.files.get(uri);
      if (opened === undefined || only?.some((kind) => kind === CodeActionKind.QuickFix || kind === '') === false)
        return [];
      const { document } = opened;
      const found = await session.diagnosticsOf(opened);
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
          edit: { changes: { [uri]: [editIn(document, change)] } },
        }));
      });
    }),
  );
  connection.onRequest(
    DocumentSymbolRequest.type,
    checked(inFile, async ({ textDocument: { uri } }) => {
      const found = await openedFile(session, uri, 'latest');
      if (found === undefined) return [];
      return symbolsIn(found.snapshot, found.file).map((symbol) => shownSymbol(symbol, found.document));
    }),
  );
  connection.onRequest(
    WorkspaceSymbolRequest.type,
    checked(forQuery, async ({ query }) => {
      const snapshots = await session.projects();
      return snapshots.flatMap((snapshot) =>
        resourcesNamed(snapshot, query, MAX_SYMBOLS).map(({ name, ...place }) => ({
          name,
          kind: SYMBOL_KINDS.resource,
          location: locationOf(snapshot, place),
          containerName: place.file,
        })),
      );
    }),
  );
}

const position = z.object({ line: z.uint32(), character: z.uint32() });
export const inRange = z.object({ start: position, end: position });

/** The schemas of the request parameters that are used. */
export const inFile = z.object({ textDocument: z.object({ uri: z.string() }) });
const atPosition = inFile.extend({ position });
const forReferences = atPosition.extend({ context: z.object({ includeDeclaration: z.boolean() }) });
const forRename = atPosition.extend({ newName: z.string() });
const forQuery = z.object({ query: z.string() });
const forCodeActions = inFile.extend({
  range: inRange,
  context: z.object({ only: z.array(z.string()).optional() }),
});

async function openedFile(session: EditorSession, uri: string, freshness: Freshness): Promise<OpenedFile | undefined> {
  const opened = session.files.get(uri);
  if (opened?.file === undefined) return undefined;
  const loads = session.projectOf(opened);
  if (loads === undefined && path.basename(opened.file) !== FLEET_FILE) return undefined;
  const loaded = (freshness === 'latest' ? loads?.latest : undefined) ?? (await loads?.current());
  const known = loaded ?? withoutProject(opened.file);
  const file = path.relative(known.folder, opened.file).replaceAll(path.sep, '/');
  const { document } = opened;
  const textOf = (name: string): string | undefined => (name === file ? document.getText() : known.textOf(name));
  return { snapshot: { ...known, textOf }, file, document };
}

/** Returns a snapshot for a fleet file, or for a project that cannot be loaded. It contains only the folder. */
function withoutProject(file: string): ProjectSnapshot {
  return {
    ...NOT_LOADED,
    folder: path.dirname(file),
    diagnostics: [],
    textOf: () => undefined,
    namesOnPlatform: () => [],
    checkedWith: async () => ({ workspaces: [] }),
  };
}

function documentIn(session: EditorSession, { folder, textOf }: ProjectSnapshot, file: string): TextDocument {
  const real = realPath(path.resolve(folder, file));
  return session.files.ofFile(real)?.document ?? documentOf(session.files.uriOf(real), textOf(file) ?? '');
}

function rangeIn(document: TextDocument, { start, end }: TextRange): Range {
  const at = (offset: number): Position => document.positionAt(offset);
  return { start: at(start), end: at(end) };
}

function versionsIn({ files }: EditorSession): string {
  return files
    .all()
    .map(({ document: { uri, version } }: OpenFile) => `${uri} ${version}`)
    .join('\n');
}

const SYMBOL_KINDS: Readonly<Record<FileSymbol['is'], SymbolKind>> = {
  resource: SymbolKind.Class,
  section: SymbolKind.Module,
  entry: SymbolKind.Field,
};

function shownSymbol({ name, is, range, nameRange, children }: FileSymbol, document: TextDocument): DocumentSymbol {
  return {
    name,
    kind: SYMBOL_KINDS[is],
    range: rangeIn(document, range),
    selectionRange: rangeIn(document, nameRange),
    children: children.map((child) => shownSymbol(child, document)),
  };
}

const ITEM_KINDS: Readonly<Record<Suggestion['is'], CompletionItemKind>> = {
  field: CompletionItemKind.Field,
  value: CompletionItemKind.Value,
  form: CompletionItemKind.Keyword,
  reference: CompletionItemKind.Reference,
  file: CompletionItemKind.File,
  folder: CompletionItemKind.Folder,
  function: CompletionItemKind.Function,
  snippet: CompletionItemKind.Snippet,
};

interface ItemPlace extends Pick<EditorRequests, 'redact'> {
  readonly index: number;
  readonly document: TextDocument;
}

function completionItem(
  { label, is, detail, description, newText, range }: Suggestion,
  { index, document, redact }: ItemPlace,
): CompletionItem {
  return {
    label,
    kind: ITEM_KINDS[is],
    ...(detail !== '' && { detail: redact(detail) }),
    ...(description !== '' && { documentation: description }),
    // By default, editors sort by label, and filter by the replaced text, including its quotes.
    sortText: String(index).padStart(5, '0'),
    filterText: newText,
    textEdit: { range: rangeIn(document, range), newText },
  };
}
