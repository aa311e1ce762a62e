/** @module-tag long */

import { expect, it } from 'vitest';
import { comparisonsOf } from '../../src/fleet/rows/comparison-rows.ts';
import { FleetComparisons } from '../../src/page/fleet-comparisons.ts';
import { agentManifest, projectFile } from '../cli/workspace.ts';
import { readFleet } from '../page/read-fleet.ts';
import { newSealSettings } from '../state/backends/identity.ts';
import { step } from '../step.ts';
import { serverOptions } from './server-options.ts';
import { type TestFleet, testFleet } from './test-fleet.ts';

const ADDRESS = 'voices/acme:test';
const PROMPT = 'Greet each caller with the word periwinkle.';

/** Returns all contents of the database. */
async function contents({ pg }: TestFleet): Promise<string> {
  const tables = await pg.sql(
    `SELECT table_schema || '.' || table_name AS name FROM information_schema.tables WHERE table_schema LIKE 'voxform%'`,
  );
  const rows = await Promise.all(tables.map(({ name }) => pg.sql(`SELECT * FROM ${name}`)));
  return rows.map((each) => JSON.stringify(each)).join('\n');
}

it('keeps no prompt of a sealed workspace in the database', async () => {
  const { recipients, identity } = await newSealSettings();
  const fleet = await testFleet({
    projects: ['acme'],
    secrets: { STATE_IDENTITY: identity.reveal() },
    rules: 'workspaces: { "*": { mode: approve, interval: 1s } }',
  });
  const emulator = fleet.emulators.get('acme');
  if (emulator === undefined) throw new Error('there is no platform');
  const seal = `{ recipients: [${recipients.join()}], identity: { $secret: STATE_IDENTITY } }`;
  await fleet.folder.write('acme/voxform.yaml', projectFile(emulator, `state: { seal: ${seal} }\n`));
  await fleet.write('acme', PROMPT);
  await fleet.server();
  const open = async () => (await fleet.control.status({ address: ADDRESS })).workspaces[0]?.plan;
  const approve = async () => {
    await fleet.until(async () => (await fleet.status(ADDRESS)) === 'waiting');
    expect(await contents(fleet)).not.toContain('periwinkle');
    await fleet.control.approve(ADDRESS, (await open())?.id ?? '', 'ann');
    await fleet.until(async () => (await fleet.status(ADDRESS)) === 'in-sync');
    expect(await contents(fleet)).not.toContain('periwinkle');
  };
  await step('its first plan', async () => {
    await approve();
    expect([...emulator.world.agents.values()].map(({ prompt_config: config }) => config)).toMatchObject([
      { prompt: PROMPT },
    ]);
  });
  await step('its next plan lists the changed fields', async () => {
    await fleet.folder.write('acme/manifests/a.yaml', agentManifest('agent-of-acme', `${PROMPT} Twice.`));
    await fleet.until(async () => (await fleet.status(ADDRESS)) === 'waiting');
    expect(await fleet.control.plan(ADDRESS)).toMatchObject({
      resources: [{ action: 'update', changes: [{ path: 'prompt_config.prompt', sensitive: true }] }],
    });
    await approve();
  });
  await step('the page of the resource contains no value either', async () => {
    const source = readFleet(fleet);
    await fleet.folder.write('acme/manifests/a.yaml', agentManifest('agent-of-acme', `${PROMPT} Thrice.`));
    await fleet.until(async () => (await fleet.status(ADDRESS)) === 'waiting');
    const detail = await source.workspace(ADDRESS, 'Agent/agent-of-acme');
    expect(detail?.resource).toMatchObject({ isComplete: false, fields: [{ path: 'prompt_config.prompt' }] });
    expect(JSON.stringify(detail)).not.toContain('periwinkle');
  });
  await step('its compared versions contain only field names', async () => {
    const [agent = ''] = emulator.world.agents.keys();
    emulator.dashboard.publishAgent(agent);
    emulator.dashboard.edit('agents', agent, { prompt_config: { prompt: `${PROMPT} Once.` } });
    emulator.dashboard.publishAgent(agent);
    const secrets = { STATE_IDENTITY: identity.reveal() };
    const { sources, context, shared } = serverOptions(fleet.folder.root, { url: fleet.pg.url, home: 'page', secrets });
    const { database, control } = fleet;
    const troubles: unknown[] = [];
    const comparisons = new FleetComparisons({
      ...{ database, control, sources, context, shared },
      timeoutMs: 60_000,
      onError: (error) => troubles.push(error),
    });
    const resource = 'Agent/agent-of-acme';
    await comparisons.begin({ address: ADDRESS, resource, by: 'ann' });
    const compared = async () => (await comparisonsOf(database, ADDRESS))[0];
    await fleet.until(async () => (await compared())?.isRunning === false);
    expect((await compared())?.html).toMatch(/1 field changed[\s\S]*prompt_config\.prompt/);
    expect(await contents(fleet)).not.toContain('periwinkle');
    await comparisons.close();
    expect(troubles).toEqual([]);
  });
  await step('its state is sealed', async () => {
    const [row] = await fleet.pg.sql('SELECT state FROM voxform_fleet.states');
    expect(JSON.parse(String(row?.state))).toMatchObject({ recipients: [...recipients] });
  });
});
