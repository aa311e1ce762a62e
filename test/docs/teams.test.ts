import { copyFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { git, newRepository } from '../state/backends/git/git-server.ts';
import { freshDatabase } from '../state/backends/postgres/databases.ts';
import { Voices } from './voices.ts';

/** @module-tag long */

it('docs/policies.md shows the actual output', async () => {
  await using voices = await Voices.open();
  const page = voices.page('docs/policies.md');
  const project = await voices.read('voxform.yaml');
  await voices.folder.write('voxform.yaml', `${project}${page.block('yaml').split('\n').slice(1).join('\n')}`);
  await voices.edit('manifests/agents.yaml', 'max_call_duration_ms: 600000', 'max_call_duration_ms: 3600000');
  await page.next('voxform validate', { code: 1 });
  const valid = await voices.read('voxform.yaml');
  await voices.folder.write('voxform.yaml', valid.replaceAll('max_call_duration_ms', 'max_call_duration'));
  await page.next('voxform validate', { code: 1 });
  await voices.folder.write('rules.yaml', valid.slice(valid.indexOf('policies:')));
  page.stand('/etc/voxform/policies.yaml', path.join(voices.folder.root, 'rules.yaml'));
  await voices.folder.write('voxform.yaml', project);
  await page.next('voxform plan --policy', { code: 1 });
  await voices.folder.write('voxform.yaml', valid);
  await page.next('voxform apply --waive');
  page.end();
});

const WORKSPACE = { workspace: 'staging', isApplied: false };

it('docs/state.md shows commands and orphans', async () => {
  await using voices = await Voices.open(WORKSPACE);
  await voices.run('apply', '--auto-approve');
  const commands = voices.page('docs/state.md', 'Commands');
  await commands.through('voxform state list', 'voxform state show');
  commands.end();
  await voices.run('state', 'rm', 'Webhook/appointments');
  await voices.run('state', 'rm', 'PhoneNumber/front-desk');
  const orphans = voices.page('docs/state.md', 'Orphans');
  orphans.stand('01KDVDNGTR2JXWZ6N5NS7D624A', [...voices.emulator.world.webhooks.keys()][0] ?? '');
  for (let count = 0; count < 4; count++) await orphans.next('voxform orphans');
  orphans.end();
  expect(JSON.parse((await voices.run('orphans', '--output', 'json')).stdout)).toEqual([]);
});

it.each([
  { cut: 'after', taken: 'voxform import', left: 'voxform state resolve' },
  { cut: 'before', taken: 'voxform state resolve', left: 'voxform import' },
])('docs/state.md resolves a create whose connection was cut $cut the commit', async ({ cut, taken, left }) => {
  await using voices = await Voices.open(WORKSPACE);
  const page = voices.page('docs/state.md', 'Unknown creates');
  await fetch(`${voices.emulator.url}/__emulator/faults`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ match: { method: 'POST', path: '/api/v1/agents' }, fault: { cut } }),
  });
  await voices.fails('apply', '--auto-approve');
  page.stand('01KDVDNCXR9BT2FXHXPM7MWQFD', voices.agent);
  // The page shows both commands. Only one of them applies here.
  if (cut === 'before') page.skip(left);
  await page.next(taken);
  if (cut === 'after') page.skip(left);
  page.end();
  await voices.run('apply', '--auto-approve');
  expect(voices.emulator.world.agents.size).toBe(1);
});

