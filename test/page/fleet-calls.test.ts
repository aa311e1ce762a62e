/** @module-tag long */

import { expect, it } from 'vitest';
import { tokensOf } from '../../src/cli/fleet-page.ts';
import { claimComparison } from '../../src/fleet/rows/comparison-rows.ts';
import { addToken } from '../../src/fleet/rows/token-rows.ts';
import { FleetComparisons } from '../../src/page/fleet-comparisons.ts';
import { pathOf } from '../../src/page/views/parts.ts';
import { KEY, serverOptions } from '../fleet/server-options.ts';
import { testFleet } from '../fleet/test-fleet.ts';
import { step } from '../step.ts';
import { readFleet } from './read-fleet.ts';
import { runningPage } from './running-page.ts';

const calls = { perDay: 20, days: 2, versions: { '2': { session_outcome: { escalated: 1 } } } };
const address = 'voices/acme:test';
const resource = 'Agent/agent-of-acme';

it('compares the calls of versions on request, one workspace of a platform after the other', async () => {
  const { database, control, folder, pg, server, until, status, emulators } = await testFleet({
    projects: ['acme'],
    rules: 'workspaces: { "*": { mode: apply, interval: 1h } }',
    behaviour: { calls },
  });
  const emulator = emulators.get('acme');
  await server();
  await until(async () => (await status(address)) === 'in-sync');
  const [agent = ''] = emulator?.world.agents.keys() ?? [];
  emulator?.dashboard.publishAgent(agent);
  emulator?.dashboard.edit('agents', agent, { prompt_config: { prompt: `Say ${KEY} <b>twice</b>.` } });
  emulator?.dashboard.publishAgent(agent);
  const troubles: unknown[] = [];
  const { sources, context, shared } = serverOptions(folder.root, { url: pg.url, home: 'page' });
  const newComparisons = () =>
    new FleetComparisons({
      ...{ database, control, sources, context, shared },
      timeoutMs: 60_000,
      onError: (error) => troubles.push(error),
    });
  const made = { comparisons: newComparisons() };
  const said: string[] = [];
  const source = readFleet(
    { database, control },
    { comparisons: { begin: (asked) => made.comparisons.begin(asked) }, log: (text) => said.push(text) },
  );
  const tokens = tokensOf(database);
  await using page = await runningPage({ source, tokens, now: () => new Date() });
  const cookie = await page.signIn(await addToken(database, { name: 'vera', role: 'approver', by: 'test' }));
  const path = pathOf(address, 'resources', resource);
  const action = pathOf(address, 'actions', 'compare-calls');
  const shown = async (at = path) => (await page.ask(at, { headers: { cookie } })).text;
  const ask = async (of = resource) => {
    const form = /name="form" value="([^"]+)"/.exec(await shown(`${action}?of=${resource}`))?.[1] ?? '';
    return page.ask(action, { headers: { cookie }, form: { form, of } });
  };

  await step('nothing is read before a request', async () => {
    expect((await page.ask(path)).text).toContain('No comparison of the calls is stored.');
    expect((await page.ask(path)).text).not.toContain('compare-calls');
    const viewer = await addToken(database, { name: 'victor', role: 'viewer', by: 'test' });
    const headers = { cookie: await page.signIn(viewer) };
    expect((await page.ask(path, { headers })).text).toContain('only an approver may start one');
    expect((await page.ask(`${action}?of=${resource}`, { headers })).status).toBe(403);
    expect((await ask('Webhook/none')).text).toContain('Webhook/none has no versions');
    expect(emulator?.requests.some((each) => each.path.includes('call-histories'))).toBe(false);
  });
  await step('the versions are compared in one pass over the calls', async () => {
    const before = emulator?.requests.length;
    const { status: answer, headers } = await ask();
    expect([answer, headers.location]).toEqual([303, path]);
    await until(async () => (await shown()).includes('Version 1 to version 2'));
    expect(await shown()).toMatch(/as of <time[\s\S]*requested by <bdi>vera<\/bdi>[\s\S]*Compare again/);
    const paths = emulator?.requests.slice(before).map((each) => each.path.replace(/\?.*/, ''));
    const versions = `/api/v1/agents/${agent}/versions`;
    // Each call is read once.
    expect(paths?.sort()).toEqual([versions, `${versions}/1`, `${versions}/2`, '/api/v1/call-histories']);
    expect(await shown()).toMatch(/Version 2<[\s\S]*1 field changed[\s\S]*prompt_config\.prompt[\s\S]*&lt;b&gt;twice/);
    expect(await shown(pathOf(address))).toMatch(/<h2>Calls<\/h2>[\s\S]*agent-of-acme#calls/);
    const rows = JSON.stringify(await database.query('SELECT * FROM voxform_fleet.comparisons'));
    expect(rows).not.toContain(KEY);
    expect(said).toEqual([`vera: compare-calls ${address} ${resource}`]);
  });
  const claim = { address, resource, baseUrl: emulator?.url ?? '', by: 'bob', timeout: 60_000 };
  await step('no read starts while any process reads calls of this platform, or of too many others', async () => {
    await claimComparison(database, { ...claim, resource: 'Agent/other' });
    const refused = await ask();
    expect([refused.status, refused.text]).toEqual([
      409,
      expect.stringContaining('Calls of this platform are already being read'),
    ]);
    await database.query(`UPDATE voxform_fleet.comparisons SET base_url = resource WHERE until IS NOT NULL`);
    for (const other of ['b', 'c', 'd'])
      await claimComparison(database, { ...claim, resource: `Agent/${other}`, baseUrl: other });
    expect((await ask()).text).toContain('Calls of 4 platforms are already being read');
    expect(await shown(), 'the result remains').toContain('Version 1 to version 2');
  });
  await step('an unfinished comparison of an ended process is reported, and can be requested again', async () => {
    await database.query(`UPDATE voxform_fleet.comparisons SET until = now() WHERE until IS NOT NULL`);
    await claimComparison(database, { ...claim, timeout: 0 });
    expect(await shown()).toMatch(/Compare again[\s\S]*The process that was reading the calls has ended/);
    expect((await ask()).status).toBe(303);
    await made.comparisons.close();
    expect(await shown()).toContain('The process that read the calls was stopped');
    made.comparisons = newComparisons();
    await claimComparison(database, { ...claim, resource: 'Agent/e', baseUrl: 'e' });
    expect((await ask()).status).toBe(303);
    await until(async () => (await shown()).includes('Version 1 to version 2'));
    const kept = await database.query('SELECT resource FROM voxform_fleet.comparisons');
    expect(kept).toHaveLength(5);
  });
  await step('the source left the fleet file of the process', async () => {
    await database.query(`UPDATE voxform_fleet.workspaces SET source = 'removed'`);
    const refused = await ask();
    expect([refused.status, refused.text]).toEqual([
      409,
      expect.stringContaining('the source removed is not in the fleet file'),
    ]);
  });
  await made.comparisons.close();
  expect(troubles).toEqual([]);
});
