import path from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { failureText, lacksApiKey, type Message, runVoxform } from '../../editors/vscode/src/run-voxform.ts';
import { agent, editedProject, projectText } from '../editor/edited-project.ts';

const command = path.join(inject('built'), 'main.js');

interface Failing {
  readonly key: string;
  readonly args?: readonly string[];
  readonly files?: Readonly<Record<string, string>>;
}

async function failureIn(failing: Failing): Promise<string> {
  return failureText(await messagesIn(failing));
}

async function messagesIn({ key, args = ['plan'], files = {} }: Failing): Promise<readonly Message[]> {
  await using folder = await editedProject({ 'voxform.yaml': projectText.replace('VOXFORM_API_KEY', key), ...files });
  const env = { HOME: folder.root, PATH: process.env.PATH ?? '', KEY: 'any' };
  const { signal } = new AbortController();
  const { result, messages } = await runVoxform(args, { command, cwd: folder.root, env, signal });
  expect(result).toBeUndefined();
  return messages;
}

describe('failed command', () => {
  it("is reported in one paragraph at the editor's width", async () => {
    const text = await failureIn({ key: 'A'.repeat(60) });
    expect(text).toMatch(
      /^the API key of the workspace test is not set: A+\. The secret A+ is not set in the environment \S.*\.$/,
    );
    expect(text).not.toMatch(/\s\s|\n/);
  });

  it('is reported with the first of many problems, and their number', async () => {
    const text = await failureIn({ key: 'KEY', files: { 'manifests/bad.yaml': 'a: 1\n---\nb: 2\n---\nc: 3\n' } });
    expect(text.match(/manifests\/bad.yaml:/g)).toHaveLength(3);
    expect(text).toMatch(/errors in 1 file\.$/);
  });

  it('is classified by a missing key or another reason', { tags: ['long'] }, async () => {
    expect(lacksApiKey(await messagesIn({ key: 'ABSENT' }))).toBe(true);
    expect(lacksApiKey(await messagesIn({ key: 'KEY', files: { 'manifests/bad.yaml': 'a: 1\n' } }))).toBe(false);
  });

  it('contains no link, which could run a command of the editor', async () => {
    const manifest = agent.replace('  prompt_config', '  "[here](command:x)": 1\n  prompt_config');
    const text = await failureIn({ key: 'KEY', files: { 'manifests/a.yaml': manifest } });
    expect(text).toContain('[here] (command:x)');
  });

  it('has no result, although JSON describes the error', async () => {
    expect(await failureIn({ key: 'KEY', args: ['show', 'none.plan', '--output', 'json'] })).toContain('none.plan');
  });

  it('without output is still reported', () => {
    expect(failureText([])).not.toBe('');
    expect(failureText([{ level: 'output', message: 'Killed' }])).toBe('Killed.');
  });
});
