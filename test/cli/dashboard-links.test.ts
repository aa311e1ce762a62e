import { expect, it } from 'vitest';
import type { PlanDocument } from '../../src/engine/plan/plan-document.ts';
import { step } from '../step.ts';
import { agentManifest, projectFile, testWorkspace, webhookManifest } from './workspace.ts';

const APP = 'https://app.example.com';
const line = (nickname: string) =>
  `apiVersion: voxform/v1\nkind: PhoneNumber\nmetadata: { name: line }\nspec: { number: "+12025550120", nickname: ${nickname} }\n`;
const USER =
  'apiVersion: voxform/v1\nkind: WorkspaceUser\nmetadata: { name: jo }\nspec: { email: jo@example.com, role: member }\n';

it('links every manual step, orphan and unknown create to the dashboard', async () => {
  await using workspace = await testWorkspace({
    'manifests/a.yaml': `${agentManifest('day')}---\n${agentManifest('night')}`,
    'manifests/n.yaml': line('Front'),
  });
  const { folder, emulator } = workspace;
  const links = `    dashboard: { agent: "${APP}/agents/{id}", number: "${APP}/numbers?id={id}", webhook: "${APP}/hooks/{id}", user: "${APP}/users/{id}" }\n`;
  await folder.write('voxform.yaml', projectFile(emulator, links));
  const urls = async (...args: string[]) => {
    const { stdout } = await workspace.run(...args, '--output', 'json');
    const { resources } = JSON.parse(stdout) as PlanDocument;
    return new Map(resources.map(({ address, id, url }) => [address, { id, url }]));
  };

  const ids = await step('the new agent in the result of apply', async () => {
    const applied = await urls('apply', '--auto-approve');
    const day = applied.get('Agent/day');
    expect(day?.url).toBe(`${APP}/agents/${day?.id}`);
    return applied;
  });
  const [night, number] = ['Agent/night', 'PhoneNumber/line'].map((address) => ids.get(address)?.id);

  await folder.write('manifests/a.yaml', agentManifest('day'));
  await folder.write('manifests/n.yaml', line('Desk'));
  await folder.write('manifests/u.yaml', USER);
  await folder.write('manifests/w.yaml', webhookManifest('hook', 'https://example.com/hook'));
  const expected = {
    'PhoneNumber/line': `${APP}/numbers?id=${number}`,
    'WorkspaceUser/jo': `${APP}/users`,
    'Agent/night': `${APP}/agents/${night}`,
  };
  await step('the resources of a plan in every format', async () => {
    const planned = await urls('plan');
    expect(planned.get('Webhook/hook')?.url).toBeUndefined();
    for (const [address, url] of Object.entries(expected)) {
      expect(planned.get(address)?.url, address).toBe(url);
      for (const format of ['text', 'markdown', 'html'])
        expect((await workspace.run('plan', '--output', format)).stdout, format).toContain(url);
    }
  });

  await step('an unknown create in apply, plan, status and state resolve', async () => {
    emulator.faults.add({
      match: { method: 'POST' },
      fault: { status: 201, commit: true, body: { data: { id: ' ' } } },
    });
    const applied = await workspace.run('apply', '--auto-approve', '--target', 'Webhook/hook');
    expect(applied.stdout).toContain(`${APP}/hooks\n`);
    await folder.write('manifests/w.yaml', webhookManifest('hook', 'https://example.com/other'));
    expect((await urls('plan')).get('Webhook/hook')?.url).toMatch(`${APP}/hooks`);
    for (const format of ['text', 'markdown', 'html'])
      expect((await workspace.run('plan', '--output', format)).stdout, format).toContain(`${APP}/hooks`);
    expect((await workspace.run('status', '--output', 'json')).stdout).toContain(`"url": "${APP}/hooks`);
    expect((await workspace.run('state', 'resolve', '--all', '--not-created')).stdout).toContain(`${APP}/hooks`);
    expect((await workspace.run('status')).stdout).toContain(`${APP}/hooks`);
  });

  await step('an orphan', async () => {
    await workspace.run('apply', '--auto-approve', '--target', 'Agent/night', '--allow-large-change');
    const { stdout } = await workspace.run('orphans', '--output', 'json');
    expect(JSON.parse(stdout)).toMatchObject([{ address: 'Agent/night', url: expected['Agent/night'] }]);
    expect((await workspace.run('orphans')).stdout).toContain(expected['Agent/night']);
  });

  await step('an unknown kind in the settings', async () => {
    await folder.write('voxform.yaml', projectFile(emulator, `    dashboard: { agnet: "${APP}/{id}" }\n`));
    const { code, stdout } = await workspace.run('validate', '--output', 'json');
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      diagnostics: [{ path: 'workspaces.test.dashboard.agnet', fix: { instead: ['agent'] } }],
    });
  });
});

it('links the list of records if many resources share a step or an unknown create', async () => {
  const names = Array.from({ length: 9 }, (_, index) => `a${index}`);
  await using workspace = await testWorkspace({
    'manifests/a.yaml': names.map((name) => agentManifest(name)).join('---\n'),
  });
  const { folder, emulator } = workspace;
  const links = `    dashboard: { agent: "${APP}/agents/{id}" }\n`;
  await folder.write('voxform.yaml', projectFile(emulator, links));
  const linked = new RegExp(`${APP}/agents(?![/\\w])`);

  await step('unknown creates share one item of a plan', async () => {
    const odd = {
      match: { method: 'POST' },
      fault: { status: 201, commit: false, body: { data: { id: ' ' } } },
    };
    for (let round = 0; round < 3; round += 1) {
      for (let each = 0; each < 3; each += 1) emulator.faults.add(odd);
      await workspace.run('apply', '--auto-approve', '--concurrency', '1');
    }
    const { stdout } = await workspace.run('plan');
    expect(stdout).toMatch(linked);
    expect(stdout.match(/state resolve/g)).toHaveLength(1);
    expect(stdout).toContain('--all');
    expect((await workspace.run('plan', '--output', 'markdown')).stdout).toMatch(linked);
    expect((await workspace.run('plan', '--full')).stdout.match(/state resolve/g)).toHaveLength(9);
  });
  await step('the result of state resolve', async () => {
    const { stdout } = await workspace.run('state', 'resolve', 'Agent/a0', '--not-created');
    expect(stdout).toMatch(linked);
    await workspace.run('state', 'resolve', '--all', '--not-created', '--auto-approve');
  });
  await step('agents that must be published', async () => {
    const { stdout } = await workspace.run('apply', '--auto-approve');
    expect(stdout).toMatch(linked);
  });
});
