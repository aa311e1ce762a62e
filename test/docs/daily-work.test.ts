import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { DriftProject, SECRETS } from '../hosting/drift-project.ts';
import { openPage } from './page.ts';
import { Voices } from './voices.ts';

it('docs/plan-and-apply.md shows the actual output', { tags: ['long'] }, async () => {
  await using voices = await Voices.open({ isApplied: false });
  const page = voices.page('docs/plan-and-apply.md');
  await page.through('voxform plan', 'voxform apply', 'voxform apply --auto-approve');
  for (let count = 0; count < 5; count++) await page.next('voxform plan');
  await voices.edit('prompts/receptionist.md', 'Never give medical advice.', 'Be friendly.');
  await page.through('voxform plan --out', 'voxform apply today.plan', 'voxform show', 'voxform show');
  await page.through('voxform status', 'voxform status');
  page.end();
});

it('docs/publishing.md shows the changes of a publication', async () => {
  await using voices = await Voices.open();
  voices.publish();
  voices.drift(0.9);
  const page = voices.page('docs/publishing.md', 'See what publishing would change');
  await page.next('voxform versions');
  voices.publish();
  await page.next('voxform apply');
  voices.publish();
  await page.next('voxform status');
  page.end();
});

it('docs/publishing.md shows a rollback', { tags: ['long'] }, async () => {
  await using voices = await Voices.open();
  voices.publish();
  voices.drift(0.9);
  voices.publish();
  const page = voices.page('docs/publishing.md', 'Roll back to a published version');
  for (let count = 0; count < 4; count++) await page.next('voxform versions');
  await page.through('voxform rollback', 'voxform rollback', 'voxform apply');
  page.end();
});

it('docs/accepting-drift.md shows the actual output', { tags: ['long'] }, async () => {
  await using voices = await Voices.open();
  voices.drift(0.5);
  const page = voices.page('docs/accepting-drift.md');
  await page.through('voxform accept --dry-run', 'voxform accept', 'voxform accept', 'voxform accept');
  expect(await voices.read('manifests/agents.yaml')).toContain('temperature: 0.5');
});

it('docs/accepting-drift.md shows a pull request', { tags: ['long'] }, async () => {
  await using project = await DriftProject.open('github');
  project.edit('day', { llm_config: { temperature: 0.9 } });
  const page = openPage('docs/accepting-drift.md', {
    folder: project.home,
    cwd: project.clone,
    env: SECRETS,
    stands: { 'https://github.com': new URL(project.host.remote).origin, 'pull/7': 'pull/101' },
    section: 'Drift as a pull request',
  });
  await page.through('export', 'voxform accept --pull-request --dry-run', 'voxform accept --pull-request');
  page.skip('voxform watch');
  page.end();
  expect(project.host.requests).toMatchObject([{ state: 'open' }]);
});

it('docs/reading.md shows the actual output', { tags: ['long'] }, async () => {
  await using voices = await Voices.open();
  voices.publish();
  voices.emulator.dashboard.recordCall({ agent_id: voices.agent });
  const page = voices.page('docs/reading.md');
  for (let count = 0; count < 7; count++) await page.next('voxform get');
  await page.next('voxform get calls');
  await voices.run('state', 'mv', 'Webhook/appointments', 'Webhook/bookings');
  const [, id = '', who = ''] = /^(\w+) .* (\S+@\S+) +apply/m.exec((await voices.run('history')).stdout) ?? [];
  page.stand('32a833a9', id);
  page.stand('ann@laptop', who);
  await page.next('voxform history');
  await page.through('voxform history Agent', 'voxform history show');
  for (let count = 0; count < 3; count++) await page.next('voxform graph');
  page.end();
});

it('docs/publishing.md shows the impact on calls', { tags: ['long'] }, async () => {
  const text = readFileSync(path.resolve(import.meta.dirname, '../../docs/publishing.md'), 'utf8');
  const [, behaviour = ''] = /--behaviour '([^']*)'/.exec(text) ?? [];
  await using voices = await Voices.open({
    seed: 'demo',
    behaviour: JSON.parse(behaviour),
    isApplied: false,
  });
  const page = voices.page('docs/publishing.md', 'Measure the impact on calls');
  page.skip('voxform impact');
  page.skip('voxform emulator');
  await page.next('export');
  await page.next('voxform init', { typed: '\n' });
  await page.next('cd voices');
  await voices.edit('voices/voxform.yaml', 'http://127.0.0.1:4010', voices.emulator.url);
  await page.through('voxform apply', 'AGENT=', 'curl', 'echo', 'voxform apply', 'curl');
  await page.through('voxform impact', 'voxform impact');
  page.end();
});

it('docs/manifests.md shows the actual output', async () => {
  await using voices = await Voices.open({ isApplied: false });
  const page = voices.page('docs/manifests.md');
  for (let count = 0; count < 4; count++) await page.next('voxform fmt');
  page.end();
});

it('docs/emulator.md shows the actual output', async () => {
  await using voices = await Voices.open({ isApplied: false });
  const page = voices.page('docs/emulator.md');
  page.skip('voxform emulator');
  page.skip('voxform emulator');
  await page.next('curl');
  page.end();
  await voices.fails('apply', '--auto-approve');
  expect(voices.emulator.world.agents.size, 'the connection was cut after the create').toBe(1);
});
