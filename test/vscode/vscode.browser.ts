import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { startEmulator } from '../../src/emulator/start-emulator.ts';
import { editedProject } from '../editor/edited-project.ts';
import { step } from '../step.ts';
import { missing, VsCode } from './vscode-in-browser.ts';

const agent = `apiVersion: voxform/v1
kind: Agent
metadata:
  name: day
spec:
  name: Day
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

describe('VS Code', () => {
  it.skipIf(missing !== undefined)(
    `serves a person who edits a project${missing === undefined ? '' : ` (NOT RUN: ${missing} IS MISSING)`}`,
    async () => {
      await using emulator = await startEmulator({ seed: 1, apiKey: API_KEY });
      const workspace = (name: string) => `  ${name}:
    base_url: ${emulator.url}
    workspace_id: ${emulator.workspaceId}
    api_key: { $secret: THE_KEY }
    dashboard: { agent: "https://app.example.com/agents/{id}" }
`;
      await using folder = await editedProject({
        'voxform.yaml': `version: 1\ndefault_workspace: staging\nworkspaces:\n${workspace('staging')}${workspace('production')}`,
        '.env': 'not an assignment',
        'prompts/day.md': 'Be kind.\n',
        'manifests/agent.yaml': agent,
        'manifests/number.yaml': number,
      });
      const manifest = (name: string) => readFile(path.join(folder.root, 'manifests', name), 'utf8');
      await using code = await VsCode.open(folder.root);

      await step('a folder that is not trusted: problems, but no secret, no command and no request', async () => {
        await code.show('number.yaml', 8, 41);
        await code.shown('.statusbar-item', /staging.*1/).waitFor();
        await code.run('Problems: Focus on Problems View');
        await code.shown('.markers-panel .monaco-list-row', 'no manifest declares Agent/d').waitFor();
        expect(await code.offers('voxform: ')).toEqual([]);
        expect(await code.notifications()).toEqual([]);
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
        await expect.poll(() => manifest('agent.yaml'), { timeout: 60_000 }).toContain('name: noon');
      });
      await step('a prompt leads to its agents', async () => {
        await code.show('day.md');
        await code.shown('.codelens-decoration', 'Used by Agent/noon').waitFor();
      });
      await step('plan, with a key that is asked for once, and what it says above the resource', async () => {
        expect(emulator.requests).toEqual([]);
        await code.show('agent.yaml');
        await code.run('voxform: Plan');
        await code.pick('staging');
        await code.answer(API_KEY);
        await code.report('voxform plan: staging').getByText('Agent/noon').first().waitFor();
        await code.shown('.codelens-decoration', 'not created yet in staging').waitFor();
      });
      await step('drift, without another question', async () => {
        await code.run('voxform: Drift');
        await code.pick('staging');
        await code.report('voxform drift: staging').locator('h1').waitFor();
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
        expect(emulator.requests.filter(({ method }) => method !== 'GET')).toEqual([]);
      });
    },
  );
});
