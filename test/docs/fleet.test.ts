import path from 'node:path';
import { expect, it } from 'vitest';
import { startEmulator } from '../../src/emulator/start-emulator.ts';
import { temporaryFolder } from '../cli/voxform-process.ts';
import { agentManifest } from '../cli/workspace.ts';
import { git, newRepository } from '../state/backends/git/git-server.ts';
import { freshDatabase } from '../state/backends/postgres/databases.ts';
import { command } from '../trust/in-process.ts';
import { openPage } from './page.ts';

/** @module-tag long */

const ADDRESS = 'voices/clients/acme:production';

it('docs/fleet.md shows the actual output', async () => {
  await using production = await startEmulator({ seed: 1 });
  await using staging = await startEmulator({ seed: 2, workspaceId: '01JEMV1AT0RW0RKSPACE000002' });
  const workspace = ({ url, workspaceId }: typeof staging) =>
    `{ base_url: "${url}", workspace_id: ${workspaceId}, api_key: { $secret: API_KEY } }`;
  await using folder = await temporaryFolder({
    'voices/clients/acme/voxform.yaml': `version: 1\nworkspaces:\n  production: ${workspace(production)}\n  staging: ${workspace(staging)}\n`,
    'voices/clients/acme/manifests/night.yaml': agentManifest('night'),
    'secrets/clients/acme/API_KEY': 'any',
  });
  const repository = path.join(folder.root, 'voices');
  newRepository(repository, path.join(folder.root, 'voices.git'));
  git(repository, 'add', 'clients');
  git(repository, 'commit', '--quiet', '--message', 'Acme');
  git(repository, 'push', '--quiet', 'origin', 'main');

  const { url } = await freshDatabase();
  const env = { FLEET_DATABASE_URL: url };
  const page = openPage('docs/fleet.md', {
    folder,
    env,
    stands: {
      'https://git.example.com/agency/voices.git': path.join(folder.root, 'voices.git'),
      '/run/secrets': path.join(folder.root, 'secrets'),
      '127.0.0.1:9095': '127.0.0.1:0',
    },
  });
  const fleet = async (...args: string[]) => (await command(['fleet', ...args], { cwd: folder.root, env })).stdout;
  const statuses = async () =>
    JSON.parse(await fleet('status', '--output', 'json')).workspaces.map(
      ({ status }: { readonly status: string }) => status,
    );
  const until = (wanted: readonly string[]) => expect.poll(statuses, { interval: 50 }).toEqual(wanted);
  /** Replaces the plan of the page with the pending one. */
  const standFor = async (plan: string) => {
    const [, id = ''] = /fleet approve \S+ ([0-9a-f]{12})/.exec(await fleet('show', ADDRESS)) ?? [];
    page.stand(plan, id);
  };

  await folder.write('fleet.yaml', page.block('yaml'));
  await page.through('export', 'voxform fleet init');
  await using _ = page.start('voxform fleet serve');
  await until(['waiting', 'in-sync']);
  await page.next('voxform fleet status');
  await standFor('d7b1be51bf3c');
  await page.through('voxform fleet show', 'voxform fleet approve');
  await until(['in-sync', 'in-sync']);
  const [agent] = [...production.world.agents.values()];
  production.dashboard.edit('agents', agent?.id ?? '', { prompt_config: { prompt: 'Be quiet.' } });
  await fleet('run', ADDRESS);
  await until(['waiting', 'in-sync']);
  await standFor('5a02c7e94b1d');
  await page.next('voxform fleet reject');
  page.stand('01KDVDNCXR9BT2FXHXPM7MWQFD', agent?.id ?? '');
  await page.through('voxform fleet exec', 'voxform fleet exec', 'voxform fleet exec');
  page.end();

  const tokens = openPage('docs/page.md', { folder, env, section: 'A fleet' });
  tokens.skip('voxform fleet serve');
  await tokens.through('voxform fleet token add', 'voxform fleet token list', 'voxform fleet token remove');
  tokens.end();
});
