/** @module-tag long */

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { fleetFigures } from '../../src/fleet/rows/status-rows.ts';
import { serverOptions } from './server-options.ts';
import { type TestFleet, testFleet } from './test-fleet.ts';

const acme = 'voices/acme:test';
const rule = (mode: string, interval = '1h') => `workspaces: { "*": { mode: ${mode}, interval: ${interval} } }`;

/** Waits for this many heartbeats: long enough for many polls. */
async function beats({ pg }: TestFleet, count: number): Promise<void> {
  const heard = async () =>
    String((await pg.sql('SELECT max(heard_at)::text AS at FROM voxform_fleet.processes'))[0]?.at);
  for (let seen = 0, last = await heard(); seen < count; ) {
    const now = await heard();
    if (now !== last) seen += 1;
    last = now;
  }
}

async function applyAndStop(fleet: TestFleet, count: number): Promise<void> {
  const server = await fleet.server();
  await fleet.until(async () => (await fleet.control.status({ statuses: ['in-sync'] })).workspaces.length === count);
  await server.stop('restart');
  await fleet.pg.sql('UPDATE voxform_fleet.workspaces SET due_at = now()');
}

it.each([
  { reason: 'the source cannot be fetched', isReachable: false },
  { reason: 'another process stored its rules before', isReachable: true },
])('uses the rules of its own fleet file if $reason', async ({ isReachable }) => {
  const fleet = await testFleet({ projects: ['acme'], rules: rule('apply') });
  await applyAndStop(fleet, 1);
  const emulator = fleet.emulators.get('acme');
  const [agent] = emulator?.world.agents.values() ?? [];
  if (emulator === undefined || agent === undefined) throw new Error('nothing was applied');
  agent.prompt_config = { ...agent.prompt_config, prompt: 'Changed in the dashboard.' };
  const before = emulator.requests.length;
  const file = readFileSync(path.join(fleet.folder.root, 'fleet.yaml'), 'utf8');
  await fleet.folder.write('fleet.yaml', file.replace(rule('apply'), rule('report', '2h')));
  const { sources } = serverOptions(fleet.folder.root, { url: fleet.pg.url, home: '1' });
  await fleet.server({
    sources: {
      ...sources,
      async discover(source, signal) {
        if (!isReachable) throw new Error('unreachable');
        const contents = await sources.discover(source, signal);
        const projects = contents.projects.map((project) => ({
          ...project,
          members: project.members.map((each) => ({ ...each, mode: 'apply' as const, interval: 7_200_000 })),
        }));
        return { ...contents, projects };
      },
    },
  });
  await fleet.until(async () => (await fleet.status(acme)) === 'drifted');
  expect(emulator.requests.slice(before).filter(({ method }) => method !== 'GET')).toEqual([]);
  expect((await fleet.control.status({})).workspaces).toMatchObject([{ intervalSeconds: 7200 }]);
});

it('runs no workspace of a source before it has stored its contents', async () => {
  const fleet = await testFleet({ projects: ['acme', 'beta'], rules: rule('apply') });
  await applyAndStop(fleet, 2);
  const text = (project: string) => readFileSync(path.join(fleet.folder.root, project, 'voxform.yaml'), 'utf8');
  await fleet.folder.write('beta/voxform.yaml', text('acme'));
  const emulator = fleet.emulators.get('acme');
  const before = emulator?.requests.length;
  const { sources } = serverOptions(fleet.folder.root, { url: fleet.pg.url, home: '1' });
  await fleet.server({
    timing: { tick: 20, beat: 200, heartbeatTimeout: 30_000 },
    sources: {
      ...sources,
      async discover(source, signal) {
        await beats(fleet, 4);
        return sources.discover(source, signal);
      },
    },
  });
  await fleet.until(async () => (await fleet.control.status({})).counts.failed === 2);
  expect(emulator?.requests.length).toBe(before);
});

const TWO_SOURCES = `version: 1
database: { $secret: FLEET_DATABASE_URL }
sources: { others: { path: ., projects: ["beta"] }, voices: { path: ., projects: ["acme"] } }
${rule('apply')}
`;

it('runs nothing before it has read every source, as two may contain one workspace', async () => {
  const fleet = await testFleet({ projects: ['acme', 'beta'] });
  const project = readFileSync(path.join(fleet.folder.root, 'acme/voxform.yaml'), 'utf8');
  await fleet.folder.write('beta/voxform.yaml', project);
  await fleet.folder.write('fleet.yaml', TWO_SOURCES);
  const { sources } = serverOptions(fleet.folder.root, { url: fleet.pg.url, home: '1' });
  await fleet.server({
    timing: { tick: 20, beat: 200, heartbeatTimeout: 30_000 },
    sources: {
      ...sources,
      async discover(source, signal) {
        if (source === 'others')
          await fleet.until(async () => (await fleet.control.status({})).workspaces.length === 1);
        if (source === 'others') await beats(fleet, 4);
        return sources.discover(source, signal);
      },
    },
  });
  await fleet.until(async () => (await fleet.control.status({})).counts.failed === 2);
  for (const { requests } of fleet.emulators.values()) expect(requests).toEqual([]);
});

