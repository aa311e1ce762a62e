import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { startEmulator } from '../../src/emulator/start-emulator.ts';
import { temporaryFolder } from '../cli/voxform-process.ts';
import { agentManifest } from '../cli/workspace.ts';
import { twoWorkspaces } from '../runs/two-workspaces.ts';
import { unmanagedWorkspace } from '../runs/unmanaged-workspace.ts';
import { command } from '../trust/in-process.ts';
import { openPage } from './page.ts';

/** @module-tag long */

it('docs/workspaces.md leads from an existing workspace to staging and production', async () => {
  await using old = await unmanagedWorkspace();
  await using staging = await startEmulator({ seed: 2, workspaceId: '01JEMV1AT0RW0RKSPACE000002' });
  const { emulator: production } = old;
  const base = production.dashboard.addKnowledgeBase({ name: 'FAQ' });
  const desk = await old.agent({ name: 'Desk', llm_config: { knowledge_base_ids: [base.id] } });
  for (let index = 0; index < 9; index++)
    await old.number(`+493011${index}`, { inbound_agent_id: await old.agent({ name: `Line ${index}` }) });
  await old.number('+4930222', { inbound_agent_id: desk });
  const hook = await old.webhook({ url: 'https://hooks.example.com/calls' });
  await using folder = await temporaryFolder({ 'webhooks.txt': hook });
  const { url, workspaceId } = production;
  const stands = { 'https://api.example.com': url, '01JEMV1AT0RW0RKSPACE000001': workspaceId };
  const page = openPage('docs/workspaces.md', { folder, stands });
  const keys = { PRODUCTION_API_KEY: 'any', STAGING_API_KEY: 'any' };
  const summaryOf = async (workspace: string) => {
    const args = ['plan', '-w', workspace, '--output', 'json'];
    const { stdout } = await command(args, { cwd: path.join(folder.root, 'voices'), env: keys });
    return (JSON.parse(stdout) as { summary: unknown }).summary;
  };

  await page.through('export', 'voxform export', 'unset', 'cd voices');
  const exported = await readFile(path.join(folder.root, 'voices/voxform.yaml'), 'utf8');
  expect(exported).toContain(`Agent/desk: ${desk}`);
  const renamed = exported.replace('  default:', '  production:').replace('VOXFORM_API_KEY', 'PRODUCTION_API_KEY');
  await folder.write('voices/voxform.yaml', `${renamed}${page.block('yaml').replace(url, staging.url)}`);
  await page.through('export', 'voxform validate', 'voxform plan -w production');
  expect(await summaryOf('production')).toMatchObject({ adopt: 21, create: 0, update: 0, blocked: 0 });
  const writes = production.requests.filter(({ method }) => method !== 'GET').length;
  await page.through('voxform apply -w production', 'voxform plan -w staging');
  expect(await summaryOf('staging')).toMatchObject({ create: 10, manual: 1, blocked: 0 });
  staging.dashboard.addKnowledgeBase({ name: 'FAQ' });
  await page.next('voxform apply -w staging');
  expect(production.requests.filter(({ method }) => method !== 'GET')).toHaveLength(writes);
  expect([...staging.world.webhooks.values()]).toMatchObject([{ url: 'https://hooks.example.com/staging' }]);

  const manifest = await readFile(path.join(folder.root, 'voices/manifests/agents/desk.yaml'), 'utf8');
  await folder.write('voices/manifests/agents/desk.yaml', manifest.replace('name: Desk', 'name: Front desk'));
  await page.through('voxform apply -w staging', 'voxform plan -w production', 'voxform apply -w production');
  await page.next('voxform plan --all-workspaces');
  expect(production.world.agents.get(desk)).toMatchObject({ name: 'Front desk' });

  await folder.write('voices/manifests/agents/desk.yaml', manifest.replace('name: Desk', 'name: Main desk'));
  await page.through('voxform plan --workspace staging', 'voxform apply --workspace staging');
  expect(production.world.agents.get(desk), 'not promoted yet').toMatchObject({ name: 'Front desk' });
  await page.through('voxform plan --workspace production', 'voxform apply --workspace production');
  expect(production.world.agents.get(desk)).toMatchObject({ name: 'Main desk' });
  await page.through('voxform plan --workspace staging --workspace', 'voxform plan --all-workspaces');
  production.dashboard.edit('agents', desk, { name: 'Reception' });
  await page.next('voxform diff');
  page.end();
});

it('plan blocks ids of another workspace in one message, and ignores them in a workspace with its own ids', async () => {
  await using folder = await temporaryFolder();
  const ignoring = openPage('docs/workspaces.md', { folder }).block('yaml', 2);
  const names = Array.from({ length: 9 }, (_, index) => `line-${index}`);
  const manifests = names.map((name) =>
    agentManifest(name).replace(`name: ${name}`, `name: ${name}\n  id: 01OF${name}`),
  );
  const own = ignoring.replace(/^.*\n/, '');
  await using blocked = await twoWorkspaces(manifests.join('---\n'));
  const plan = await blocked.run(['plan', '-w', 'staging']);
  expect(plan.code).toBe(0);
  expect(plan.stdout).toContain('9 blocked');
  expect(plan.stdout.match(/ids: \{\}/g)).toHaveLength(1);
  await using ignored = await twoWorkspaces(manifests.join('---\n'), { staging: own });
  const { stdout } = await ignored.run(['plan', '-w', 'staging', '--output', 'json']);
  expect((JSON.parse(stdout) as { summary: unknown }).summary).toMatchObject({ create: 9, blocked: 0 });
});
