import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { WorkspacesRequest } from '../../src/editor/extension-requests.ts';
import { start, temporaryFolder, voxform } from '../cli/voxform-process.ts';
import { agentManifest } from '../cli/workspace.ts';
import { agent, editedProject, misspelt, projectText } from './edited-project.ts';
import { messagesOf, TestEditor } from './test-editor.ts';

const some = ({ length }: readonly unknown[]): boolean => length > 0;
const none = ({ length }: readonly unknown[]): boolean => length === 0;

const WATCHES_FILES = { workspace: { didChangeWatchedFiles: { dynamicRegistration: true } } };

describe('voxform lsp', () => {
  it('reports the problems of validate in manifests, project file, policies and unmatched files', {
    tags: ['long'],
  }, async () => {
    await using folder = await editedProject({
      'voxform.yaml': `${projectText}policies:\n  - { name: has-model, kind: Agent, deny: "!has(spec.llm_config)" }\n  - { name: bad, deny: "spec.nmae == 'x'" }\n`,
      'manifests/a.yaml': agent,
      'manifests/b.yaml': agentManifest('night').replace('Be kind.', '{ $var: compani }'),
      'manifests/broken.yaml': 'kind: [',
      'other/stray.yaml': agent,
    });
    const { stdout } = await voxform(['validate', '--output', 'json'], { cwd: folder.root });
    const validated = JSON.parse(stdout).diagnostics.map(
      ({ file, line = 1, column = 1, message }: Record<string, string | number>) =>
        `${file}:${line}:${column}  ${message}`,
    );
    expect(validated.length).toBeGreaterThan(2);
    await using editor = await TestEditor.open(folder.root, { in: 'a process' });
    await editor.show('voxform.yaml', await readFile(path.join(folder.root, 'voxform.yaml'), 'utf8'));
    const files = ['voxform.yaml', 'manifests/a.yaml', 'manifests/b.yaml', 'manifests/broken.yaml', 'other/stray.yaml'];
    const all = () => files.flatMap((file) => messagesOf(editor.shown(file)).map((text) => `${file}:${text}`));
    await editor.until(() => all().length === validated.length);
    expect(all().toSorted()).toEqual(validated.toSorted());
  });

  it('follows edits, also while the file is invalid', { tags: ['long'] }, async () => {
    await using folder = await editedProject({ 'manifests/a.yaml': agent });
    await using editor = await TestEditor.open(folder.root, { in: 'a process' });
    await editor.show('manifests/a.yaml', misspelt);
    expect(messagesOf(await editor.diagnostics('manifests/a.yaml', some))).toEqual([
      '6:3  unknown field "nmae"; did you mean "name"?',
    ]);
    await editor.type('manifests/a.yaml', `${agent}  x: [`);
    await editor.diagnostics('manifests/a.yaml', ([first]) => first?.code === 'yaml-syntax');
    await editor.type('manifests/a.yaml', agent);
    await editor.diagnostics('manifests/a.yaml', none);
    const { code, stderr } = await editor.leave();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('keeps resources to which other files refer while their file is invalid', async () => {
    const number = `apiVersion: voxform/v1\nkind: PhoneNumber\nmetadata: { name: main }\nspec: { number: "+12025550101", inbound_agent_id: { $ref: Agent/dya } }\n`;
    await using folder = await editedProject({ 'manifests/a.yaml': agent, 'manifests/n.yaml': number });
    await using editor = await TestEditor.open(folder.root);
    await editor.show('manifests/n.yaml', number);
    expect(messagesOf(await editor.diagnostics('manifests/n.yaml', some))).toEqual([
      '4:59  no manifest declares Agent/dya; did you mean "Agent/day"?',
    ]);
    await editor.show('manifests/a.yaml', 'kind: [');
    await editor.diagnostics('manifests/a.yaml', some);
  });

  it('uses the text of an open prompt, and of a manifest that is not saved yet', async () => {
    const manifest = agentManifest('day').replace('"Be kind."', '{ $file: ../prompts/day.md }');
    await using folder = await editedProject({ 'manifests/a.yaml': manifest });
    await using editor = await TestEditor.open(folder.root);
    await editor.show('manifests/a.yaml', manifest);
    expect(messagesOf(await editor.diagnostics('manifests/a.yaml', some)).join()).toContain('no such file');
    await folder.write('prompts/other.md', '');
    await editor.show('prompts/day.md', 'Be kind.');
    await editor.diagnostics('manifests/a.yaml', none);
    await editor.show('manifests/new.yaml', misspelt.replace('name: day', 'name: new'));
    await editor.diagnostics('manifests/new.yaml', some);
  });

  it('serves two projects independently, and no file outside of them', async () => {
    await using folder = await editedProject({
      'one/voxform.yaml': projectText,
      'one/manifests/a.yaml': agent,
      'two/voxform.yaml': projectText,
      'two/manifests/a.yaml': agent,
      'voxform.yaml': undefined,
    });
    await using editor = await TestEditor.open(folder.root);
    await editor.show('outside.yaml', misspelt);
    await editor.show('one/manifests/a.yaml', misspelt);
    await editor.show('two/manifests/a.yaml', misspelt.replace('nmae', 'nama'));
    expect(messagesOf(await editor.diagnostics('one/manifests/a.yaml', some)).join()).toContain('"nmae"');
    expect(messagesOf(await editor.diagnostics('two/manifests/a.yaml', some)).join()).toContain('"nama"');
    expect(editor.shown('outside.yaml')).toEqual([]);
    expect(editor.messages).toEqual([]);
  });

  it('counts positions in UTF-16 units, with Windows line endings', async () => {
    await using folder = await editedProject({ 'manifests/a.yaml': agent });
    await using editor = await TestEditor.open(folder.root);
    const flow =
      'kind: Agent\r\napiVersion: voxform/v1\r\nmetadata: { name: day }\r\nspec: { name: "👩‍👩‍👧", nmae: x }\r\n';
    await editor.show('manifests/a.yaml', flow);
    const [first] = await editor.diagnostics('manifests/a.yaml', some);
    const column = 'spec: { name: "👩‍👩‍👧", '.length;
    expect(first?.range).toEqual({
      start: { line: 3, character: column },
      end: { line: 3, character: column + 4 },
    });
  });

  it('accepts file names with spaces, percent signs and umlauts', async () => {
    const file = 'manifests/über 100% [neu]/ä b.yaml';
    await using folder = await editedProject({ [file]: agent });
    await using editor = await TestEditor.open(folder.root);
    await editor.show(file, misspelt);
    expect(await editor.diagnostics(file, some)).toHaveLength(1);
  });

  it('responds with the addresses of the editor in a folder behind a link', async () => {
    await using folder = await editedProject({
      'real/voxform.yaml': projectText,
      'real/manifests/a.yaml': misspelt,
      'real/manifests/b.yaml': agentManifest('b'),
      'voxform.yaml': undefined,
    });
    const linked = path.join(folder.root, 'linked');
    await symlink(path.join(folder.root, 'real'), linked);
    await using editor = await TestEditor.open(linked);
    await editor.show('manifests/b.yaml', agentManifest('b'));
    expect(await editor.diagnostics('manifests/a.yaml', some)).toHaveLength(1);
    await editor.type('manifests/b.yaml', misspelt.replaceAll('day', 'b'));
    expect(await editor.diagnostics('manifests/b.yaml', some)).toHaveLength(1);
  });

  it('notices changes by other programs, by itself or from notifications of the editor', async () => {
    for (const registers of [false, true]) {
      await using folder = await editedProject({ 'manifests/a.yaml': misspelt });
      const capabilities = registers ? WATCHES_FILES : {};
      await using editor = await TestEditor.open(folder.root, { initialize: { capabilities } });
      await editor.show('voxform.yaml', projectText);
      await editor.diagnostics('manifests/a.yaml', some);
      const at = (name: string) => path.join(folder.root, 'manifests', name);
      if (!registers) await editor.watching();
      await rename(at('a.yaml'), at('b.yaml'));
      if (registers) await editor.tellOf(['manifests/a.yaml', 'manifests/b.yaml']);
      await editor.diagnostics('manifests/b.yaml', some);
      await editor.diagnostics('manifests/a.yaml', none);
      await rm(at('b.yaml'));
      if (registers) await editor.tellOf(['manifests/b.yaml']);
      await editor.diagnostics('manifests/b.yaml', none);
    }
  });

  it('removes the problems of a project whose folder, or one above it, was renamed', async () => {
    for (const parent of ['clients/acme', 'clients']) {
      await using folder = await temporaryFolder({
        'clients/acme/voxform.yaml': projectText,
        'clients/acme/manifests/a.yaml': misspelt,
      });
      await using editor = await TestEditor.open(folder.root, { initialize: { capabilities: WATCHES_FILES } });
      await editor.show('clients/acme/manifests/a.yaml', misspelt);
      await editor.diagnostics('clients/acme/manifests/a.yaml', some);
      await rename(path.join(folder.root, parent), path.join(folder.root, 'others'));
      await editor.tellOf([parent, 'others']);
      await editor.diagnostics('clients/acme/manifests/a.yaml', none);
    }
  });

  it('watches the files of a folder that was removed from the editor', async () => {
    await using folder = await editedProject({ 'manifests/a.yaml': agent });
    await using editor = await TestEditor.open(folder.root, { initialize: { capabilities: WATCHES_FILES } });
    const wrong = misspelt.replaceAll('day', 'b');
    await editor.show('manifests/b.yaml', wrong);
    await editor.diagnostics('manifests/b.yaml', some);
    const event = { added: [], removed: [{ uri: editor.uri('.'), name: 'project' }] };
    await editor.connection.sendNotification('workspace/didChangeWorkspaceFolders', { event });
    await editor.watching();
    await folder.write('manifests/a.yaml', misspelt);
    await editor.diagnostics('manifests/a.yaml', some);
  });

  it('reads no file again when an untitled document is saved', async () => {
    await using folder = await editedProject({
      'manifests/a.yaml': agent,
      'manifests/b.yaml': agentManifest('b'),
    });
    await using editor = await TestEditor.open(folder.root, { initialize: { capabilities: WATCHES_FILES } });
    const wrong = misspelt.replaceAll('day', 'b');
    await editor.show('manifests/b.yaml', wrong);
    await editor.diagnostics('manifests/b.yaml', some);
    await folder.write('manifests/a.yaml', misspelt);
    const textDocument = { uri: 'untitled:Untitled-1' };
    await editor.connection.sendNotification('textDocument/didSave', { textDocument });
    await editor.type('manifests/b.yaml', `${wrong}  neme: x\n`);
    await editor.diagnostics('manifests/b.yaml', ({ length }) => length === 2);
    await editor.leave();
    expect(editor.shown('manifests/a.yaml')).toEqual([]);
  });

  it('reports problems in a fleet file, with or without a project', async () => {
    await using folder = await editedProject({ 'voxform.yaml': undefined });
    await mkdir(path.join(folder.root, 'fleet'));
    await using editor = await TestEditor.open(folder.root);
    await editor.show(
      'fleet/fleet.yaml',
      'version: 1\nsources: { a: { path: /x } }\nworkspaces: { "b/*": { mode: report } }\n',
    );
    expect(messagesOf(await editor.diagnostics('fleet/fleet.yaml', some))).toEqual([
      '3:15  unknown source "b"; did you mean "a"?',
    ]);
  });

  it.each([
    {
      args: [],
      env: {},
      given: undefined,
      skipped: true,
      messages: [],
      reason: 'the default workspace skips the agent',
    },
    { args: ['-w', 'other'], env: {}, given: undefined, skipped: false, reason: 'the command line' },
    {
      args: [],
      env: { VOXFORM_WORKSPACE: 'other' },
      given: undefined,
      skipped: false,
      reason: 'the environment',
    },
    { args: ['-w', 'test'], env: {}, given: 'other', skipped: false, reason: 'the editor takes precedence' },
    {
      args: ['-w', 'none'],
      env: {},
      given: undefined,
      skipped: true,
      messages: ['unknown workspace "none": the editor uses test. The project has 2 workspaces: other, test.'],
      reason: 'an unknown workspace is reported once',
    },
    {
      args: ['-w', '[here](command:x)'],
      env: {},
      given: undefined,
      skipped: true,
      messages: [expect.stringContaining('[here] (command:x)')],
      reason: 'a message contains no link, because a link could run a command of the editor',
    },
  ])('checks the selected workspace: $reason', async ({ args, env, given, skipped, messages = [] }) => {
    const project = `${projectText}    skip: [Agent/day]\n  other:\n    base_url: http://127.0.0.1:9\n    workspace_id: 01JEMV1AT0RW0RKSPACE000002\n    api_key: { $secret: KEY }\ndefault_workspace: test\n`;
    await using folder = await editedProject({
      'voxform.yaml': project,
      'manifests/b.yaml': agentManifest('b'),
    });
    await using editor = await TestEditor.open(folder.root, {
      args,
      env,
      initialize: { initializationOptions: { workspace: given } },
    });
    await editor.show('manifests/a.yaml', misspelt);
    await editor.show('manifests/b.yaml', misspelt.replaceAll('day', 'b'));
    await editor.diagnostics('manifests/b.yaml', some);
    expect(editor.shown('manifests/a.yaml')).toHaveLength(skipped ? 0 : 1);
    expect(editor.messages).toEqual(messages);
  });

  it('follows a project that is removed and restored', async () => {
    await using folder = await editedProject({ 'manifests/a.yaml': agent });
    await using editor = await TestEditor.open(folder.root);
    await editor.show('manifests/a.yaml', misspelt);
    await editor.diagnostics('manifests/a.yaml', some);
    await rm(path.join(folder.root, 'voxform.yaml'));
    await editor.tellOf(['voxform.yaml']);
    await editor.diagnostics('manifests/a.yaml', none);
    await folder.write('voxform.yaml', projectText);
    await editor.tellOf(['voxform.yaml']);
    await editor.diagnostics('manifests/a.yaml', some);
  });

  it('applies the policies of a specified file with unsaved edits', async () => {
    const rules = (name: string) =>
      `version: 1\npolicies:\n  - { name: ${name}, kind: Agent, deny: 'spec.name == "day"' }\n`;
    await using folder = await editedProject({
      'voxform.yaml': undefined,
      'rules.yaml': rules('old'),
      'voice/voxform.yaml': projectText,
      'voice/manifests/a.yaml': agent,
    });
    await using editor = await TestEditor.open(folder.root, { args: ['--stdio', '--policy', 'rules.yaml'] });
    await editor.show('rules.yaml', rules('fresh'));
    await editor.show('voice/manifests/a.yaml', agent);
    const [shown] = await editor.diagnostics('voice/manifests/a.yaml', some);
    expect(shown?.message).toContain('fresh: ');
    await editor.type('rules.yaml', rules('fresh').replace('spec.name', 'spec.nmae'));
    await editor.type('voice/manifests/a.yaml', `${agent}\n`);
    await editor.diagnostics('voice/manifests/a.yaml', none);
    expect(messagesOf(await editor.diagnostics('rules.yaml', some)).join()).toContain('unknown field "nmae"');
  });

  it('accepts a text of 10 MB, and reports that a manifest must not be so large', { tags: ['long'] }, async () => {
    await using folder = await editedProject({ 'manifests/a.yaml': agent });
    await using editor = await TestEditor.open(folder.root);
    await editor.show('manifests/a.yaml', `${agent}# ${'x'.repeat(10_000_000)}\n`);
    expect(messagesOf(await editor.diagnostics('manifests/a.yaml', some)).join()).toContain('more than 1 MiB');
    await editor.type('manifests/a.yaml', agent);
    await editor.diagnostics('manifests/a.yaml', none);
  });

  it('reports why a project cannot be loaded, and continues once it can', async () => {
    await using folder = await editedProject({ '.env': 'not an assignment', 'manifests/a.yaml': agent });
    await using editor = await TestEditor.open(folder.root);
    await editor.show('manifests/a.yaml', misspelt);
    await editor.until(() => editor.messages.length > 0);
    expect(editor.messages.join()).toContain('.env:1: expected NAME=value');
    await writeFile(path.join(folder.root, '.env'), 'NAME=value\n');
    await editor.tellOf(['.env']);
    await editor.diagnostics('manifests/a.yaml', some);
  });

  it('reads no secret with --no-secrets', async () => {
    await using folder = await editedProject({
      'voxform.yaml': `${projectText}secrets: [environment, { env_file: .env.other }]\n`,
      '.env': 'not an assignment',
      '.env.other': 'not an assignment',
      'manifests/a.yaml': misspelt.replace('Be kind.', '{ $secret: OTHER }'),
    });
    await using editor = await TestEditor.open(folder.root, { args: ['--no-secrets'] });
    await editor.show('manifests/a.yaml', await readFile(path.join(folder.root, 'manifests/a.yaml'), 'utf8'));
    await editor.diagnostics('manifests/a.yaml', some);
    expect(editor.messages).toEqual([]);
  });

  it.each([
    { args: [], problems: 1 },
    { args: ['--no-secrets'], problems: 0 },
  ])('reads certificates outside the folder with $args: $problems problems', async ({ args, problems }) => {
    await using elsewhere = await temporaryFolder({ 'a.txt': 'no certificate' });
    await using folder = await editedProject({
      'voxform.yaml': `${projectText}    ca_file: ${path.join(elsewhere.root, 'a.txt')}\n`,
      'manifests/a.yaml': misspelt,
    });
    await using editor = await TestEditor.open(folder.root, { args });
    await editor.show('manifests/a.yaml', misspelt);
    await editor.diagnostics('manifests/a.yaml', some);
    // The response arrives after all diagnostics of the load.
    await editor.connection.sendRequest(WorkspacesRequest, { textDocument: { uri: editor.uri('voxform.yaml') } });
    expect(editor.shown('voxform.yaml')).toHaveLength(problems);
  });

  it('contains no secret in diagnostics, logs or responses', { tags: ['long'] }, async () => {
    const text = agent.replace(
      'spec:',
      'spec:\n  llm_config: { api_key: { $secret: OPENAI_API_KEY }, provder: { $secret: OPENAI_API_KEY } }',
    );
    await using folder = await editedProject({
      '.env': 'OPENAI_API_KEY=topsecret\n',
      'manifests/a.yaml': agent,
    });
    await using editor = await TestEditor.open(folder.root, { in: 'a process', env: { KEY: 'topsecret' } });
    await editor.show('manifests/a.yaml', text);
    await editor.diagnostics('manifests/a.yaml', some);
    const { stdout, stderr } = await editor.leave();
    expect(stdout + stderr).not.toContain('topsecret');
  });
});

const framed = (body: string, length: number | string = Buffer.byteLength(body)) =>
  `Content-Length: ${length}\r\n\r\n${body}`;

describe('the process of voxform lsp', () => {
  it.each([
    { how: 'exits in order', leave: (editor: TestEditor) => editor.leave(), code: 0 },
    { how: 'closes the connection', leave: (editor: TestEditor) => editor.vanish(), code: 1 },
    { how: 'sends only exit', leave: (editor: TestEditor) => editor.exit(), code: 1 },
    {
      how: 'sends shutdown and closes the connection',
      leave: (editor: TestEditor) => editor.shutdownAndVanish(),
      code: 0,
    },
  ])('ends with $code when the editor $how', { tags: ['long'] }, async ({ leave, code }) => {
    await using folder = await editedProject({ 'manifests/a.yaml': agent });
    await using editor = await TestEditor.open(folder.root, { in: 'a process' });
    await editor.show('manifests/a.yaml', misspelt);
    expect((await leave(editor)).code).toBe(code);
  });

  it.each([
    { reason: 'nothing', said: '' },
    { reason: 'half a message', said: 'Content-Length: 9999\r\n\r\n{' },
    { reason: 'a line without a header', said: 'nonsense\r\n\r\n' },
    { reason: 'invalid JSON', said: 'Content-Length: 5\r\n\r\n{"a":' },
  ])('ends when the editor sends $reason and dies', { tags: ['long'] }, async ({ said }) => {
    await using folder = await editedProject({});
    expect((await voxform(['lsp'], { cwd: folder.root, input: said })).code).toBe(1);
  });

  it.each([
    { reason: 'too short a length', say: (body: string) => framed(body, body.length - 3) },
    { reason: 'too long a length', say: (body: string) => framed(body, body.length + 3) },
    { reason: 'a length that is never reached', say: (body: string) => framed(body, 99_999) },
    { reason: 'a length that is not a number', say: (body: string) => framed(body, 'x') },
    { reason: 'no length', say: (body: string) => `Content-Type: application/json\r\n\r\n${body}` },
    { reason: 'bare line feeds', say: (body: string) => `Content-Length: ${body.length}\n\n${body}` },
    { reason: 'no headers', say: (body: string) => `${body}\r\n` },
  ])('ends with a reason when a running editor sends $reason', { tags: ['long'] }, async ({ say }) => {
    await using folder = await editedProject({});
    const { child, ended } = start(['lsp'], { cwd: folder.root, input: { open: true } });
    const request = (id: number) =>
      JSON.stringify({ jsonrpc: '2.0', id, method: 'initialize', params: { capabilities: {} } });
    child.stdin?.on('error', () => undefined).write(framed(request(1)) + say(request(2)));
    child.stdin?.write(framed(request(3)));
    const { code, stdout } = await ended;
    expect([code, stdout]).toEqual([1, expect.stringContaining('"id":1')]);
    expect(stdout).toMatch(/window\/logMessage.*the editor sent/);
  });

  it('reads messages that arrive in parts or together, and headers in any case', async () => {
    await using folder = await editedProject({});
    const { child, ended } = start(['lsp'], { cwd: folder.root, input: { open: true } });
    const text = 'Content-Length: 5\\r\\n ü';
    const message = (id: number, method: string) =>
      JSON.stringify({ jsonrpc: '2.0', id, method, params: { capabilities: {}, text } });
    const type = 'Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n';
    const bytes = Buffer.from(type + framed(message(1, 'initialize')).replace('Content-L', 'content-l'));
    for (const byte of bytes) child.stdin?.write(Buffer.of(byte));
    const last = JSON.stringify({ jsonrpc: '2.0', method: 'exit' });
    child.stdin?.write(framed(message(2, 'shutdown')) + framed(last));
    const { code, stdout } = await ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/"id":1,.*"id":2,/s);
  });

  it('refuses requests before initialize, a second initialize, and requests after shutdown', async () => {
    await using folder = await editedProject({});
    await using editor = TestEditor.start(folder.root);
    const formatting = { textDocument: { uri: editor.uri('a.yaml') }, options: {} };
    const ask = (method: string, params: unknown) =>
      editor.connection.sendRequest(method, params).then(
        () => 'answered',
        ({ code }: { code: number }) => code,
      );
    expect(await ask('textDocument/formatting', formatting)).toBe(-32002);
    await editor.initialize();
    expect(await ask('initialize', {})).toBe(-32600);
    expect(await ask('textDocument/nothing', {})).toBe(-32601);
    expect(await ask('textDocument/formatting', formatting)).toBe('answered');
    await editor.connection.sendRequest('shutdown');
    expect(await ask('textDocument/formatting', formatting)).toBe(-32600);
  });

  it('refuses missing or invalid params', async () => {
    await using folder = await editedProject({ 'manifests/a.yaml': agent });
    await using editor = TestEditor.start(folder.root);
    const refused = (method: string, params: unknown) =>
      editor.connection.sendRequest(`textDocument/${method}`, params).then(
        () => 'answered',
        ({ code, message }: { code: number; message: string }) => `${code} ${message}`,
      );
    const start = editor.connection.sendRequest('initialize', {});
    await expect(start).rejects.toMatchObject({
      code: -32602,
      message: 'params.capabilities is missing or invalid',
    });
    await editor.initialize();
    await editor.show('manifests/a.yaml', agent);
    const textDocument = { uri: editor.uri('manifests/a.yaml') };
    const position = { line: 1, character: 1 };
    const wrong = (field: string) => `-32602 params${field} is missing or invalid`;
    for (const method of ['hover', 'completion', 'definition', 'prepareRename', 'references', 'rename']) {
      expect(await refused(method, {})).toBe(wrong('.textDocument'));
      expect(await refused(method, { textDocument })).toBe(wrong('.position'));
      const before = { textDocument, position: { line: -1, character: 0 } };
      expect(await refused(method, before)).toBe(wrong('.position.line'));
    }
    expect(await refused('references', { textDocument, position })).toBe(wrong('.context'));
    expect(await refused('rename', { textDocument, position, newName: 1 })).toBe(wrong('.newName'));
    expect(await refused('formatting', {})).toBe(wrong('.textDocument'));
    expect(await refused('codeAction', { textDocument, context: {} })).toBe(wrong('.range'));
    expect(await refused('hover', { textDocument, position })).toBe('answered');
    expect(editor.messages).toEqual([]);
  });

  it.each([
    { method: 'textDocument/didOpen', params: { textDocument: { languageId: 'yaml', version: 1 } } },
    { method: 'textDocument/didOpen', params: { textDocument: { languageId: 'yaml', version: 1, text: 5 } } },
    { method: 'textDocument/didChange', params: { textDocument: { version: 2 } } },
    { method: 'textDocument/didChange', params: { textDocument: { version: 2 }, contentChanges: [{ text: 5 }] } },
    { method: 'textDocument/didClose', params: undefined },
    { method: 'textDocument/didSave', params: null },
    { method: 'workspace/didChangeWatchedFiles', params: { changes: [{ uri: 1 }] } },
    { method: 'workspace/didChangeWorkspaceFolders', params: { event: {} } },
    { method: '$/cancelRequest', params: {} },
    { method: '$/cancelRequest', params: null },
  ])('ignores $method with $params', async ({ method, params }) => {
    await using folder = await editedProject({ 'manifests/a.yaml': agent });
    await using editor = await TestEditor.open(folder.root);
    await editor.show('manifests/a.yaml', misspelt);
    await editor.diagnostics('manifests/a.yaml', some);
    const uri = editor.uri(method === 'textDocument/didOpen' ? 'manifests/b.yaml' : 'manifests/a.yaml');
    const inFile = params?.textDocument && { textDocument: { ...params.textDocument, uri } };
    await editor.connection.sendNotification(method, params && { ...params, ...inFile });
    await editor.type('manifests/a.yaml', agent);
    await editor.diagnostics('manifests/a.yaml', none);
    expect(editor.messages.join()).not.toMatch(/Error|\n/);
  });

  it('ignores changes of files that are not open, and addresses that are not files', async () => {
    await using folder = await editedProject({ 'manifests/a.yaml': agent });
    await using editor = await TestEditor.open(folder.root);
    await editor.type('manifests/a.yaml', 'x');
    for (const uri of ['untitled:Untitled-1', 'file://elsewhere/x.yaml', 'file:///a%2Fb.yaml', 'nonsense', '']) {
      const textDocument = { uri, languageId: 'yaml', version: 1, text: misspelt };
      await editor.connection.sendNotification('textDocument/didOpen', { textDocument });
      await editor.connection.sendNotification('textDocument/didClose', { textDocument: { uri } });
    }
    await editor.show('manifests/a.yaml', misspelt);
    await editor.diagnostics('manifests/a.yaml', some);
    expect(editor.messages).toEqual([]);
    expect(pathToFileURL(folder.root).protocol).toBe('file:');
  });
});
