import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { type FleetControl, fleetControl } from '../../src/fleet/control.ts';
import { controlThrough, listenForControl } from '../../src/fleet/control-socket.ts';
import { embeddedFleetDatabase } from '../../src/fleet/database/fleet-database.ts';
import { loadFleetFile } from '../../src/fleet/fleet-file.ts';
import { openFleetDatabase } from '../../src/fleet/open-fleet.ts';
import { VERSION } from '../../src/version.ts';
import { temporaryFolder } from '../cli/voxform-process.ts';
import { step } from '../step.ts';
import { putEmbedded } from './embedded-folder.ts';
import { testFleet } from './test-fleet.ts';

it('serves a fleet and keeps its states in an embedded database, for one process', { tags: ['long'] }, async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'voxform-embedded-'));
  const fleet = await testFleet({
    projects: ['acme'],
    rules: 'workspaces: { "*": { mode: apply } }',
    isEmbedded: true,
  });
  await putEmbedded(folder);
  const database = await embeddedFleetDatabase(folder);
  const server = await fleet.server({ database });
  const control = fleetControl(database);
  await fleet.until(async () => (await control.status({})).counts['in-sync'] === 1);
  await step('a second process is refused', () =>
    expect(embeddedFleetDatabase(folder)).rejects.toThrow(`in use by process ${process.pid} on`),
  );
  await step('a process that was killed earlier is not counted', async () => {
    await database.query(
      `INSERT INTO voxform_fleet.processes (id, host, pid, version, slots) VALUES ('gone', 'h', 1, '0', 1)`,
    );
    const again = await fleet.server({ database });
    await fleet.until(async () => (await control.status({})).processes.map(({ id }) => id).join() === again.id);
    await again.stop('over');
  });
  const states = await database.query('SELECT name, state IS NOT NULL AS kept FROM voxform_fleet.states');
  expect(states).toEqual([{ name: 'voices/acme:test', kept: true }]);
  await server.stop('restart');
  await database.close();
  await step('a restart continues with the stored status', async () => {
    await using again = new AsyncDisposableStack();
    const reopened = again.adopt(await embeddedFleetDatabase(folder), (each) => each.close());
    expect((await fleetControl(reopened).status({})).counts['in-sync']).toBe(1);
  });
  await rm(folder, { recursive: true });
});

it('suggests a shorter folder if the path of the control socket is too long', async () => {
  const file = path.join('/', 'd'.repeat(120), 'control.sock');
  await expect(controlThrough(file)).rejects.toMatchObject({
    message: expect.stringContaining('too long'),
    hint: expect.stringContaining('in the folder of the fleet'),
  });
});

it('names the version to restart if a process does not know a call', async () => {
  await using home = await temporaryFolder({});
  const file = path.join(home.root, 'control.sock');
  const statements = { query: async () => [] };
  await using _ = await listenForControl(statements, {} as FleetControl, file);
  const socket = connect({ path: file, allowHalfOpen: true });
  socket.end(JSON.stringify({ method: 'newer', args: [] }));
  expect(JSON.parse(await text(socket))).toEqual({
    error: expect.objectContaining({
      message: expect.stringContaining(VERSION),
      hint: expect.stringContaining('Restart'),
    }),
  });
});

it('waits at startup for a command that uses the embedded database, but not for another server', {
  tags: ['long'],
}, async () => {
  await using home = await temporaryFolder({
    'fleet.yaml': 'version: 1\nsources: { voices: { path: . } }\n',
  });
  await putEmbedded(path.join(home.root, '.voxform/fleet'));
  const fleet = loadFleetFile(path.join(home.root, 'fleet.yaml'), {});
  const command = await openFleetDatabase(fleet, home.root, 'command');
  let hasBegun = false;
  const serving = openFleetDatabase(fleet, home.root, 'serve').finally(() => {
    hasBegun = true;
  });
  await command.query('SELECT 1');
  expect(hasBegun).toBe(false);
  await command.close();
  const database = await serving;
  await expect(openFleetDatabase(fleet, home.root, 'serve')).rejects.toThrow('in use by process');
  await database.close();
});
