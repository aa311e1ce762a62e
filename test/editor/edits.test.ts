import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  CodeActionRequest,
  DocumentFormattingRequest,
  RegistrationRequest,
  type TextEdit,
  UnregistrationRequest,
} from 'vscode-languageserver-protocol/node';
import { TextDocument } from 'vscode-languageserver-textdocument';
import { command } from '../trust/in-process.ts';
import { agent, editedProject, misspelt, projectText } from './edited-project.ts';
import { TestEditor } from './test-editor.ts';

const number = (fields: string) =>
  `apiVersion: voxform/v1\nkind: PhoneNumber\nmetadata: { name: main }\nspec: { ${fields} }\n`;

function changed(text: string, edits: readonly TextEdit[]): string {
  return TextDocument.applyEdits(TextDocument.create('file:///x', 'yaml', 0, text), [...edits]);
}

async function fixed(files: Readonly<Record<string, string | undefined>>, file: string) {
  await using folder = await editedProject(files);
  await using editor = await TestEditor.open(folder.root);
  const text = files[file] ?? '';
  await editor.show(file, text);
  const [shown] = await editor.diagnostics(file, ({ length }) => length > 0);
  if (shown === undefined) throw new Error('nothing is wrong');
  const actions = await editor.connection.sendRequest(CodeActionRequest.type, {
    textDocument: { uri: editor.uri(file) },
    range: shown.range,
    context: { diagnostics: [shown] },
  });
  return (actions ?? []).map((action) => {
    const edits = 'edit' in action ? action.edit?.changes?.[editor.uri(file)] : undefined;
    return { title: action.title, text: changed(text, edits ?? []) };
  });
}

describe('a fix', () => {
  const a = 'manifests/a.yaml';
  it.each([
    { reason: 'a field', files: { [a]: misspelt }, title: 'Change to name', has: '  name: day\n' },
    {
      reason: 'a field in single quotes',
      files: { [a]: misspelt.replace('nmae:', "'nmae':") },
      title: "Change to 'name'",
      has: "  'name': day",
    },
    {
      reason: 'a field of JSON',
      files: {
        'manifests/a.json': JSON.stringify({
          apiVersion: 'voxform/v1',
          kind: 'Agent',
          metadata: { name: 'a' },
          spec: { nmae: 'a' },
        }),
      },
      title: 'Change to "name"',
      has: '{"name":"a"}}',
    },
    {
      reason: 'a kind',
      files: { [a]: agent.replace('Agent', 'Agnet') },
      title: 'Change to Agent',
      has: 'kind: Agent\n',
    },
    {
      reason: 'a value',
      files: { [a]: agent.replace('voxform/v1', 'voxfrom/v1') },
      title: 'Change to voxform/v1',
      has: 'apiVersion: voxform/v1\n',
    },
    {
      reason: 'an address',
      files: {
        'manifests/b.yaml': agent,
        [a]: number('number: "+12025550101", inbound_agent_id: { $ref: Agent/dya }'),
      },
      title: 'Change to Agent/day',
      has: '{ $ref: Agent/day }',
    },
    {
      reason: 'the kind of an address',
      files: {
        'manifests/b.yaml': agent,
        [a]: number('number: "+12025550101", inbound_agent_id: { $ref: Agnt/day }'),
      },
      title: 'Change to Agent/day',
      has: '{ $ref: Agent/day }',
    },
    {
      reason: 'a name in place of an id',
      files: { 'manifests/b.yaml': agent, [a]: number('number: "+12025550101", inbound_agent_id: day') },
      title: 'Change to { $ref: Agent/day }',
      has: 'inbound_agent_id: { $ref: Agent/day } }',
    },
    {
      reason: 'a variable',
      files: {
        'voxform.yaml': `${projectText}    vars: { company: Acme }\n`,
        [a]: agent.replace('"Be kind."', '{ $var: compnay }'),
      },
      title: 'Change to company',
      has: '{ $var: company }',
    },
    {
      reason: 'a special key',
      files: { [a]: agent.replace('"Be kind."', '{ $secrt: KEY }') },
      title: 'Change to $secret',
      has: '{ $secret: KEY }',
    },
    {
      reason: 'missing quotes',
      files: { [a]: number('number: +12025550101') },
      title: 'Add quotes',
      has: 'number: "+12025550101" }',
    },
    {
      reason: 'unnecessary quotes',
      files: { [a]: agent.replace('prompt_config:', 'llm_config: { temperature: "0.5" }\n  prompt_config:') },
      title: 'Remove the quotes',
      has: 'temperature: 0.5 }',
    },
    {
      reason: 'a patch for an unknown resource',
      file: 'voxform.yaml',
      files: { [a]: agent, 'voxform.yaml': `${projectText}    patches: { Agent/dya: { name: x } }\n` },
      title: 'Change to Agent/day',
      has: 'patches: { Agent/day: {',
    },
    {
      reason: 'the default workspace',
      file: 'voxform.yaml',
      files: { [a]: agent, 'voxform.yaml': `default_workspace: tset\n${projectText}` },
      title: 'Change to test',
      has: 'default_workspace: test\n',
    },
  ])('corrects $reason', async ({ files, title, has, file = Object.keys(files).at(-1) ?? '' }) => {
    const [first, ...others] = await fixed(files, file);
    expect(first?.title).toBe(title);
    expect(first?.text).toContain(has);
    expect(others).toEqual([]);
  });

  it('is only offered if it is unambiguous', async () => {
    expect(await fixed({ [a]: agent.replace('"Be kind."', '[]') }, a)).toEqual([]);
    expect(await fixed({ [a]: agent.replace('name: day\n  prompt', '|\n  prompt') }, a)).toEqual([]);
  });
});

