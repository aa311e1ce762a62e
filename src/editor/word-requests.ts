import path from 'node:path';
import {
  type CompletionItem,
  CompletionItemKind,
  CompletionRequest,
  DefinitionRequest,
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
  type TextDocumentPositionParams,
  type TextEdit,
} from 'vscode-languageserver-protocol/node';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import type { ZodType } from 'zod';
import { FLEET_FILE } from '../fleet/fleet-file.ts';
import { realPath } from '../manifests/read-file.ts';
import type { PlacedAddress } from './address-places.ts';
import { type Suggestion, suggestionsAt } from './completion-items.ts';
import type { EditorSession } from './editor-session.ts';
import { addressAt, placesIn, placesOfValue, referencesAt, valueAt } from './find-references.ts';
import { hoverAt } from './hover.ts';
import { NOT_LOADED } from './last-good.ts';
import type { OpenFile } from './open-files.ts';
import { renamableAt, renameAt } from './rename.ts';
import { atPosition, forReferences, forRename } from './request-params.ts';
import { documentOf } from './shown-diagnostics.ts';
import type { PlaceInFile, ProjectSnapshot, TextRange } from './snapshot.ts';

export const WORD_CAPABILITIES: ServerCapabilities = {
  completionProvider: { triggerCharacters: ['$', '/', ' ', '{', '"', "'", '.', '('] },
  hoverProvider: true,
  definitionProvider: true,
  referencesProvider: true,
  renameProvider: { prepareProvider: true },
};

const REQUEST_FAILED = -32803;
const CONTENT_MODIFIED = -32801;

export interface EditorRequests {
  readonly connection: ProtocolConnection;
  readonly session: EditorSession;
  /** Validates the parameters of a request and answers it in order, without secrets. */
  answer<T>(schema: ZodType, params: unknown, work: () => T | Promise<T>): Promise<T | ResponseError<void>>;
  redact(text: string): string;
}

interface RequestTarget {
  readonly snapshot: ProjectSnapshot;
  /** Relative to the folder of the snapshot. */
  readonly file: string;
  readonly offset: number;
  readonly document: TextDocument;
}

/** Handles completion, hover, definition, reference and rename requests. */
export function listenToWords({ connection, session, answer, redact }: EditorRequests): void {
  const at = (params: TextDocumentPositionParams, freshness: Freshness = 'now') =>
    requestTarget(session, params, freshness);
  const locationOf = (snapshot: ProjectSnapshot, { file, ...range }: PlaceInFile): Location => {
    const document = documentIn(session, snapshot, file);
    return { uri: document.uri, range: rangeIn(document, range) };
  };

  connection.onRequest(CompletionRequest.type, (params) =>
    answer(atPosition, params, async () => {
      const found = await at(params, 'latest');
      if (found === undefined) return [];
      const suggestions = suggestionsAt(found.snapshot, found.file, found.offset);
      return suggestions.map((each, index) => completionItem(each, { index, document: found.document, redact }));
    }),
  );
  connection.onRequest(HoverRequest.type, (params) =>
    answer(atPosition, params, async () => {
      const found = await at(params);
      const hover = found && hoverAt(found.snapshot, found.file, found.offset);
      if (found === undefined || hover === undefined) return null;
      const value = redact(hover.paragraphs.join('\n\n'));
      return { contents: { kind: MarkupKind.Markdown, value }, range: rangeIn(found.document, hover.range) };
    }),
  );
  connection.onRequest(DefinitionRequest.type, (params) =>
    answer(atPosition, params, async () => {
      const found = await at(params);
      if (found === undefined) return null;
      const { snapshot, file, offset } = found;
      return definitionsAt(snapshot, file, offset).map((place) => locationOf(snapshot, place));
    }),
  );
  connection.onRequest(ReferencesRequest.type, (params) =>
    answer(forReferences, params, async () => {
      const found = await at(params);
      if (found === undefined) return null;
      const withDeclaration = params.context.includeDeclaration;
      const places = referencesAt(found.snapshot, { ...found, withDeclaration });
      return places.map((place) => locationOf(found.snapshot, place));
    }),
  );
  connection.onRequest(PrepareRenameRequest.type, (params) =>
    answer(atPosition, params, async () => {
      const found = await at(params);
      const name = found && renamableAt(found.snapshot, found.file, found.offset);
      if (found === undefined || name === undefined) return null;
      if ('refused' in name) return new ResponseError(REQUEST_FAILED, redact(name.refused));
      return { range: rangeIn(found.document, name.range), placeholder: name.name };
    }),
  );
  connection.onRequest(RenameRequest.type, (params) =>
    answer(forRename, params, async () => {
      const found = await at(params);
      if (found === undefined) return new ResponseError(REQUEST_FAILED, 'this file belongs to no project');
      const before = versionsIn(session);
      const renaming = await renameAt(found.snapshot, { ...found, newName: params.newName });
      if ('refused' in renaming) return new ResponseError(REQUEST_FAILED, redact(renaming.refused));
      if (versionsIn(session) !== before) return new ResponseError(CONTENT_MODIFIED, 'a file changed; rename again');
      const changes: Record<string, TextEdit[]> = {};
      for (const [file, edits] of Map.groupBy(renaming.edits, (each) => each.file)) {
        const document = documentIn(session, found.snapshot, file);
        changes[document.uri] = edits.map(({ text, ...range }) => ({
          range: rangeIn(document, range),
          newText: text,
        }));
      }
      const message = redact(renaming.notes.join('\n'));
      if (message !== '')
        await connection.sendNotification(ShowMessageNotification.type, { type: MessageType.Info, message });
      return { changes };
    }),
  );
}

