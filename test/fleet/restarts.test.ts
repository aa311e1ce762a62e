import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { fleetDatabaseAt } from '../../src/fleet/database/fleet-database.ts';
import { FleetNotifications } from '../../src/fleet/notifications.ts';
import { systemClock } from '../../src/operator/clock.ts';
import { Deliveries } from '../../src/operator/notifications/deliveries.ts';
import { projectFile } from '../cli/workspace.ts';
import { listenHttp } from '../platform/listen.ts';
import { step } from '../step.ts';
import { command } from '../trust/in-process.ts';
import { KEY, serverOptions } from './server-options.ts';
import { testFleet } from './test-fleet.ts';

const APPLY = 'workspaces: { "*": { mode: apply, interval: 1h } }';
const acme = 'voices/acme:test';

it('uses the last valid manifests after a restart', { tags: ['long'] }, async () => {
  const fleet = await testFleet({ projects: ['acme'], rules: APPLY });
  const emulator = fleet.emulators.get('acme');
  if (emulator === undefined) throw new Error('no platform');
  const begin = () => {
    const { sources } = serverOptions(fleet.folder.root, { url: fleet.pg.url, home: 'same' });
    return fleet.server({ sources });
  };
  let server = await begin();
  await fleet.until(async () => (await fleet.status(acme)) === 'in-sync');
  const restartWith = async (file: string, content: string, problem: string): Promise<void> => {
    await server.stop('restart');
    await fleet.folder.write(`acme/${file}`, content);
    const [agent] = emulator.world.agents.values();
    if (agent === undefined) throw new Error('nothing was applied');
    agent.prompt_config = { ...agent.prompt_config, prompt: 'Changed in the dashboard.' };
    const writes = () => emulator.requests.filter(({ method }) => method !== 'GET').length;
    const before = writes();
    server = await begin();
    const row = async () => (await fleet.control.status({ address: acme })).workspaces[0];
    await fleet.until(async () => JSON.stringify((await row())?.last).includes(problem));
    const [restored] = emulator.world.agents.values();
    expect([restored?.prompt_config?.prompt, writes() - before]).toEqual(['One.', 1]);
    expect((await row())?.status).toBe('invalid');
  };
  await step('the manifests are invalid', () =>
    restartWith('manifests/a.yaml', 'kind: Agentt\n', 'unknown kind \\"Agentt\\"'),
  );
  await step('a project is too large to read', () =>
    restartWith('manifests/large.yaml', '#'.repeat(1_100_000), 'more than 1 MiB'),
  );
});

it('keeps the status of a workspace whose load is stopped', { tags: ['long'] }, async () => {
  const fleet = await testFleet({ projects: ['acme'], rules: APPLY });
  const { folder, reports } = fleet;
  const emulator = fleet.emulators.get('acme');
  if (emulator === undefined) throw new Error('no platform');
  const file = await readFile(path.join(folder.root, 'fleet.yaml'), 'utf8');
  await folder.write('fleet.yaml', file.replace('projects:', 'allow_commands: true, projects:'));
  const server = await fleet.server();
  await fleet.until(async () => (await fleet.status(acme)) === 'in-sync');
  const started = path.join(folder.root, 'started');
  const slow = JSON.stringify(['sh', '-c', `touch ${started}; exec sleep 600`, '{name}']);
  await folder.write('acme/voxform.yaml', projectFile(emulator, `secrets: [{ command: ${slow} }]\n`));
  await fleet.until(() => existsSync(started));
  await server.stop('restart');
  expect(reports.at(-1)?.report).toMatchObject({ result: 'interrupted', invalid: undefined });
  const { workspaces } = await fleet.control.status({ address: acme });
  expect(workspaces).toMatchObject([{ status: 'in-sync', last: { problems: [] } }]);
});

it('notifies a receiver at least once, and does not repeat delivered notifications', { tags: ['long'] }, async () => {
  const fleet = await testFleet({ projects: ['acme'], rules: 'workspaces: { "*": { interval: 1h } }' });
  const emulator = fleet.emulators.get('acme');
  if (emulator === undefined) throw new Error('no platform');
  let isSilent = true;
  const { url, seen } = await listenHttp((_, response) => void (isSilent || response.end()));
  const own = projectFile(emulator, `notify: [{ url: "${url}/hook", on: [changes, failure] }]\n`);
  await fleet.folder.write('acme/voxform.yaml', own);
  const serveOnce = async (): Promise<void> => {
    const database = fleetDatabaseAt(fleet.pg.url);
    const deliveries = new Deliveries({ clock: systemClock, random: Math.random });
    const notifications = new FleetNotifications({ database, deliveries, onResult() {} });
    let runs = 0;
    const server = await fleet.server({
      database,
      onRun({ address }, { report, redact }) {
        if (report === undefined) return;
        runs += 1;
        notifications.finished(address, { report, redact, log: { entry() {} } });
      },
    });
    if (seen.length > 0) await fleet.control.run([acme], 'ann');
    await fleet.until(() => runs > 0 && (!isSilent || seen.length > 0));
    await server.stop('restart');
    await notifications.end(isSilent ? 0 : 10_000);
  };
  const events = () => seen.map(({ body }) => JSON.parse(body).event);
  await step('a process ends before it receives the response', serveOnce);
  expect(events()).toEqual(['changes']);
  isSilent = false;
  await step('the next process cannot know this, and sends the notification again', serveOnce);
  expect(events()).toEqual(['changes', 'changes']);
  await step('the notification is not sent again', serveOnce);
  expect(seen).toHaveLength(2);
  await fleet.write('acme', 'Two.');
  await step('notifications of other events are sent', serveOnce);
  expect(seen).toHaveLength(3);
});

it('refuses to create a second state beside a local one, and explains how to move it', async () => {
  const fleet = await testFleet({ projects: ['acme'], rules: APPLY });
  const cwd = path.join(fleet.folder.root, 'acme');
  const env = { VOXFORM_API_KEY: KEY, FLEET_DATABASE_URL: fleet.pg.url };
  expect((await command(['apply', '--auto-approve'], { cwd, env })).code).toBe(0);
  await fleet.server();
  await fleet.until(async () => (await fleet.status(acme)) === 'failed');
  const { workspaces } = await fleet.control.status({ address: acme });
  const { error = '' } = (workspaces[0]?.last ?? {}) as { readonly error?: string };
  expect(error).toContain('acme/.voxform/test.state.json, with 1 record, belongs to the same workspace');
  const [, words = ''] = /Move it here: voxform ([^.]*\.voxform\S*\.json)\. To start/.exec(error) ?? [];
  expect(words).toBe(`fleet exec ${acme} -- state move --from acme/.voxform/test.state.json`);
  await step('the moved state continues in the fleet', async () => {
    const { VOXFORM_API_KEY: _, ...own } = env;
    const moved = await command(words.split(' '), { cwd: fleet.folder.root, env: own });
    expect([moved.code, moved.stderr]).toEqual([0, expect.any(String)]);
    await fleet.control.run([acme], 'ann');
    await fleet.until(async () => (await fleet.status(acme)) === 'in-sync');
  });
  expect(fleet.emulators.get('acme')?.world.agents.size).toBe(1);
});
