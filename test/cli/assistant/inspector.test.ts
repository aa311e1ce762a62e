/** @module-tag long */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, it } from 'vitest';
import { API_KEY, agentManifest, type TestWorkspace, testWorkspace } from '../workspace.ts';

const INSPECTOR = (process.env.PATH ?? '')
  .split(path.delimiter)
  .map((folder) => path.join(folder, 'mcp-inspector'))
  .find((file) => existsSync(file));

async function inspected({ folder }: TestWorkspace, ...args: string[]): Promise<string> {
  const server = [process.execPath, path.join(inject('built'), 'main.js'), 'mcp', '-C', folder.root];
  const env = { PATH: process.env.PATH, HOME: folder.root };
  const { stdout } = await promisify(execFile)(
    INSPECTOR ?? '',
    ['--cli', '-e', `VOXFORM_API_KEY=${API_KEY}`, ...server, ...args],
    {
      env: { ...env, MCP_STORAGE_DIR: path.join(folder.root, 'inspector') },
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  return stdout;
}

const title = `finds tools, results and resources in order${INSPECTOR ? '' : ' (NOT TESTED: no mcp-inspector)'}`;

it.skipIf(INSPECTOR === undefined)(title, async () => {
  await using workspace = await testWorkspace({ 'manifests/day.yaml': agentManifest('day') });
  const { tools } = JSON.parse(await inspected(workspace, '--method', 'tools/list', '--strict'));
  expect(tools).toHaveLength(11);
  const call = ['--method', 'tools/call', '--tool-name'];
  const plan = JSON.parse(await inspected(workspace, ...call, 'plan', '--tool-arg', 'target=["Agent/day"]'));
  expect(plan.structuredContent.result).toMatchObject({ summary: { create: 1 } });
  const topic = JSON.parse(await inspected(workspace, ...call, 'explain', '--tool-arg', 'topic=Agent.name'));
  expect(topic.structuredContent.result).toMatchObject({ path: 'Agent.name' });
  const read = ['--method', 'resources/read', '--uri', 'voxform://project/manifests/day.yaml'];
  expect(JSON.parse(await inspected(workspace, ...read)).contents[0].text).toBe(agentManifest('day'));
});
