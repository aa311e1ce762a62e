import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../cli/voxform-process.ts';
import { agentManifest, projectFile } from '../cli/workspace.ts';
import { TestEditor, told } from './test-editor.ts';

const project = projectFile({ url: 'http://127.0.0.1:9', workspaceId: '01JEMV1AT0RW0RKSPACE000001' });
const agent = agentManifest('day');
const wrong = agent.replace('spec:', 'spec:\n  voise: x');

describe('voxform lsp', () => {
  it('tells what is wrong while it is typed, in the words of validate', async () => {
    await using folder = await temporaryFolder({ 'voxform.yaml': project, 'manifests/a.yaml': agent });
    await using editor = await TestEditor.open(folder.root);
    await editor.show('manifests/a.yaml', wrong);
    const shown = await editor.diagnostics('manifests/a.yaml', ({ length }) => length > 0);
    expect(told(shown)).toEqual(['6:3  unknown field "voise"']);
    await editor.type('manifests/a.yaml', agent);
    await editor.diagnostics('manifests/a.yaml', ({ length }) => length === 0);
    expect((await editor.leave()).code).toBe(0);
  });

  it('ends with 1 when the editor goes away without a word', async () => {
    await using folder = await temporaryFolder({ 'voxform.yaml': project });
    await using editor = await TestEditor.open(folder.root);
    expect((await editor.vanish()).code).toBe(1);
  });
});