describe('formatting', () => {
  it.each([
    {
      reason: 'YAML',
      name: 'a.yaml',
      text: 'kind: Agent\napiVersion: voxform/v1\nmetadata:   { name: day }\nspec:\n    name: day # the day\n',
    },
    {
      reason: 'Windows line endings',
      name: 'a.yaml',
      text: 'kind: Agent\r\napiVersion: voxform/v1\r\nmetadata:   { name: day }\r\nspec:\r\n    name: day\r\n',
    },
    {
      reason: 'emoji',
      name: 'a.yaml',
      text: 'spec:   { name: "👩‍👩‍👧"  }\nkind: Agent\nmetadata: { name: "day" }\napiVersion: voxform/v1',
    },
    {
      reason: 'JSON',
      name: 'a.json',
      text: '{ "kind": "Agent", "apiVersion": "voxform/v1", "metadata": { "name": "day" }, "spec": { "name": "day" } }',
    },
  ])('equals that of fmt: $reason', async ({ name, text }) => {
    const file = `manifests/${name}`;
    await using folder = await editedProject({ [file]: text });
    await using editor = await TestEditor.open(folder.root);
    await editor.show(file, text);
    const edits = await editor.connection.sendRequest(DocumentFormattingRequest.type, {
      textDocument: { uri: editor.uri(file) },
      options: { tabSize: 8, insertSpaces: false },
    });
    expect((await command(['fmt'], { cwd: folder.root })).code).toBe(0);
    expect(changed(text, edits ?? [])).toBe(await readFile(path.join(folder.root, file), 'utf8'));
  });

  it('leaves an invalid file unchanged', async () => {
    await using folder = await editedProject({ 'manifests/a.yaml': agent });
    await using editor = await TestEditor.open(folder.root);
    await editor.show('manifests/a.yaml', 'kind: [');
    const textDocument = { uri: editor.uri('manifests/a.yaml') };
    const options = { tabSize: 2, insertSpaces: true };
    expect(await editor.connection.sendRequest(DocumentFormattingRequest.type, { textDocument, options })).toEqual([]);
  });

  it('is limited to the files of the project', async () => {
    await using folder = await editedProject({ 'manifests/a.yaml': agent });
    await using editor = await TestEditor.open(folder.root);
    const options = { tabSize: 2, insertSpaces: true };
    for (const file of ['compose.yaml', 'package.json', 'prompts/day.md', '../elsewhere.yaml']) {
      const textDocument = { uri: editor.uri(file) };
      await editor.show(file, 'b:   1\na: { }\n');
      const edits = await editor.connection.sendRequest(DocumentFormattingRequest.type, { textDocument, options });
      expect(edits, file).toBeNull();
    }
  });

  it('is registered for the patterns of the project if the editor supports this', async () => {
    await using folder = await editedProject({ 'manifests/a.yaml': agent });
    const editor = TestEditor.start(folder.root);
    const offered: string[] = [];
    const given = new Map<string, Registration>();
    const note = (): void => {
      const selectors = [...given.values()].flatMap(({ registerOptions }) => registerOptions.documentSelector);
      offered.push([...new Set(selectors.map(({ pattern }) => pattern.pattern))].join(' '));
    };
    editor.connection.onRequest(RegistrationRequest.type, ({ registrations }) => {
      for (const each of registrations) given.set(each.id, each as Registration);
      note();
    });
    editor.connection.onRequest(UnregistrationRequest.type, ({ unregisterations }) => {
      for (const { id } of unregisterations) given.delete(id);
    });
    const textDocument = { formatting: { dynamicRegistration: true }, filters: { relativePatternSupport: true } };
    const { capabilities } = await editor.initialize({ capabilities: { textDocument } });
    expect(capabilities.documentFormattingProvider).toBe(false);
    await editor.show('manifests/a.yaml', agent);
    await expect.poll(() => offered).toEqual(['voxform.yaml voxform.yml manifests/**/*.{yaml,yml,json}']);
    await editor.show('voxform.yaml', `${projectText}manifests: [agents/*.yaml]\n`);
    await expect.poll(() => offered.at(-1)).toBe('voxform.yaml voxform.yml agents/*.yaml');
    expect([...given.values()][0]?.registerOptions.documentSelector[0]).toMatchObject({
      pattern: { baseUri: editor.uri('.') },
    });
    await editor.leave();
  });
});

interface Registration {
  readonly id: string;
  readonly registerOptions: {
    readonly documentSelector: readonly { readonly pattern: { readonly baseUri: string; readonly pattern: string } }[];
  };
}
