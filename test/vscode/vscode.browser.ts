import { readFileSync } from 'node:fs';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { startEmulator } from '../../src/emulator/start-emulator.ts';
import { temporaryFolder } from '../cli/voxform-process.ts';
import { editedProject } from '../editor/edited-project.ts';
import { step } from '../step.ts';
import { buildExtension, missing, VsCode } from './vscode-in-browser.ts';

const agent = `apiVersion: voxform/v1
kind: Agent
metadata:
  name: day
spec:
  name: { $file: ../prompts/name.txt }
  prompt_config:
    prompt: { $file: ../prompts/day.md }
`;
const number = `apiVersion: voxform/v1
kind: PhoneNumber
metadata:
  name: main
spec:
  number: "+12025550101"
  inbound_agent_id: { $ref: Agent/day }
  outbound_agent_id: { $ref: Agent/d }
`;
const API_KEY = 'the-key-that-a-person-types';
const IN_ENVIRONMENT = 'the-key-in-the-environment';

describe('VS Code', () => {
  it.skipIf(missing !== undefined)(
    `supports a user who edits a project${missing === undefined ? '' : ` (NOT RUN: ${missing} IS MISSING)`}`,
    async () => {
      await using emulator = await startEmulator({ seed: 1, apiKey: API_KEY });
      const workspace = (name: string) => `  ${name}:
    base_url: ${emulator.url}
    workspace_id: ${emulator.workspaceId}
    api_key: { $secret: THE_KEY }
    dashboard: { agent: "https://app.example.com/agents/{id}" }
`;
      const project = `version: 1\ndefault_workspace: staging\nworkspaces:\n${workspace('staging')}${workspace('production')}`;
      await using folder = await editedProject({
        'voxform.yaml': project,
        '.env': 'not an assignment',
        'other.yaml': 'a:   {}\n',
        'prompts/day.md': 'Be kind.\n',
        'prompts/name.txt': 'Day\n',
        'manifests/agent.yaml': agent,
        'manifests/number.yaml': number,
      });
      const files = await readdir(folder.root);
      const manifest = (name: string) => readFile(path.join(folder.root, 'manifests', name), 'utf8');
      await using code = await VsCode.open(folder.root, { OPENAI_API_KEY: IN_ENVIRONMENT });
      const written = () => filesWith(API_KEY, [code.home, folder.root]);

      await step('an untrusted folder: problems, but no secret, no command and no request', async () => {
        await code.show('number.yaml', 8, 41);
        await code.shown('.statusbar-item', /staging.*1/).waitFor();
        await code.run('Problems: Focus on Problems View');
        await code.shown('.markers-panel .monaco-list-row', 'no manifest declares Agent/d').waitFor();
        expect(await code.offers('voxform: ')).toEqual([]);
        expect(await code.notifications()).toEqual([]);
        const [[id, args] = []] = code.runs();
        expect([code.runs().size, args]).toEqual([1, ['lsp', '--no-secrets']]);
        expect(readFileSync(`/proc/${id}/environ`, 'utf8')).not.toContain(IN_ENVIRONMENT);
        await folder.write('.env', '');
        await code.trust();
      });
      await step('completion', async () => {
        await code.show('number.yaml', 8, 37);
        await code.type('ay');
        await code.press('Control+Space');
        await code.shown('.suggest-widget .monaco-list-row', 'Agent/day').waitFor();
        await code.press('Escape');
        await code.shown('.markers-panel', 'No problems').waitFor();
      });
      await step('hover', async () => {
        await code.show('number.yaml', 6, 5);
        await code.run('Show or Focus Hover');
        await code.shown('.monaco-hover', 'PhoneNumber.number').waitFor();
        await code.press('Escape');
      });
      await step('rename', async () => {
        await code.show('number.yaml', 7, 36);
        await code.press('F2');
        await code.page.locator('.rename-box input').fill('noon');
        await code.press('Enter');
        await code.shown('.view-line', 'Agent/noon').waitFor();
        await code.run('File: Save All');
        await expect.poll(() => manifest('agent.yaml')).toContain('name: noon');
      });
      await step('a form has its own color', async () => {
        await code.show('agent.yaml');
        const colors = [await code.colorOf('$file'), await code.colorOf('prompt_config'), await code.colorOf('kind')];
        expect(colors[0]).not.toBe(colors[1]);
        expect(colors[1]).toBe(colors[2]);
      });
      await step('a prompt links to its agents', async () => {
        await code.show('day.md');
        await code.shown('.codelens-decoration a', 'Used by Agent/noon').click();
        await code.shown('.tab.active', 'agent.yaml').waitFor();
        await code.show('day.md');
        await code.run('Go to References');
        await code.shown('.tab.active', 'agent.yaml').waitFor();
      });
      await step('a limit is reported in the text file', async () => {
        await code.show('name.txt');
        await code.press('Control+A');
        await code.type('x'.repeat(300));
        await code.shown('.markers-panel .monaco-list-row', 'name.txt').waitFor();
        await code.shown('.markers-panel .monaco-list-row', 'agent.yaml: ').waitFor();
        await code.press('Control+A');
        await code.type('Day');
        await code.shown('.markers-panel', 'No problems').waitFor();
        await code.run('File: Save All');
      });
      await step('formatting, only of project files', async () => {
        await code.show('other.yaml');
        await code.run('Format Document');
        await code.shown('.monaco-dialog-box', "no formatter for 'yaml' files").waitFor();
        await code.press('Escape');
        await code.show('agent.yaml', 1, 12);
        await code.type('    ');
        await code.run('File: Save All');
        await expect.poll(() => manifest('agent.yaml')).toMatch(/^apiVersion: {5}voxform/);
        await code.run('Format Document');
        await code.run('File: Save All');
        await expect.poll(() => manifest('agent.yaml')).toMatch(/^apiVersion: voxform/);
      });
      await step('a plan is canceled', async () => {
        expect(emulator.requests).toEqual([]);
        emulator.faults.add({ times: 1000, fault: { delayMs: 3_600_000 } });
        await code.show('other.yaml');
        await code.type('# unsaved ');
        await code.show('day.md');
        await code.type('Hello. ');
        await code.run('voxform: Plan');
        await code.pick('staging');
        await code.question(`${emulator.url} for the workspace id ${emulator.workspaceId}`);
        await code.answer(' ');
        await code.question('without spaces');
        await code.answer(API_KEY);
        await expect.poll(() => emulator.requests.length).toBeGreaterThan(0);
        expect([...code.runs().values()].map((words) => words.find((word) => !word.startsWith('--'))).sort()).toEqual([
          'lsp',
          'plan',
        ]);
        const environments = [...code.runs().keys()].map((id) => readFileSync(`/proc/${id}/environ`, 'utf8'));
        expect(environments.join()).not.toContain(API_KEY);
        await code.shown('.notification-list-item .monaco-button', 'Cancel').click();
        await expect.poll(() => code.runs().size).toBe(1);
        await code.shown('.notification-list-item', 'Planning').waitFor({ state: 'hidden' });
        expect(await code.notifications()).toEqual([]);
        expect(await readdir(path.join(code.home, 'data/User/globalStorage/voxform.voxform'))).toEqual([]);
        expect(await readdir(folder.root)).toEqual(files);
        expect(await readFile(path.join(folder.root, 'prompts/day.md'), 'utf8')).toContain('Hello. ');
        expect(await readFile(path.join(folder.root, 'other.yaml'), 'utf8')).not.toContain('unsaved');
        await code.show('other.yaml');
        await code.run('File: Revert File');
        emulator.faults.clear();
        emulator.clearRequests();
      });
      await step(
        'plan, after a window reload, without another request for the key, with its result above the resource',
        async () => {
          await code.page.reload();
          await code.shown('.statusbar-item', 'staging').waitFor();
          await code.show('agent.yaml');
          await code.run('voxform: Plan');
          await code.pick('staging');
          await code.report('voxform plan: staging').getByText('Agent/noon').first().waitFor();
          await code.shown('.codelens-decoration', 'not created yet in staging').waitFor();
          expect(await written()).toEqual([]);
        },
      );
      await step('the stored key is not used for another address', async () => {
        await using elsewhere = await startEmulator({ seed: 2 });
        await folder.write('voxform.yaml', project.replaceAll(emulator.url, elsewhere.url));
        await folder.write('manifests/broken.yaml', 'kind: Agent\n');
        await code.shown('.statusbar-item', /staging +\d/).waitFor();
        await code.run('voxform: Drift');
        await code.pick('staging');
        expect(await code.question('CHANGED')).toContain(elsewhere.url);
        await code.press('Escape');
        expect(elsewhere.requests).toEqual([]);
        await folder.write('voxform.yaml', project);
        await rm(path.join(folder.root, 'manifests/broken.yaml'));
        await code.shown('.statusbar-item', /staging *$/).waitFor();
      });
      await step('drift, without another request for the key', async () => {
        await code.run('voxform: Drift');
        await code.pick('staging');
        await code.report('voxform drift: staging').locator('h1').waitFor();
      });
      await step('a key is requested if no secret command has it', async () => {
        await folder.write('voxform.yaml', `${project}secrets: [{ command: [echo, none], names: [OTHER_KEY] }]\n`);
        await code.run('voxform: Drift');
        await code.pick('production');
        await code.question(emulator.url);
        await code.answer(API_KEY);
        await code.report('voxform drift: production').locator('h1').waitFor();
        await folder.write('voxform.yaml', project);
      });
      await step('the workspace is changed in the status bar', async () => {
        await code.shown('.statusbar-item', 'staging').click();
        await code.pick('production');
        await code.shown('.statusbar-item', 'production').waitFor();
      });
      await step('a field is explained', async () => {
        await code.show('agent.yaml', 6, 4);
        await code.run('voxform: Explain Field');
        await code.pick('Agent.name');
        await code.shown('.view-line', 'at most 255').waitFor();
      });
      await step('nothing was written', async () => {
        expect(await written()).toEqual([]);
        expect(emulator.requests.filter(({ method }) => method !== 'GET')).toEqual([]);
      });
      await step('a window without a project', async () => {
        await rm(path.join(folder.root, 'voxform.yaml'));
        await code.run('voxform: Plan');
        await code.shown('.notification-list-item', 'There is no voxform.yaml in this window').waitFor();
      });
    },
  );
});

it.skipIf(missing !== undefined)('the extension is smaller than 5 MB, and its build is reproducible', async () => {
  await using folder = await temporaryFolder({});
  const files = ['a.vsix', 'b.vsix'].map((name) => path.join(folder.root, name));
  const packages = [];
  for (const file of files) {
    await buildExtension(file);
    packages.push(await readFile(file));
  }
  expect(packages[0]?.length).toBeLessThan(5_000_000);
  expect(packages[0]?.equals(packages[1] ?? Buffer.of())).toBe(true);
});

/** Returns the files in these folders that contain a text. */
async function filesWith(text: string, folders: readonly string[]): Promise<readonly string[]> {
  const found = [];
  for (const folder of folders) {
    for (const name of await readdir(folder, { recursive: true })) {
      const file = path.join(folder, name);
      if ((await stat(file)).isFile() && (await readFile(file)).includes(text)) found.push(file);
    }
  }
  return found;
}
