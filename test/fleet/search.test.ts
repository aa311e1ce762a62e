/** @module-tag long */

import { expect, it } from 'vitest';
import { fleetDatabaseAt } from '../../src/fleet/database/fleet-database.ts';
import { setUpTables } from '../../src/fleet/database/set-up-tables.ts';
import { searchTerms } from '../../src/fleet/rows/search-rows.ts';
import { addWorkspaceTerms, replaceSearchTerms } from '../../src/fleet/rows/search-terms.ts';
import { countsOfLastDay } from '../../src/fleet/rows/trend-rows.ts';
import { enterMany } from '../page/many-workspaces.ts';
import { freshDatabase } from '../state/backends/postgres/databases.ts';
import { step } from '../step.ts';
import { contentsOf, discover, memberNamed } from './fleet-databases.ts';
import { testFleet } from './test-fleet.ts';

const ADDRESS = 'voices/acme-dental:test';
const NUMBER = `apiVersion: voxform/v1
kind: PhoneNumber
metadata: { name: front-desk }
spec: { number: "+4930123456", nickname: Front desk }
`;

it('finds workspaces and resources by name, phone number and id, as of the last run', async () => {
  const rules = 'workspaces: { "*": { mode: apply, interval: 1h } }';
  const fleet = await testFleet({ projects: ['acme-dental', 'beta'], rules });
  const { database, control, folder, emulators } = fleet;
  await folder.write('acme-dental/manifests/n.yaml', NUMBER);
  await fleet.server();
  const isChecked = async () =>
    (await control.status({})).workspaces.filter(({ checkedAt }) => checkedAt !== null).length === 2;
  await fleet.until(isChecked);
  const find = async (text: string) => {
    const { hits } = await searchTerms(database, text, 200);
    return hits.map(({ address, resource }) => `${address} ${resource ?? ''}`.trim());
  };
  const number = `${ADDRESS} PhoneNumber/front-desk`;
  const agent = `${ADDRESS} Agent/agent-of-acme-dental`;
  const [id = ''] = emulators.get('acme-dental')?.world.agents.keys() ?? [];
  for (const [text, found] of [
    ['DENTAL', [ADDRESS, agent]],
    ['voices/acme', [ADDRESS]],
    ['desk', [number]],
    ['+49 (30) 12', [number]],
    ['0049 30 123456', [number]],
    ['030 123456', [number]],
    ['3456', [number]],
    ['agent/agent-of-acme', [agent]],
    ['PhoneNumber/agent', []],
    [id.toLowerCase(), [agent]],
    ['agent-of-b', ['voices/beta:test Agent/agent-of-beta']],
    ['%', []],
    ['cme', []],
  ] as const)
    expect([text, (await find(text)).sort()]).toEqual([text, [...found].sort()]);
  await step('lists results with exact names and urgent workspaces first', async () => {
    const found = async (text: string) => (await searchTerms(database, text, 200)).hits;
    expect(await found('3456')).toMatchObject([{ match: '4930123456' }]);
    const first = async (text: string) => (await found(text))[0]?.address;
    expect(await first('voices')).toBe(ADDRESS);
    await database.query(
      `UPDATE voxform_fleet.workspaces SET status = 'failed' WHERE address = $1`,
      'voices/beta:test',
    );
    expect(await first('voices')).toBe('voices/beta:test');
    expect(await first(ADDRESS)).toBe(ADDRESS);
  });
  await step('counts the runs of this hour', async () => {
    const day = await countsOfLastDay(database);
    expect(day).toHaveLength(24);
    expect(day.at(-1)?.runs).toBeGreaterThanOrEqual(2);
    expect(day.reduce((sum, { failed, drifted }) => sum + failed + drifted, 0)).toBe(0);
  });
  await step('resources that left the manifests and removed workspaces are no longer found', async () => {
    await folder.write('acme-dental/manifests/n.yaml', '# nothing\n');
    await fleet.until(async () => (await find('desk')).length === 0);
    await database.query('DELETE FROM voxform_fleet.workspaces WHERE address = $1', ADDRESS);
    expect(await find('dental')).toEqual([]);
  });
});

it('stores few terms for an id that consists of separators, and the terms of every resource', async () => {
  const database = fleetDatabaseAt((await freshDatabase()).url);
  await setUpTables(database);
  await discover(database, contentsOf([memberNamed('acme')]));
  const { address } = memberNamed('acme');
  const texts = Array.from({ length: 2100 }, (_, index) => ({ resource: `Agent/a${index}`, text: `id${index}` }));
  await replaceSearchTerms(database, address, [...texts, { resource: 'Agent/odd', text: '-'.repeat(255) }]);
  const rows = await database.query(
    'SELECT resource, count(*)::integer AS terms FROM voxform_fleet.search_terms GROUP BY resource',
  );
  expect(rows).toHaveLength(2102);
  expect(Math.max(...rows.map(({ terms }) => Number(terms)))).toBeLessThan(50);
});

it('reads only the first matching terms, even if many share a prefix', async () => {
  const database = fleetDatabaseAt((await freshDatabase()).url);
  await enterMany(database, 5000);
  const rows = await database.query('SELECT address FROM voxform_fleet.workspaces');
  await addWorkspaceTerms(
    database,
    rows.map(({ address }) => String(address)),
  );
  const { hits, isTruncated } = await searchTerms(database, 'long', 50);
  expect([hits.length <= 50, hits.length > 0, isTruncated]).toEqual([true, true, true]);
  await database.close();
});
