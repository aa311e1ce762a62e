import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { CodeLensRequest } from 'vscode-languageserver-protocol/node';
import { TopicRequest, WorkspacesRequest } from '../../src/editor/extension-requests.ts';
import { editedProject, projectText } from './edited-project.ts';
import { TestEditor, told } from './test-editor.ts';

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

describe('a text that manifests name with $file', () => {
  it('shows which resources use it, and leads to them', async () => {
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

  it('shows where it exceeds a limit', async () => {
    await using folder = await editedProject(files);
    await using editor = await TestEditor.open(folder.root);
    await editor.show('long.txt', files['long.txt']);
    const shown = await editor.diagnostics('long.txt', ({ length }) => length > 0);
    expect(told(shown)).toEqual([expect.stringContaining('255')]);
    expect(told(editor.shown('manifests/all.yaml'))).toHaveLength(1);
  });
});

describe('requests of the extension for VS Code', () => {
  it.each([
    { sources: '[environment]', args: [], lacksKey: [false, true], reason: 'the environment has one of them' },
    {
      sources: '[environment, { folder: keys }]',
      args: [],
      lacksKey: [false, false],
      reason: 'a folder has the other',
    },
    {
      sources: '[environment, { command: ["false", "{name}"] }]',
      args: [],
      lacksKey: [false, false],
      reason: 'commands are not run',
    },
    { sources: '[environment]', args: ['--no-secrets'], lacksKey: [false, false], reason: 'no secret is read' },
  ])('tell which workspaces lack a key: $reason', async ({ sources, args, lacksKey }) => {
    const other = `  other:\n    base_url: http://127.0.0.1:9\n    workspace_id: x\n    api_key: { $secret: OTHER }\n`;
    await using folder = await editedProject({
      ...files,
      'voxform.yaml': `${projectText}${other}default_workspace: test\nsecrets: ${sources}\n`,
      'keys/OTHER': 'topsecret',
    });
    await using editor = await TestEditor.open(folder.root, { args, env: { VOXFORM_API_KEY: 'topsecret' } });
    const textDocument = { uri: editor.uri('voxform.yaml') };
    expect(await editor.connection.sendRequest(WorkspacesRequest, { textDocument })).toEqual({
      selected: 'test',
      workspaces: [
        { name: 'test', lacksKey: lacksKey[0] },
        { name: 'other', lacksKey: lacksKey[1] },
      ],
    });
  });

  it('name the topic at a place', async () => {
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
