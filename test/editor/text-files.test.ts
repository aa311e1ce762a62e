import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { CodeLensRequest } from 'vscode-languageserver-protocol/node';
import { TopicRequest, WorkspacesRequest } from '../../src/editor/extension-requests.ts';
import { selfSigned } from '../platform/connect-proxy.ts';
import { editedProject, projectText } from './edited-project.ts';
import { messagesOf, TestEditor } from './test-editor.ts';

const agentWithPrompt = (name: string, text: string) => `apiVersion: voxform/v1
kind: Agent
metadata:
  name: ${name}
spec:
  name: ${text}
  prompt_config:
    prompt: { $file: ../prompts/shared.md }
`;

const files = {
  'manifests/all.yaml': `${agentWithPrompt('day', 'Day')}---\n${agentWithPrompt('night', '{ $file: ../long.txt }')}`,
  'prompts/shared.md': 'Be kind.\n',
  'long.txt': 'x'.repeat(300),
};

describe('a text file to which manifests refer with $file', () => {
  it('has a lens with the resources that use it', async () => {
    await using folder = await editedProject(files);
    await using editor = await TestEditor.open(folder.root, {
      initialize: { initializationOptions: { showLocations: 'peek' } },
    });
    await editor.show('prompts/shared.md', 'Be kind.\n');
    const textDocument = { uri: editor.uri('prompts/shared.md') };
    const [lens, ...more] = (await editor.connection.sendRequest(CodeLensRequest.type, { textDocument })) ?? [];
    expect(more).toEqual([]);
    expect(lens?.command).toMatchObject({ title: 'Used by Agent/day, Agent/night', command: 'peek' });
    expect(lens?.command?.arguments?.[2]).toHaveLength(2);
    await editor.show('manifests/all.yaml', files['manifests/all.yaml']);
    const manifest = { textDocument: { uri: editor.uri('manifests/all.yaml') } };
    expect(await editor.connection.sendRequest(CodeLensRequest.type, manifest)).toEqual([]);
  });

  it('has a diagnostic if it exceeds a limit', async () => {
    await using folder = await editedProject(files);
    await using editor = await TestEditor.open(folder.root);
    await editor.show('long.txt', files['long.txt']);
    const shown = await editor.diagnostics('long.txt', ({ length }) => length > 0);
    expect(messagesOf(shown)).toEqual([expect.stringContaining('255')]);
    expect(messagesOf(editor.shown('manifests/all.yaml'))).toHaveLength(1);
  });
});

describe('requests of the extension for VS Code', () => {
  const variables = 'base_url: { $env: PLACE }\n    workspace_id: { $env: ID }\n    api_key: { $secret: OTHER }';
  const project = projectText.replace('VOXFORM_API_KEY', 'KEY');
  /** Requests the workspaces of a project: one with plain settings, and one with variables. */
  const workspaces = async (more: {
    readonly sources?: string;
    readonly args?: readonly string[];
    readonly env?: Readonly<Record<string, string>>;
    readonly files?: Readonly<Record<string, string>>;
  }) => {
    await using folder = await editedProject({
      ...files,
      'voxform.yaml': `${project}  other:\n    ${variables}\ndefault_workspace: test\nsecrets: ${more.sources ?? '[environment]'}\n`,
      'keys/OTHER': 'topsecret',
      '.env': 'PLACE=https://Example.com:443/\nID=from-a-file\n',
      ...more.files,
    });
    await using editor = await TestEditor.open(folder.root, {
      args: more.args ?? [],
      env: { KEY: 'topsecret', ...more.env },
    });
    const textDocument = { uri: editor.uri('voxform.yaml') };
    return (await editor.connection.sendRequest(WorkspacesRequest, { textDocument })) ?? undefined;
  };

  it.each([
    { sources: '[environment]', lacksKey: [false, true], reason: 'the environment has one key' },
    { sources: '[environment, { folder: keys }]', lacksKey: [false, false], reason: 'a folder has the other key' },
    {
      sources: '[environment, { command: ["false", "{name}"] }]',
      lacksKey: [false, false],
      reason: 'commands are not run',
    },
    {
      env: { VOXFORM_API_KEY: 'topsecret' },
      lacksKey: [false, false],
      reason: 'the variable applies to both workspaces',
    },
    { args: ['--no-secrets'], lacksKey: [false, false], reason: 'no secret is read' },
  ])('return the workspaces without a key: $reason', { tags: ['long'] }, async ({ lacksKey, ...more }) => {
    const { selected, workspaces: found } = (await workspaces(more)) ?? {};
    expect(selected).toBe('test');
    expect(found?.map((each) => [each.name, each.lacksKey])).toEqual([
      ['test', lacksKey[0]],
      ['other', lacksKey[1]],
    ]);
  });

  it.each([
    { env: {}, expected: ['https://example.com', 'from-a-file'], reason: '.env' },
    {
      env: { PLACE: 'http://127.0.0.1:1' },
      expected: ['http://127.0.0.1:1', 'from-a-file'],
      reason: 'the environment',
    },
    {
      env: { VOXFORM_BASE_URL: 'http://[::1]:2/' },
      expected: ['http://[::1]:2', 'from-a-file'],
      reason: 'VOXFORM_BASE_URL',
    },
    { env: {}, args: ['--no-env-file'], expected: ['', ''], reason: 'nothing' },
  ])('return the address to which the key of a workspace is sent: from $reason', async ({ expected, ...more }) => {
    const found = (await workspaces(more))?.workspaces[1];
    expect([found?.baseUrl, found?.workspaceId, found?.certificates]).toEqual([...expected, null]);
  });

  it('return the certificates that a workspace trusts', async () => {
    const withFile = `${project}    ca_file: ca.pem\n`;
    const digests = ['one.example.com', 'other.example.com'].map(async (host) => {
      const found = await workspaces({ files: { 'voxform.yaml': withFile, 'ca.pem': selfSigned(host).cert } });
      return found?.workspaces[0]?.certificates;
    });
    const [one, other] = await Promise.all(digests);
    expect(one).toMatch(/^[0-9a-f]{64}$/);
    expect(other).not.toBe(one);
  });

  it('return the open files that a run reads', async () => {
    await using folder = await editedProject({ ...files, 'README.md': '', 'nested/voxform.yaml': projectText });
    await using editor = await TestEditor.open(folder.root);
    const used = ['manifests/all.yaml', 'prompts/shared.md', 'voxform.yaml'];
    for (const name of [...used, 'README.md', 'nested/voxform.yaml']) {
      await editor.show(name, await readFile(path.join(folder.root, name), 'utf8'));
    }
    const textDocument = { uri: editor.uri('voxform.yaml') };
    const found = await editor.connection.sendRequest(WorkspacesRequest, { textDocument });
    expect(found?.openFiles).toEqual(used.map((name) => editor.uri(name)));
  });

  it('return the topic at a position', async () => {
    await using folder = await editedProject(files);
    await using editor = await TestEditor.open(folder.root);
    await editor.show('manifests/all.yaml', await readFile(path.join(folder.root, 'manifests/all.yaml'), 'utf8'));
    const at = (line: number) => ({
      textDocument: { uri: editor.uri('manifests/all.yaml') },
      position: { line, character: 5 },
    });
    expect(await editor.connection.sendRequest(TopicRequest, at(7))).toBe('Agent.prompt_config.prompt');
    expect(await editor.connection.sendRequest(TopicRequest, at(8))).toBeNull();
  });
});
