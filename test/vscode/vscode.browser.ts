import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { agent, editedProject } from '../editor/edited-project.ts';
import { step } from '../step.ts';
import { missing, VsCode } from './vscode-in-browser.ts';

const number = `apiVersion: voxform/v1
kind: PhoneNumber
metadata:
  name: main
spec:
  number: "+12025550101"
  inbound_agent_id: { $ref: Agent/day }
  outbound_agent_id: { $ref: Agent/d }
`;

describe('VS Code', () => {
  it.skipIf(missing !== undefined)(
    `serves a person who edits a project${missing === undefined ? '' : ` (NOT RUN: ${missing} IS MISSING)`}`,
    async () => {
      await using folder = await editedProject({ 'manifests/agent.yaml': agent, 'manifests/number.yaml': number });
      await using code = await VsCode.open(folder.root);
      await step('problems', async () => {
        await code.show('number.yaml', 8, 41);
        await code.run('Problems: Focus on Problems View');
        await code.shown('.markers-panel .monaco-list-row', 'no manifest declares Agent/d').waitFor();
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
      });
      await step('rename', async () => {
        await code.show('number.yaml', 7, 36);
        await code.press('F2');
        await code.page.locator('.rename-box input').fill('noon');
        await code.press('Enter');
        await code.shown('.view-line', 'Agent/noon').waitFor();
        await code.run('File: Save All');
        await expect
          .poll(() => readFile(path.join(folder.root, 'manifests/agent.yaml'), 'utf8'), { timeout: 60_000 })
          .toContain('name: noon');
      });
    },
  );
});
