import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { fleetControl } from '../../src/fleet/control.ts';
import { embeddedFleetDatabase } from '../../src/fleet/database/fleet-database.ts';
import { step } from '../step.ts';
import { testFleet } from './test-fleet.ts';

it('serves a fleet and keeps its states in an embedded database, for one process', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'voxform-embedded-'));
  const fleet = await testFleet({
    projects: ['acme'],
    rules: 'workspaces: { "*": { mode: apply } }',
    isEmbedded: true,
  });
  const database = await embeddedFleetDatabase(folder);
  const server = await fleet.server({ database });
  const control = fleetControl(database);
  await fleet.until(async () => (await control.status({})).counts['in-sync'] === 1);
  await step('refuses a second one', () =>
    expect(embeddedFleetDatabase(folder)).rejects.toThrow(`in use by process ${process.pid} on`),
  );
  const states = await database.ask('SELECT name, state IS NOT NULL AS kept FROM voxform_fleet.states');
  expect(states).toEqual([{ name: 'voices/acme:test', kept: true }]);
  await server.stop('restart');
  await database.close();
  await step('begins again with what it had', async () => {
    await using again = new AsyncDisposableStack();
    const reopened = again.adopt(await embeddedFleetDatabase(folder), (each) => each.close());
    expect((await fleetControl(reopened).status({})).counts['in-sync']).toBe(1);
  });
  await rm(folder, { recursive: true });
});
