import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import {
  createProtocolConnection,
  type Diagnostic,
  DidChangeTextDocumentNotification,
  DidOpenTextDocumentNotification,
  FileChangeType,
  type InitializeParams,
  InitializeRequest,
  type InitializeResult,
  LogMessageNotification,
  MessageType,
  type ProtocolConnection,
  PublishDiagnosticsNotification,
  ShowMessageNotification,
  ShutdownRequest,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-languageserver-protocol/node';
import { startHere } from '../cli/start-here.ts';
import { type Ended, start } from '../cli/voxform-process.ts';

interface EditorOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly initialize?: Partial<InitializeParams>;
  /** Where the server runs. By default, it runs in this process. */
  readonly in?: 'a process';
}

/** A running `voxform lsp`. */
interface Server {
  readonly input: Writable;
  readonly output: Readable;
  readonly ended: Promise<Omit<Ended, 'signal'>>;
  end(): void;
}

/** An editor that is connected to `voxform lsp`. */
export class TestEditor implements AsyncDisposable {
  readonly connection: ProtocolConnection;
  readonly folder: string;
  /** The messages to the user, and logged errors. */
  readonly messages: string[] = [];
  readonly #log: string[] = [];
  readonly #server: Server;
  readonly #published = new Map<string, readonly Diagnostic[]>();
  readonly #versions = new Map<string, number>();
  #waiting: (() => void)[] = [];

  private constructor(folder: string, server: Server) {
    this.folder = folder;
    this.#server = server;
    this.connection = createProtocolConnection(
      new StreamMessageReader(server.output),
      new StreamMessageWriter(server.input),
    );
    this.connection.onNotification(PublishDiagnosticsNotification.type, ({ uri, diagnostics }) => {
      this.#published.set(uri, diagnostics);
      this.#notifyWaiting();
    });
    const addMessage = ({ type, message }: { readonly type: MessageType; readonly message: string }): void => {
      (type === MessageType.Log ? this.#log : this.messages).push(message);
      this.#notifyWaiting();
    };
    this.connection.onNotification(ShowMessageNotification.type, addMessage);
    this.connection.onNotification(LogMessageNotification.type, addMessage);
    this.connection.listen();
  }

  /** Returns an editor that has sent no messages yet. */
  static start(folder: string, options: EditorOptions = {}): TestEditor {
    return new TestEditor(folder, (options.in === undefined ? serveHere : serveInProcess)(folder, options));
  }

  static async open(folder: string, options: EditorOptions = {}): Promise<TestEditor> {
    const editor = TestEditor.start(folder, options);
    await editor.initialize(options.initialize);
    return editor;
  }

  initialize(overrides: Partial<InitializeParams> = {}): Promise<InitializeResult> {
    const params = {
      processId: process.pid,
      rootUri: pathToFileURL(this.folder).href,
      capabilities: {},
      ...overrides,
    };
    return this.connection.sendRequest(InitializeRequest.type, params);
  }

  uri(file: string): string {
    return pathToFileURL(path.resolve(this.folder, file)).href;
  }

  async show(file: string, text: string): Promise<void> {
    const textDocument = { uri: this.uri(file), languageId: 'yaml', version: 1, text };
    this.#versions.set(file, 1);
    await this.connection.sendNotification(DidOpenTextDocumentNotification.type, { textDocument });
  }

  async type(file: string, text: string): Promise<void> {
    const version = (this.#versions.get(file) ?? 1) + 1;
    this.#versions.set(file, version);
    const textDocument = { uri: this.uri(file), version };
    await this.connection.sendNotification(DidChangeTextDocumentNotification.type, {
      textDocument,
      contentChanges: [{ text }],
    });
  }

  /** Returns the current diagnostics of a file. */
  shown(file: string): readonly Diagnostic[] {
    return this.#published.get(this.uri(file)) ?? [];
  }

  /** Returns the diagnostics of a file once they are as expected. */
  async diagnostics(
    file: string,
    isExpected: (shown: readonly Diagnostic[]) => boolean,
  ): Promise<readonly Diagnostic[]> {
    await this.until(() => isExpected(this.shown(file)));
    return this.shown(file);
  }

  /** Resolves once the server itself watches the files. */
  watching(): Promise<void> {
    return this.until(() => this.#log.some((line) => line.startsWith('Watching')));
  }

  /** Resolves once a condition on the messages of the server holds. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Exits as the protocol requires. */
  async leave(): Server['ended'] {
    await this.connection.sendRequest(ShutdownRequest.type);
    await this.connection.sendNotification('exit');
    return this.#server.ended;
  }

  async exit(): Server['ended'] {
    await this.connection.sendNotification('exit');
    return this.#server.ended;
  }

  async shutdownAndVanish(): Server['ended'] {
    await this.connection.sendRequest(ShutdownRequest.type);
    return this.vanish();
  }

  /** Notifies the server that these files changed on the disk. */
  async tellOf(files: readonly string[]): Promise<void> {
    const changes = files.map((file) => ({ uri: this.uri(file), type: FileChangeType.Changed }));
    await this.connection.sendNotification('workspace/didChangeWatchedFiles', { changes });
  }

  /** Closes the connection without a message. */
  vanish(): Server['ended'] {
    this.#server.input.end();
    return this.#server.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.connection.dispose();
    this.#server.end();
    await this.#server.ended;
  }

  #notifyWaiting(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

function serveInProcess(folder: string, { args = [], env = {} }: EditorOptions): Server {
  const { child, ended } = start(['lsp', ...args], { cwd: folder, env, input: { open: true } });
  if (child.stdin === null || child.stdout === null) throw new Error('the process has no streams');
  return { input: child.stdin, output: child.stdout, ended, end: () => void child.kill('SIGKILL') };
}

function serveHere(folder: string, { args = [], env = {} }: EditorOptions): Server {
  const { stdin, stdout, ended, interrupts } = startHere(['lsp', ...args], { cwd: folder, env });
  return { input: stdin, output: stdout, ended, end: () => interrupts.raise('SIGTERM') };
}

/** Returns the messages with lines and columns from 1, as `validate` prints them. */
export function messagesOf(diagnostics: readonly Diagnostic[]): string[] {
  return diagnostics.map(({ range: { start }, message }) => `${start.line + 1}:${start.character + 1}  ${message}`);
}
