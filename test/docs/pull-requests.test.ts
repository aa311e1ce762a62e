import { expect, it } from 'vitest';
import { startEmulator } from '../../src/emulator/start-emulator.ts';
import { temporaryFolder } from '../cli/voxform-process.ts';
import { agentManifest } from '../cli/workspace.ts';
import { REPOSITORY } from '../hosting/code-host-fake.ts';
import { FakeGithub } from '../hosting/fake-github.ts';
import { freshDatabase } from '../state/backends/postgres/databases.ts';
import { command } from '../trust/in-process.ts';
import { openPage } from './page.ts';

/** @module-tag long */

const MANIFEST = 'clients/acme/manifests/day.yaml';

it('docs/pull-requests.md shows the actual output', async () => {
  await using emulator = await startEmulator({ seed: 1 });
  const { url: base, workspaceId } = emulator;
  await using host = await FakeGithub.start({
    'clients/acme/voxform.yaml': `version: 1\nworkspaces:\n  production: { base_url: "${base}", workspace_id: ${workspaceId}, api_key: { $secret: ACME_API_KEY } }\n`,
    [MANIFEST]: agentManifest('day', 'One.'),
  });
  host.isPrivate = true;
  await using folder = await temporaryFolder();
  const { url } = await freshDatabase();
  const env = { FLEET_DATABASE_URL: url, ACME_API_KEY: 'any', APP_KEY: host.installApp(12345) };
  const page = openPage('docs/pull-requests.md', {
    folder,
    env,
    stands: {
      [`https://github.com/${REPOSITORY}.git`]: host.remote,
      'pull_requests: { app': 'pull_requests: { host: github, app',
      '127.0.0.1:9095': '127.0.0.1:0',
    },
  });
  await folder.write(
    'fleet.yaml',
    page.block('yaml').replace('version: 1\n', 'version: 1\ndatabase: { $secret: FLEET_DATABASE_URL }\n'),
  );
  await page.next('export');
  await using _ = page.start('voxform fleet serve');
  const fleet = async (...args: string[]) => (await command(['fleet', ...args], { cwd: folder.root, env })).stdout;
  const until = (what: () => Promise<unknown>, wanted: unknown) => expect.poll(what, { interval: 100 }).toEqual(wanted);
  const statuses = async () =>
    JSON.parse(await fleet('status', '--output', 'json')).workspaces.map(
      (each: { readonly status: string }) => each.status,
    );
  await until(statuses, ['waiting']);
  const address = 'voices/clients/acme:production';
  const [, id = ''] = /fleet approve \S+ ([0-9a-f]{12})/.exec(await fleet('show', address)) ?? [];
  await fleet('approve', address, id);
  await until(statuses, ['in-sync']);

  const { number } = host.openRequest({
    branch: 'warm',
    title: 'Warmer greeting',
    files: { [MANIFEST]: agentManifest('day', 'Two.') },
  });
  await until(async () => JSON.parse(await fleet('pulls', '--output', 'json')).pulls[0]?.status, 'planned');
  page.stand('voices#41', `voices#${number}`);
  page.stand('7d81c3a52e', (host.repository.head('warm') ?? '').slice(0, 10));
  page.stand('2 changes, 1 unchanged', '1 changes');
  await page.next('voxform fleet pulls');
  page.end();
  expect(host.comments(number)).toHaveLength(1);
  host.review(number, 'bob', 'approve');
  host.mergeBy(number, 'squash');
  const prompts = async () => JSON.stringify([...emulator.world.agents.values()]).includes('Two.');
  await until(prompts, true);
});