/** `latest` does not wait for recent changes of other files. */
type Freshness = 'now' | 'latest';

async function requestTarget(
  session: EditorSession,
  { textDocument, position }: TextDocumentPositionParams,
  freshness: Freshness,
): Promise<RequestTarget | undefined> {
  const found = await openedFile(session, textDocument.uri, freshness);
  return found && { ...found, offset: found.document.offsetAt(position) };
}

export async function openedFile(
  session: EditorSession,
  uri: string,
  freshness: Freshness = 'now',
): Promise<Omit<RequestTarget, 'offset'> | undefined> {
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

/** For a fleet file, and for a project that cannot be loaded: only the text of the file is known. */
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

export function documentIn(session: EditorSession, { folder, textOf }: ProjectSnapshot, file: string): TextDocument {
  const real = realPath(path.resolve(folder, file));
  return session.files.ofFile(real)?.document ?? documentOf(session.files.uriOf(real), textOf(file) ?? '');
}

export function rangeIn(document: TextDocument, { start, end }: TextRange): Range {
  const at = (offset: number): Position => document.positionAt(offset);
  return { start: at(start), end: at(end) };
}

function versionsIn({ files }: EditorSession): string {
  return files
    .all()
    .map(({ document: { uri, version } }: OpenFile) => `${uri} ${version}`)
    .join('\n');
}

const ITEM_KINDS: Readonly<Record<Suggestion['is'], CompletionItemKind>> = {
  field: CompletionItemKind.Field,
  value: CompletionItemKind.Value,
  form: CompletionItemKind.Keyword,
  reference: CompletionItemKind.Reference,
  file: CompletionItemKind.File,
  folder: CompletionItemKind.Folder,
  function: CompletionItemKind.Function,
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
    // By default, editors sort by the label, and filter by the replaced text including quotes.
    sortText: String(index).padStart(5, '0'),
    filterText: newText,
    textEdit: { range: rangeIn(document, range), newText },
  };
}

/** The definition of the name at an offset: `metadata.name` of an address, the project file for a variable, the start of a file. */
export function definitionsAt(snapshot: ProjectSnapshot, file: string, offset: number): readonly PlaceInFile[] {
  const address = addressAt(snapshot, file, offset);
  if (address !== undefined) return declarationsOf(snapshot, address);
  const value = valueAt(snapshot, file, offset);
  if (value === undefined) return [];
  if (value.is === 'file')
    return snapshot.textOf(value.name) === undefined ? [] : [{ file: value.name, start: 0, end: 0 }];
  // The definitions in all workspaces, the selected one first.
  const isSelected = ({ declaredFor }: { readonly declaredFor: string | undefined }): number =>
    Number(declaredFor === snapshot.workspace?.name);
  return placesOfValue(snapshot, value)
    .filter(({ declaredFor }) => declaredFor !== undefined)
    .sort((a, b) => isSelected(b) - isSelected(a))
    .map(({ file: at, range }) => ({ file: at, ...range }));
}

/** The declarations of a name or a former name; several if it is declared twice. */
function declarationsOf(snapshot: ProjectSnapshot, { kind, name }: PlacedAddress): readonly PlaceInFile[] {
  const declared = snapshot.declarations.filter(
    ({ kind: of, metadata }) => of.name === kind && (metadata.name === name || metadata.previous_names?.includes(name)),
  );
  const names = new Set(declared.map(({ metadata }) => metadata.name));
  return [...new Set(declared.map(({ source }) => source.file))].flatMap((file) =>
    placesIn(snapshot, file)
      .filter((place) => place.is === 'declaration' && place.kind === kind && names.has(place.name))
      .map(({ range }) => ({ file, ...range })),
  );
}
