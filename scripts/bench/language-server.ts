import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  CompletionRequest,
  createProtocolConnection,
  DidChangeTextDocumentNotification,
  DidOpenTextDocumentNotification,
  InitializeRequest,
  PublishDiagnosticsNotification,
  ShutdownRequest,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-languageserver-protocol/node';
import { median } from './processes.ts';
import type { Bench } from './report.ts';
import { BENCH_ENV, manifestText, writeProject } from './workload.ts';

const MANIFESTS = 1000;
const LINES = 500;
const CHANGES = 40;
/** The number of changes before V8 has compiled frequent code. */
const WARM_UP = 10;

/** Measures the time from a change of a large file to the response of the language server. */
export async function languageServer({ bin, folder, emit }: Bench): Promise<void> {
  const project = path.join(folder, 'edited');
  writeProject(project, MANIFESTS, 'http://127.0.0.1:9');
  const file = path.join(project, 'manifests', 'edited.yaml');
  const text = textOf(LINES);
  writeFileSync(file, text);
  const uri = pathToFileURL(file).href;
  const env = { PATH: process.env.PATH, HOME: folder, ...BENCH_ENV };
  const child = spawn(process.execPath, [bin, 'lsp'], {
    cwd: project,
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const reader = new StreamMessageReader(child.stdout);
  const connection = createProtocolConnection(reader, new StreamMessageWriter(child.stdin));
  let onDiagnostics: () => void = () => undefined;
  connection.onNotification(PublishDiagnosticsNotification.type, (params) => {
    if (params.uri === uri) onDiagnostics();
  });
  connection.listen();
  const next = () =>
    new Promise<void>((resolve) => {
      onDiagnostics = resolve;
    });
  await connection.sendRequest(InitializeRequest.type, {
    processId: process.pid,
    rootUri: null,
    capabilities: {},
  });
  const opened = next();
  const textDocument = { uri, languageId: 'yaml', version: 0, text: changed(text, 0) };
  await connection.sendNotification(DidOpenTextDocumentNotification.type, { textDocument });
  await opened;
  const diagnostics: number[] = [];
  const completions: number[] = [];
  const line = text.split('\n').findIndex((each) => each.includes('first_speaker'));
  for (let change = 1; change <= CHANGES; change++) {
    const shown = next();
    const began = performance.now();
    await connection.sendNotification(DidChangeTextDocumentNotification.type, {
      textDocument: { uri, version: change },
      contentChanges: [{ text: changed(text, change) }],
    });
    const position = { line, character: 4 };
    await connection.sendRequest(CompletionRequest.type, { textDocument: { uri }, position });
    completions.push(performance.now() - began);
    await shown;
    diagnostics.push(performance.now() - began);
  }
  await connection.sendRequest(ShutdownRequest.type);
  child.stdin.end();
  const row = { unit: 'ms', budget: 50 } as const;
  const what = `lsp, a file of ${LINES} lines among ${MANIFESTS}: from a change to`;
  emit({ ...row, what: `${what} its completion, median`, value: median(completions.slice(WARM_UP)) });
  emit({ ...row, what: `${what} its diagnostics, median`, value: median(diagnostics.slice(WARM_UP)) });
}

/** Changes the mistake in the file, so that every change produces new diagnostics. */
function changed(text: string, change: number): string {
  return text.replace('first_speaker', `first_speaker_${change}`);
}

function textOf(lines: number): string {
  let text = '';
  for (let index = 0; text.split('\n').length < lines; index++) {
    text += `${text === '' ? '' : '---\n'}${manifestText(MANIFESTS + index).replace(/name: .*\n/, `name: edited-${index}\n`)}`;
  }
  return text;
}
