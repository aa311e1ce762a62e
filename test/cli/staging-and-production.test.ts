import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { startEmulator } from '../../src/emulator/start-emulator.ts';
import { twoWorkspaces } from '../runs/two-workspaces.ts';
import { unmanagedWorkspace } from '../runs/unmanaged-workspace.ts';
import { type CommandResult, command } from '../trust/in-process.ts';
import { temporaryFolder } from './voxform-process.ts';
import { agentManifest } from './workspace.ts';

const PAGE =
  readFileSync(path.resolve(import.meta.dirname, '../../docs/workspaces.md'), 'utf8')
    .split('## From one existing workspace')[1]
    ?.split('\n## ')[0] ?? '';

it('goes from an existing workspace to staging and production as the page says', async () => {
  const shown = [...PAGE.matchAll(/^\$ voxform (.*)$/gm)].map(([, line = '']) => line);
  const [block = ''] = [...PAGE.matchAll(/```yaml\n([^`]*)```/g)].map(([, text = '']) => text);
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
  const exporting = { VOXFORM_BASE_URL: url, VOXFORM_WORKSPACE_ID: workspaceId, VOXFORM_API_KEY: 'key' };
  const keys = { PRODUCTION_API_KEY: 'key-of-production', STAGING_API_KEY: 'key-of-staging' };
  const run = (line: string): Promise<CommandResult> =>
    command(line.split(' '), { cwd: path.join(folder.root, 'voices'), env: keys });
  /** The next command of the page, which must succeed. */
  const next = async (beginning: string): Promise<CommandResult> => {
    const line = shown.shift() ?? '';
    expect(line).toMatch(new RegExp(`^${beginning}`));
    const result = line.startsWith('export')
      ? await command(line.split(' '), { cwd: folder.root, env: exporting })
      : await run(line);
    expect(result, `${line}\n${result.stdout}${result.stderr}`).toMatchObject({ code: 0 });
    return result;
  };
  const summaryOf = async (workspace: string) =>
    (JSON.parse((await run(`plan -w ${workspace} --output json`)).stdout) as { summary: unknown }).summary;

  await next('export');
  const project = path.join(folder.root, 'voices/voxform.yaml');
  const exported = await readFile(project, 'utf8');
  expect(exported).toContain(`Agent/desk: ${desk}`);
  const renamed = exported
    .replace('  default:', '  production:')
    .replace('VOXFORM_API_KEY', 'PRODUCTION_API_KEY');
  await folder.write(
    'voices/voxform.yaml',
    `${renamed}${block.replace('https://api.example.com', staging.url)}`,
  );
  await next('validate');

  await next('plan -w production');
  expect(await summaryOf('production')).toMatchObject({ adopt: 21, create: 0, update: 0, blocked: 0 });
  const writes = production.requests.filter(({ method }) => method !== 'GET').length;
  await next('apply -w production');

  await next('plan -w staging');
  expect(await summaryOf('staging')).toMatchObject({ create: 10, manual: 1, blocked: 0 });
  staging.dashboard.addKnowledgeBase({ name: 'FAQ' });
  await next('apply -w staging');
  expect(production.requests.filter(({ method }) => method !== 'GET')).toHaveLength(writes);
  expect([...staging.world.webhooks.values()]).toMatchObject([{ url: 'https://hooks.example.com/staging' }]);

  const manifest = await readFile(path.join(folder.root, 'voices/manifests/agents/desk.yaml'), 'utf8');
  await folder.write('voices/manifests/agents/desk.yaml', manifest.replace('name: Desk', 'name: Front desk'));
  await next('apply -w staging');
  await next('plan -w production');
  await next('apply -w production');
  await next('plan --all-workspaces --detailed-exitcode');
  expect(production.world.agents.get(desk)).toMatchObject({ name: 'Front desk' });
  expect(shown).toEqual([]);
});

it('blocks ids of another workspace in one message, and ignores them in a workspace with ids of its own', async () => {
  const [, ignoring = ''] = [...PAGE.matchAll(/```yaml\n([^`]*)```/g)].map(([, text = '']) => text);
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
