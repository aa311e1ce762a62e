import type { Readable, Writable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import {
  createProtocolConnection,
  DidChangeTextDocumentNotification,
  DidChangeWatchedFilesNotification,
  DidChangeWorkspaceFoldersNotification,
  DidCloseTextDocumentNotification,
  DidOpenTextDocumentNotification,
  DidSaveTextDocumentNotification,
  DocumentFormattingRequest,
  ExitNotification,
  InitializedNotification,
  type InitializeParams,
  InitializeRequest,
  type InitializeResult,
  LogMessageNotification,
  MessageType,
  type NotificationHandler,
  type ProtocolConnection,
  type ProtocolNotificationType,
  PublishDiagnosticsNotification,
  RegistrationRequest,
  ResponseError,
  ShowMessageNotification,
  ShutdownRequest,
  StreamMessageWriter,
  TextDocumentSyncKind,
  UnregistrationRequest,
} from 'vscode-languageserver-protocol/node';
import { TextDocument } from 'vscode-languageserver-textdocument';
import { type ZodType, z } from 'zod';
import { errorMessage } from '../problems/error-code.ts';
import { defaultManifests } from '../project/check-project.ts';
import { PROJECT_FILES } from '../project/find-project.ts';
import { withoutLinks } from '../values/unsafe-text.ts';
import { VERSION } from '../version.ts';
import { EditorSession, type EditorSessionOptions } from './editor-session.ts';
import { MessageReader } from './message-reader.ts';
import { realFileOf } from './open-files.ts';
import { inFile, inRange, listenToRequests, REQUEST_CAPABILITIES } from './requests.ts';
import type { ProjectSnapshot } from './snapshot.ts';

interface ServerOptions extends EditorSessionOptions {
  readonly input: Readable;
  readonly output: Writable;
  /** The requested workspace. A workspace that the editor requests takes precedence. */
  readonly workspace: string | undefined;
  readonly signal: AbortSignal;
}

const NOT_INITIALIZED = -32002;
const INVALID_REQUEST = -32600;
const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;

/**
 * Runs the language server (LSP) for an editor until the editor exits or the signal aborts. Writes only protocol messages.
 * @returns true if the editor sent a shutdown request before it exited.
 */
export async function serveEditor(options: ServerOptions): Promise<boolean> {
  const server = new EditorServer(options);
  try {
    return await server.run();
  } finally {
    await server.close();
  }
}

class EditorServer {
  readonly #options: ServerOptions;
  readonly #connection: ProtocolConnection;
  readonly #session: EditorSession;
  #isClosed = false;
  #reportsFileChanges = false;
  /** The patterns of files for which formatting is offered, by folder; undefined if the editor does not support relative patterns. */
  #formatted: Map<string, readonly string[]> | undefined;
  #state: 'new' | 'running' | 'shut down' = 'new';

  constructor(options: ServerOptions) {
    this.#options = options;
    const { input, output } = options;
    this.#connection = createProtocolConnection(new MessageReader(input), new StreamMessageWriter(output));
    this.#session = new EditorSession(options, {
      diagnostics: (uri, version, diagnostics) =>
        void this.#send(() =>
          this.#connection.sendNotification(PublishDiagnosticsNotification.type, {
            uri,
            ...(version !== undefined && { version }),
            diagnostics: [...diagnostics],
          }),
        ),
      loaded: (snapshot) => this.#offerFormatting(snapshot),
      notice: (text) => {
        const message = withoutLinks(this.#redact(text));
        const type = MessageType.Warning;
        void this.#send(() => this.#connection.sendNotification(ShowMessageNotification.type, { type, message }));
      },
      log: (text) => void this.#log(MessageType.Log, text),
      failure: (error) => this.#logError(error),
    });
    this.#listen();
  }

  run(): Promise<boolean> {
    const { signal, input } = this.#options;
    const connection = this.#connection;
    return new Promise((resolve) => {
      const finish = () => resolve(this.#state === 'shut down');
      connection.onNotification(ExitNotification.type, finish);
      connection.onClose(finish);
      // The rest of the stream cannot be parsed, so the server exits. The editor then restarts it.
      connection.onError(([error]) => void this.#log(MessageType.Error, error.message).finally(finish));
      input.once('end', finish).once('error', finish);
      signal.addEventListener('abort', finish, { once: true });
      if (signal.aborted) finish();
      connection.listen();
    });
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#connection.dispose();
    return this.#session.close();
  }

  #listen(): void {
    const connection = this.#connection;
    connection.onRequest(InitializeRequest.type, (params) => this.#initialize(params));
    connection.onNotification(InitializedNotification.type, () => this.#watchFiles());
    connection.onRequest(ShutdownRequest.type, () => {
      this.#state = 'shut down';
    });
    this.#listenToFiles();
    listenToRequests({
      connection,
      session: this.#session,
      answer: this.#answer.bind(this),
      redact: (text: string) => this.#redact(text),
    });
  }

  #listenToFiles(): void {
    const { files } = this.#session;
    this.#on(DidOpenTextDocumentNotification.type, forOpen, ({ textDocument: { uri, languageId, version, text } }) => {
      this.#session.changed(files.open(uri, languageId, version, text));
    });
    this.#on(DidChangeTextDocumentNotification.type, forChange, ({ textDocument, contentChanges }) => {
      const opened = files.get(textDocument.uri);
      if (opened === undefined) return;
      TextDocument.update(opened.document, contentChanges, textDocument.version);
      this.#session.changed(opened);
    });
    this.#on(DidCloseTextDocumentNotification.type, inFile, ({ textDocument: { uri } }) => {
      const opened = files.get(uri);
      if (opened !== undefined) this.#session.closed(opened);
    });
    this.#on(DidSaveTextDocumentNotification.type, inFile, ({ textDocument: { uri } }) => {
      this.#changedOnDisk([uri]);
    });
    this.#on(DidChangeWatchedFilesNotification.type, forWatchedFiles, ({ changes }) => {
      this.#changedOnDisk(changes.map(({ uri }) => uri));
    });
    this.#on(DidChangeWorkspaceFoldersNotification.type, forFolders, ({ event }) => {
      for (const { uri } of event.removed) files.removeFolder(uri);
      for (const { uri } of event.added) files.addFolder(uri);
      this.#session.changedOnDisk('all');
    });
  }

  #changedOnDisk(uris: readonly string[]): void {
    const files = uris.map(realFileOf).filter((file) => file !== undefined);
    if (files.length > 0) this.#session.changedOnDisk(files);
  }

  #initialize(params: InitializeParams): InitializeResult {
    if (this.#state !== 'new') throw new ResponseError(INVALID_REQUEST, 'already initialized');
    const problem = paramsProblem(forInitialize, params);
    if (problem !== undefined) throw new ResponseError(INVALID_PARAMS, problem);
    this.#state = 'running';
    const { initializationOptions: initOptions, workspaceFolders, rootUri, capabilities } = params;
    const { workspace: named, showLocations } = forEditor.parse(initOptions ?? {});
    const workspace = named || this.#options.workspace;
    this.#reportsFileChanges = capabilities.workspace?.didChangeWatchedFiles?.dynamicRegistration === true;
    const { formatting, filters } = capabilities.textDocument ?? {};
    const choosesFiles = formatting?.dynamicRegistration === true && filters?.relativePatternSupport === true;
    if (choosesFiles) this.#formatted = new Map();
    this.#session.begin({ workspace, reportsFileChanges: this.#reportsFileChanges, showLocations });
    const folders = workspaceFolders?.map(({ uri }) => uri) ?? (rootUri == null ? [] : [rootUri]);
    for (const uri of folders) this.#session.files.addFolder(uri);
    return {
      capabilities: {
        positionEncoding: 'utf-16',
        textDocumentSync: { openClose: true, change: TextDocumentSyncKind.Incremental, save: true },
        ...REQUEST_CAPABILITIES,
        documentFormattingProvider: !choosesFiles,
        workspace: { workspaceFolders: { supported: true, changeNotifications: true } },
      },
      serverInfo: { name: 'voxform', version: VERSION },
    };
  }

  #watchFiles(): void {
    if (!this.#reportsFileChanges) return;
    const registerOptions = { watchers: [{ globPattern: '**/*' }] };
    const { method } = DidChangeWatchedFilesNotification.type;
    this.#connection
      .sendRequest(RegistrationRequest.type, { registrations: [{ id: method, method, registerOptions }] })
      .catch((error: unknown) => this.#logError(error));
  }

  /** Offers formatting only for the files of a project, because other files have other formatters. */
  #offerFormatting({ folder, project }: ProjectSnapshot): void {
    const patterns = [...PROJECT_FILES, ...(project?.manifests ?? defaultManifests)];
    const before = this.#formatted?.get(folder);
    if (this.#formatted === undefined || isDeepStrictEqual(before, patterns)) return;
    this.#formatted.set(folder, patterns);
    const { method } = DocumentFormattingRequest.type;
    const id = `${method} ${folder}`;
    const baseUri = this.#session.files.uriOf(folder);
    const documentSelector = patterns.flatMap((pattern) =>
      ['yaml', 'json'].map((language) => ({ scheme: 'file', language, pattern: { baseUri, pattern } })),
    );
    const unregistration =
      before && this.#connection.sendRequest(UnregistrationRequest.type, { unregisterations: [{ id, method }] });
    const registration = this.#connection.sendRequest(RegistrationRequest.type, {
      registrations: [{ id, method, registerOptions: { documentSelector } }],
    });
    Promise.all([unregistration, registration]).catch((error: unknown) => this.#logError(error));
  }

  /** Validates and answers a request. Rejects it before initialization and after shutdown. Redacts secrets from errors. */
  async #answer<T>(schema: ZodType, params: unknown, work: () => T | Promise<T>): Promise<T | ResponseError<void>> {
    if (this.#state === 'new') return new ResponseError(NOT_INITIALIZED, 'not initialized');
    if (this.#state === 'shut down') return new ResponseError(INVALID_REQUEST, 'shut down');
    const problem = paramsProblem(schema, params);
    if (problem !== undefined) return new ResponseError(INVALID_PARAMS, problem);
    try {
      return await work();
    } catch (error) {
      this.#logError(error);
      return new ResponseError(INTERNAL_ERROR, this.#redact(errorMessage(error)));
    }
  }

  /** Registers the handler of a notification. Ignores notifications with invalid parameters, which have no response. */
  #on<P, RO>(type: ProtocolNotificationType<P, RO>, schema: ZodType, handler: NotificationHandler<P>): void {
    this.#connection.onNotification(type, (params) => {
      if (this.#state !== 'running') return;
      const problem = paramsProblem(schema, params);
      if (problem !== undefined) return void this.#log(MessageType.Warning, `ignored ${type.method}: ${problem}`);
      try {
        handler(params);
      } catch (error) {
        this.#logError(error);
      }
    });
  }

  /** Sends a message unless the server is closed. Ignores errors, because the editor may have exited. */
  async #send(send: () => Promise<void>): Promise<void> {
    if (!this.#isClosed) await send().catch(() => undefined);
  }

  #logError(error: unknown): void {
    void this.#log(MessageType.Error, error instanceof Error ? (error.stack ?? error.message) : String(error));
  }

  #log(type: MessageType, text: string): Promise<void> {
    const message = this.#redact(text);
    return this.#send(() => this.#connection.sendNotification(LogMessageNotification.type, { type, message }));
  }

  #redact(text: string): string {
    return this.#options.redactor.redact(text);
  }
}

const withUri = z.object({ uri: z.string() });

const forInitialize = z.object({
  capabilities: z.looseObject({}),
  rootUri: z.string().nullish(),
  workspaceFolders: z.array(withUri).nullish(),
});

const forOpen = z.object({
  textDocument: withUri.extend({ languageId: z.string(), version: z.int(), text: z.string() }),
});
const forChange = z.object({
  textDocument: withUri.extend({ version: z.int() }),
  contentChanges: z.array(z.object({ text: z.string(), range: inRange.optional() })),
});
const forWatchedFiles = z.object({ changes: z.array(withUri) });
const forFolders = z.object({ event: z.object({ added: z.array(withUri), removed: z.array(withUri) }) });

/** Invalid options are ignored. */
const forEditor = z
  .object({ workspace: z.string().optional().catch(undefined), showLocations: z.string().catch('') })
  .catch({ workspace: undefined, showLocations: '' });

/** Describes the first invalid parameter of a request; undefined if all are valid. */
function paramsProblem(schema: z.ZodType, params: unknown): string | undefined {
  const issue = schema.safeParse(params).error?.issues[0];
  return issue && `${['params', ...issue.path].join('.')} is missing or invalid`;
}