it('docs/state.md repairs damaged, older and moved states', async () => {
  await using voices = await Voices.open(WORKSPACE);
  const folder = path.join(voices.folder.root, '.voxform');
  const state = path.join(folder, 'staging.state.json');
  const newest = async (): Promise<string> => {
    const serials = (await readdir(folder)).flatMap((name) => /backup-(\d+)$/.exec(name)?.[1] ?? []);
    return String(Math.max(...serials.map(Number)));
  };
  await voices.run('apply', '--auto-approve');
  const first = await newest();

  const damaged = voices.page('docs/state.md', 'Restore a damaged or missing state');
  damaged.stand('backup-12', `backup-${first}`);
  await voices.folder.write('copy.json', (await voices.run('state', 'pull')).stdout);
  await voices.folder.write('.voxform/staging.state.json', '{');
  await damaged.through('cp', 'voxform state push --force');
  damaged.end();

  await voices.edit('manifests/webhooks.yaml', 'name: appointments', 'name: bookings');
  await voices.run('apply', '--auto-approve');
  const older = voices.page('docs/state.md', 'An older state');
  older.stand('backup-12', `backup-${await newest()}`);
  await copyFile(path.join(folder, `staging.state.json.backup-${first}`), state);
  await older.next('voxform state push');
  await older.next('voxform apply');
  older.end();

  await voices.edit('voxform.yaml', 'default_workspace: staging', 'default_workspace: production');
  await voices.edit('voxform.yaml', '  staging:', '  production:');
  const moved = voices.page('docs/state.md', 'Move a state');
  await moved.next('voxform state move');
  moved.end();
  expect((await voices.run('plan')).stdout).toContain('No changes.');
});

it('docs/shared-states.md shows a state in Git', async () => {
  await using voices = await Voices.open(WORKSPACE);
  newRepository(voices.folder.root);
  await voices.edit('voxform.yaml', '{ backend: local }', '{ backend: git }');
  await voices.run('apply', '--auto-approve');
  const page = voices.page('docs/shared-states.md', 'Git');
  await page.through('git fetch', 'git log', 'git show', 'voxform state push');
  page.end();
});

it('docs/shared-states.md shows a state in PostgreSQL', async () => {
  const { url } = await freshDatabase();
  await using voices = await Voices.open({ ...WORKSPACE, env: { STATE_URL: url } });
  const page = voices.page('docs/shared-states.md', 'PostgreSQL');
  page.stand('-d DATABASE', `-d ${url}`);
  await voices.edit('voxform.yaml', 'state: { backend: local }\n', page.block('yaml'));
  await page.next('voxform state init');
  await voices.run('apply', '--auto-approve');
  await page.through('psql', 'voxform state push');
  page.end();
});

it('docs/ci.md moves the state', async () => {
  await using voices = await Voices.open({ ...WORKSPACE, isApplied: true });
  newRepository(voices.folder.root);
  git(voices.folder.root, 'config', 'user.name', 'Ann');
  git(voices.folder.root, 'config', 'user.email', 'ann@example.com');
  git(voices.folder.root, 'add', '--force', 'voxform.yaml', 'manifests', '.voxform');
  git(voices.folder.root, 'commit', '--quiet', '--message', 'With the state');
  const page = voices.page('docs/ci.md', 'The state');
  await voices.edit('voxform.yaml', 'state: { backend: local }\n', page.block('yaml'));
  await page.through('voxform state move', 'git commit');
  page.end();
  expect((await voices.run('plan')).stdout).toContain('No changes.');
});

it('docs/watching.md shows the actual output', async () => {
  await using voices = await Voices.open();
  const { root } = voices.folder;
  const page = voices.page('docs/watching.md');
  page.stand('127.0.0.1:9464', '127.0.0.1:0');
  await page.next('voxform watch', { until: /in sync/ });
  await voices.edit('manifests/agents.yaml', 'temperature: 0.3', 'temperature: 0.4');
  await page.next('voxform watch --mode apply', { until: /updated Agent/ });
  expect(voices.emulator.world.agents.get(voices.agent)).toMatchObject({ llm_config: { temperature: 0.4 } });
  newRepository(root, path.join(root, 'origin.git'));
  git(root, 'add', 'voxform.yaml', 'manifests', 'prompts');
  git(root, 'commit', '--quiet', '--message', 'Voices');
  git(root, 'push', '--quiet', 'origin', 'main');
  page.stand('https://git.example.com/team/voice.git', path.join(root, 'origin.git'));
  page.stand('--path voice', '--path .');
  await page.next('voxform watch --git', { until: /in sync/ });
  page.end();
});