it.each([
  { reason: 'is known from earlier', isKnown: true },
  { reason: 'was never fetched', isKnown: false },
])('does not wait indefinitely for a source that hangs and $reason', async ({ isKnown }) => {
  const fleet = await testFleet({ projects: ['acme', 'beta'] });
  await fleet.folder.write('fleet.yaml', TWO_SOURCES);
  if (isKnown) await applyAndStop(fleet, 2);
  const { sources } = serverOptions(fleet.folder.root, { url: fleet.pg.url, home: '1' });
  const before = fleet.reports.length;
  await fleet.server({
    timing: { tick: 20, beat: 200, heartbeatTimeout: 30_000, startTimeout: 500 },
    sources: {
      ...sources,
      async discover(source, signal) {
        if (source === 'others') await once(signal, 'abort');
        return sources.discover(source, signal);
      },
    },
  });
  await fleet.until(() => fleet.reports.length > before);
  expect(fleet.reports.slice(before).map(({ address }) => address)).toEqual([acme]);
});

it('leaves workspaces of sources outside its fleet file to other processes', async () => {
  const fleet = await testFleet({ projects: ['acme'], rules: rule('apply') });
  const { sources } = serverOptions(fleet.folder.root, { url: fleet.pg.url, home: 'other' });
  await fleet.folder.write(
    'fleet.yaml',
    `version: 1\ndatabase: { $secret: FLEET_DATABASE_URL }\nsources: { others: { path: ., projects: ["none"] } }\n`,
  );
  const other = await fleet.server();
  await fleet.server({ sources, slots: 1 });
  await fleet.until(async () => (await fleet.status(acme)) === 'pending');
  for (let runs = 2; runs < 6; runs++) {
    await fleet.control.run([acme], 'ann');
    await fleet.until(() => fleet.reports.length >= runs);
  }
  expect(fleet.reports.filter(({ server }) => server === 'server 1')).toEqual([]);
  await other.stop('over');
});

it('reports a project in two sources identically, whichever process knows both', async () => {
  const fleet = await testFleet({ projects: ['acme'], rules: rule('apply') });
  await fleet.server();
  await fleet.until(async () => (await fleet.status(acme)) === 'in-sync');
  await fleet.folder.write(
    'fleet.yaml',
    'version: 1\ndatabase: { $secret: FLEET_DATABASE_URL }\nsources: { voices: { path: ., projects: ["*"] }, others: { path: ., projects: [acme] } }\n',
  );
  const { sources } = serverOptions(fleet.folder.root, { url: fleet.pg.url, home: 'both' });
  await fleet.server({
    timing: { tick: 20, beat: 200, heartbeatTimeout: 30_000, startTimeout: 0 },
    sources: {
      ...sources,
      async discover(source, signal) {
        if (source === 'voices') await once(signal, 'abort');
        return sources.discover(source, signal);
      },
    },
  });
  const others = 'others/acme:test';
  const errorOf = async (address: string) =>
    JSON.stringify((await fleet.control.status({ address })).workspaces[0]?.last);
  await fleet.until(() => fleet.reports.some(({ address }) => address === others));
  await fleet.control.run([acme], 'ann');
  await fleet.until(async () => (await fleet.status(acme)) === 'failed');
  for (const address of [acme, others]) {
    // A run is reported before its result is stored.
    await fleet.until(async () => (await errorOf(address)) !== 'null');
    expect(await errorOf(address)).toContain('are the same project; neither');
  }
});

it('removes the workspaces of a source that no fleet file names, until one names it again', async () => {
  const fleet = await testFleet({ projects: ['acme'], rules: rule('apply') });
  const { sources } = serverOptions(fleet.folder.root, { url: fleet.pg.url, home: 'again' });
  await applyAndStop(fleet, 1);
  const age = "next_fetch = now() - interval '2 minutes'";
  await fleet.pg.sql(`UPDATE voxform_fleet.sources SET ${age}, problem = 'unreachable'`);
  await fleet.folder.write(
    'fleet.yaml',
    'version: 1\ndatabase: { $secret: FLEET_DATABASE_URL }\nsources: { others: { path: ., projects: ["*"] } }\n',
  );
  await fleet.server();
  const others = 'others/acme:test';
  await fleet.until(() => fleet.reports.some(({ address }) => address === others));
  await fleet.until(async () => (await fleet.status(others)) !== 'never-run');
  expect(await fleet.status(acme)).toBe('vanished');
  const [run] = (await fleet.control.status({ address: others })).workspaces;
  expect(JSON.stringify(run?.last)).not.toContain('are the same workspace of the platform');
  expect((await fleetFigures(fleet.database)).sources).toMatchObject([
    { name: 'others', removed: false },
    { name: 'voices', removed: true, problem: null },
  ]);
  await fleet.server({ sources });
  await fleet.until(async () => (await fleet.status(acme)) !== 'vanished');
});
