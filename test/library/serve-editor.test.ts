import { PassThrough } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  createProtocolConnection,
  InitializeRequest,
  ShutdownRequest,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-languageserver-protocol/node';
import { serveEditor } from '../../src/library.ts';
import { editedProject, misspelt } from '../editor/edited-project.ts';

describe('serveEditor', () => {
  it('runs a language server in this process, which continues when the editor disconnects', async () => {
    const text = misspelt.replace('  nmae: day\n', '  nmae: { $env: constructor }\n');
    await using folder = await editedProject({ 'manifests/a.yaml': text });
    const [input, output] = [new PassThrough(), new PassThrough()];
    const served = serveEditor({ input, output });
    const editor = createProtocolConnection(new StreamMessageReader(output), new StreamMessageWriter(input));
    const told = new Promise((resolve) => editor.onNotification('textDocument/publishDiagnostics', resolve));
    editor.listen();
    await editor.sendRequest(InitializeRequest.type, { processId: null, rootUri: null, capabilities: {} });
    const uri = pathToFileURL(`${folder.root}/manifests/a.yaml`).href;
    const textDocument = { uri, languageId: 'yaml', version: 1, text };
    await editor.sendNotification('textDocument/didOpen', { textDocument });
    expect(await told).toMatchObject({ uri, diagnostics: [{ code: 'unknown-field' }] });
    await editor.sendRequest(ShutdownRequest.type);
    await editor.sendNotification('exit');
    expect(await served).toBe(true);
    editor.dispose();
  });

  it.each(['signal', 'input'] as const)(
    'ends with its %s, and reports that the editor did not shut it down',
    async (end) => {
      const [input, output, abort] = [new PassThrough(), new PassThrough(), new AbortController()];
      const served = serveEditor({ input, output, signal: abort.signal });
      if (end === 'signal') abort.abort();
      else input.end();
      output.resume();
      expect(await served).toBe(false);
    },
  );
});
