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

interface Starting {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly initialize?: Partial<InitializeParams>;
  /** Where it runs; in this process unless that is what is tested. */
  readonly in?: 'a process';
}

/** `voxform lsp`, wherever it runs. */
interface Served {
  readonly input: Writable;
  readonly output: Readable;
  readonly ended: Promise<Omit<Ended, 'signal'>>;
  end(): void;
}

/** An editor that speaks to `voxform lsp`. */
export class TestEditor implements AsyncDisposable {
  readonly connection: ProtocolConnection;
  readonly folder: string;
  /** What was shown, and the errors that were logged. */
  readonly messages: string[] = [];
  readonly #log: string[] = [];
  readonly #served: Served;
  readonly #published = new Map<string, readonly Diagnostic[]>();
  readonly #versions = new Map<string, number>();
  #waiting: (() => void)[] = [];

  private constructor(folder: string, served: Served) {
    this.folder = folder;
    this.#served = served;
    this.connection = createProtocolConnection(
      new StreamMessageReader(served.output),
      new StreamMessageWriter(served.input),
    );
    this.connection.onNotification(PublishDiagnosticsNotification.type, ({ uri, diagnostics }) => {
      this.#published.set(uri, diagnostics);
      this.#heard();
    });
    const hear = ({ type, message }: { readonly type: MessageType; readonly message: string }): void => {
      (type === MessageType.Log ? this.#log : this.messages).push(message);
      this.#heard();
    };
    this.connection.onNotification(ShowMessageNotification.type, hear);
    this.connection.onNotification(LogMessageNotification.type, hear);
    this.connection.listen();
  }

  /** One that has said nothing yet. */
  static start(folder: string, starting: Starting = {}): TestEditor {
    return new TestEditor(folder, (starting.in === undefined ? servedHere : servedApart)(folder, starting));
  }

  static async open(folder: string, starting: Starting = {}): Promise<TestEditor> {
    const editor = TestEditor.start(folder, starting);
    await editor.initialize(starting.initialize);
    return editor;
  }

  initialize(given: Partial<InitializeParams> = {}): Promise<InitializeResult> {
    const params = {
      processId: process.pid,
      rootUri: pathToFileURL(this.folder).href,
      capabilities: {},
      ...given,
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

  /** What is shown for a file now. */
  shown(file: string): readonly Diagnostic[] {
    return this.#published.get(this.uri(file)) ?? [];
  }

  /** What is shown for a file as soon as it is as expected. */
  async diagnostics(
    file: string,
    isExpected: (shown: readonly Diagnostic[]) => boolean,
  ): Promise<readonly Diagnostic[]> {
    await this.until(() => isExpected(this.shown(file)));
    return this.shown(file);
  }

  /** Resolves as soon as the server itself looks after the files. */
  watching(): Promise<void> {
    return this.until(() => this.#log.some((line) => line.startsWith('Watching')));
  }

  /** Resolves as soon as something holds of what the server has said. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Leaves as the protocol says. */
  async leave(): Served['ended'] {
    await this.connection.sendRequest(ShutdownRequest.type);
    await this.connection.sendNotification('exit');
    return this.#served.ended;
  }

  async exit(): Served['ended'] {
    await this.connection.sendNotification('exit');
    return this.#served.ended;
  }

  async shutdownAndVanish(): Served['ended'] {
    await this.connection.sendRequest(ShutdownRequest.type);
    return this.vanish();
  }

  /** Tells that these files changed on the disk. */
  async tellOf(files: readonly string[]): Promise<void> {
    const changes = files.map((file) => ({ uri: this.uri(file), type: FileChangeType.Changed }));
    await this.connection.sendNotification('workspace/didChangeWatchedFiles', { changes });
  }

  /** Goes away without a word. */
  vanish(): Served['ended'] {
    this.#served.input.end();
    return this.#served.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.connection.dispose();
    this.#served.end();
    await this.#served.ended;
  }

  #heard(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

function servedApart(folder: string, { args = [], env = {} }: Starting): Served {
  const { child, ended } = start(['lsp', ...args], { cwd: folder, env, input: { open: true } });
  if (child.stdin === null || child.stdout === null) throw new Error('the process has no streams');
  return { input: child.stdin, output: child.stdout, ended, end: () => void child.kill('SIGKILL') };
}

function servedHere(folder: string, { args = [], env = {} }: Starting): Served {
  const { stdin, stdout, ended, interrupts } = startHere(['lsp', ...args], { cwd: folder, env });
  return { input: stdin, output: stdout, ended, end: () => interrupts.raise('SIGTERM') };
}

/** The messages with their lines and columns from 1, as `validate` prints them. */
export function told(diagnostics: readonly Diagnostic[]): string[] {
  return diagnostics.map(({ range: { start }, message }) => `${start.line + 1}:${start.character + 1}  ${message}`);
}
