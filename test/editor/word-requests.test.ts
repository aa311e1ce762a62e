import { describe, expect, it } from 'vitest';
import {
  CompletionRequest,
  DefinitionRequest,
  DocumentSymbolRequest,
  HoverRequest,
  type Location,
  type Position,
  PrepareRenameRequest,
  ReferencesRequest,
  RenameRequest,
  WorkspaceSymbolRequest,
} from 'vscode-languageserver-protocol/node';
import { temporaryFolder } from '../cli/voxform-process.ts';
import { agentManifest, projectFile } from '../cli/workspace.ts';
import { TestEditor } from './test-editor.ts';

const SECRET = 'hush-hush-hush';
const files = {
  'voxform.yaml': `${projectFile({ url: 'http://127.0.0.1:9', workspaceId: '01JEMV1AT0RW0RKSPACE000001' }).trimEnd()}\n`,
  'manifests/day.yaml': agentManifest('day'),
  'manifests/shift ü%20.yaml': agentManifest('night'),
};
const number = `apiVersion: voxform/v1
kind: PhoneNumber
metadata: { name: main }
spec:
  number: "+12025550100"
  nickname: 🦜 line
  inbound_agent_id: { $ref: Agent/night } # 🦜
`;
const FILE = 'manifests/n.yaml';

/** Returns the position after a word of the manifest. */
function behind(word: string): Position {
  const before = number.slice(0, number.indexOf(word) + word.length).split('\n');
  return { line: before.length - 1, character: (before.at(-1) ?? '').length };
}

async function openEditor(): Promise<{ editor: TestEditor; close: AsyncDisposable }> {
  const folder = await temporaryFolder({ ...files, [FILE]: number });
  const editor = await TestEditor.open(folder.root, { env: { MODEL_KEY: SECRET } });
  await editor.show(FILE, number);
  const close = {
    async [Symbol.asyncDispose]() {
      await editor[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
  return { editor, close };
}

describe('voxform lsp, for words', () => {
  it('completes, defines, finds and renames the target of a reference', async () => {
    const { editor, close } = await openEditor();
    await using _ = close;
    const { connection } = editor;
    const textDocument = { uri: editor.uri(FILE) };
    const place = { textDocument, position: behind('Agent/ni') };

    const items = (await connection.sendRequest(CompletionRequest.type, place)) as { label: string }[];
    expect(items.map(({ label }) => label)).toEqual(['Agent/day', 'Agent/night']);
    expect(items[0]).toMatchObject({
      textEdit: { range: { start: behind('$ref: '), end: behind('Agent/night') }, newText: 'Agent/day' },
    });

    const target = editor.uri('manifests/shift ü%20.yaml');
    const [definition] = (await connection.sendRequest(DefinitionRequest.type, place)) as Location[];
    expect(definition?.uri).toBe(target);
    const found = await connection.sendRequest(ReferencesRequest.type, {
      ...place,
      context: { includeDeclaration: false },
    });
    expect(found).toEqual([{ uri: textDocument.uri, range: { start: behind('$ref: '), end: behind('Agent/night') } }]);

    const name = await connection.sendRequest(PrepareRenameRequest.type, place);
    expect(name).toEqual({
      range: { start: behind('Agent/'), end: behind('Agent/night') },
      placeholder: 'night',
    });
    const refused = connection.sendRequest(RenameRequest.type, { ...place, newName: 'day' });
    await expect(refused).rejects.toThrow(/^Agent\/day is already declared at manifests\/day.yaml:\d+$/);
    const renamed = await connection.sendRequest(RenameRequest.type, { ...place, newName: 'late' });
    const changes = Object.entries(renamed?.changes ?? {});
    expect(changes.map(([uri, edits]) => [uri, edits.map(({ newText }) => newText.trim())]).sort()).toEqual(
      [
        [textDocument.uri, ['late']],
        [target, ['late', 'previous_names:\n    - night']],
      ].sort(),
    );
  });

  it('lists the declarations of files, and finds resources by name', async () => {
    const { editor, close } = await openEditor();
    await using _ = close;
    const { connection } = editor;
    const outline = await connection.sendRequest(DocumentSymbolRequest.type, {
      textDocument: { uri: editor.uri(FILE) },
    });
    expect(outline).toMatchObject([
      {
        name: 'PhoneNumber/main',
        selectionRange: { start: behind('name: '), end: behind('name: main') },
        children: [{ name: 'number' }, { name: 'nickname' }, { name: 'inbound_agent_id' }],
      },
    ]);
    await editor.show('voxform.yaml', files['voxform.yaml']);
    const settings = await connection.sendRequest(DocumentSymbolRequest.type, {
      textDocument: { uri: editor.uri('voxform.yaml') },
    });
    expect(settings).toMatchObject([{ name: 'version' }, { name: 'workspaces', children: [{ name: 'test' }] }]);

    const found = (query: string) => connection.sendRequest(WorkspaceSymbolRequest.type, { query });
    expect(await found('agNIG')).toMatchObject([
      { name: 'Agent/night', location: { uri: editor.uri('manifests/shift ü%20.yaml') } },
    ]);
    expect(await found('')).toHaveLength(3);
    expect(await found('nobody')).toEqual([]);
  });

  it('describes a field', async () => {
    const { editor, close } = await openEditor();
    await using _ = close;
    const hover = await editor.connection.sendRequest(HoverRequest.type, {
      textDocument: { uri: editor.uri(FILE) },
      position: behind('nick'),
    });
    expect(hover).toMatchObject({
      contents: { kind: 'markdown', value: expect.stringContaining('`PhoneNumber.nickname`: text') },
      range: { start: behind('0100"\n  '), end: behind('nickname') },
    });
  });

  it('uses the latest edit', async () => {
    const { editor, close } = await openEditor();
    await using _ = close;
    const text = 'apiVersion: voxform/v1\nkind: PhoneNumber\nspec:\n  inb';
    const params = { textDocument: { uri: editor.uri(FILE) }, position: { line: 3, character: 5 } };
    await editor.type(FILE, text);
    const items = (await editor.connection.sendRequest(CompletionRequest.type, params)) as { label: string }[];
    expect(items.map(({ label }) => label)).toContain('inbound_agent_id');
  });

  it('ignores files outside a project, except a fleet file', async () => {
    await using folder = await temporaryFolder({});
    await using editor = await TestEditor.open(folder.root);
    const ask = async (file: string, text: string): Promise<unknown[]> => {
      await editor.show(file, text);
      const textDocument = { uri: editor.uri(file) };
      const position = { line: 0, character: 2 };
      const items = await editor.connection.sendRequest(CompletionRequest.type, { textDocument, position });
      const hover = await editor.connection.sendRequest(HoverRequest.type, { textDocument, position });
      return [(items as unknown[]).length > 0, hover !== null];
    };
    expect(await ask('a.yaml', 'kind: Agnt\n')).toEqual([false, false]);
    expect(await ask('b.yaml', 'apiVersion: voxform/v1\nkind: Webhook\n')).toEqual([false, false]);
    expect(await ask('fleet.yaml', 'retention: 90d\n')).toEqual([true, true]);
  });
});
