/** @module-tag long */

import { expect, it } from 'vitest';
import { sessionsIn, tokensOf } from '../../src/cli/fleet-page.ts';
import { addToken, personOfToken, removeToken } from '../../src/fleet/rows/token-rows.ts';
import { pathOf } from '../../src/page/views/parts.ts';
import { testFleet } from '../fleet/test-fleet.ts';
import { step } from '../step.ts';
import { apiProblems } from './api-problems.ts';
import { readFleet } from './read-fleet.ts';
import { runningPage } from './running-page.ts';

const ADDRESS = 'voices/acme:test';
const WORKSPACE = `/api/v1${pathOf(ADDRESS)}`;

it("serves the data of a fleet to programs with a user's token", async () => {
  const { database, control, server, until, status } = await testFleet({
    projects: ['acme', 'beta'],
    rules: 'workspaces: { "*": { mode: approve, interval: 1h } }',
  });
  const source = readFleet({ database, control });
  await server();
  await until(async () => (await status(ADDRESS)) === 'waiting');
  const token = await addToken(database, { name: 'robot', role: 'viewer', by: 'test' });
  await using page = await runningPage({
    source,
    listen: { host: '0.0.0.0', port: 0 },
    tokens: tokensOf(database),
    sessions: sessionsIn(database),
    now: () => new Date(),
  });
  const ask = (at: string, sent = token) =>
    page.ask(at, { headers: { host: '10.1.2.3', authorization: `Bearer ${sent}` } });
  const get = async (name: string, at: string) => {
    const { status: got, text } = await ask(at);
    const document = JSON.parse(text);
    expect([at, got, apiProblems(name, document)]).toEqual([at, 200, []]);
    return document;
  };

  await step('its workspaces, as in the status of the fleet', async () => {
    const { items, found } = await get('workspaces', '/api/v1/workspaces?q=acme&limit=1');
    expect([found, items]).toEqual([1, [expect.objectContaining({ address: ADDRESS, status: 'waiting' })]]);
    expect(await get('workspace', WORKSPACE)).toMatchObject({ ...items[0], mode: 'approve', interval_seconds: 3600 });
  });
  await step('a plan, before and after its approval', async () => {
    const { items } = await get('plans', `${WORKSPACE}/plans`);
    const [{ id }] = items;
    expect(items).toMatchObject([{ state: 'waiting', summary: { create: 1 } }, { id: 'remaining' }]);
    const { plan } = await get('plan', `${WORKSPACE}/plans/${id}`);
    expect(plan.resources).toMatchObject([{ address: 'Agent/agent-of-acme', action: 'create' }]);
    await control.approve(ADDRESS, id, 'ann');
    await until(async () => (await status(ADDRESS)) === 'in-sync');
    expect((await ask(`${WORKSPACE}/plans/${id}`)).status).toBe(404);
    expect((await get('plan', `${WORKSPACE}/plans/remaining`)).plan.summary).toMatchObject({ create: 0, noop: 1 });
  });
  await step('its resources and runs', async () => {
    const { items } = await get('resources', `${WORKSPACE}/resources`);
    expect(items).toMatchObject([{ address: 'Agent/agent-of-acme', kind: 'Agent', status: 'unpublished' }]);
    const resource = await get('resource', `${WORKSPACE}/resources/${items[0].address}`);
    const field = { path: 'prompt_config.prompt', declared: { value: 'One.' }, live: null, moved: null };
    expect(resource).toMatchObject({
      ...items[0],
      planned: { action: 'noop', source: { file: 'manifests/a.yaml' } },
      whole: true,
      fields: expect.arrayContaining([expect.objectContaining(field)]),
      runs: [{ result: 'done', summary: 'create' }],
    });
    const runs = (await get('runs', `${WORKSPACE}/runs`)).items;
    expect(runs.map(({ result }: { result: string }) => result)).toEqual(expect.arrayContaining(['done', 'approved']));
    for (const run of runs) expect(await get('run', `${WORKSPACE}/runs/${run.id}`)).toMatchObject({ id: run.id });
    expect(await get('pulls', '/api/v1/pulls')).toMatchObject({ items: [] });
  });
  await step('a checked token needs no further slow check, and works while others are guessed', async () => {
    expect(await personOfToken(database, token, true)).toEqual({ name: 'robot', role: 'viewer' });
    const other = await addToken(database, { name: 'new', role: 'viewer', by: 'test' });
    const similar = `${token.slice(0, -1)}${token.endsWith('a') ? 'b' : 'a'}`;
    for (const unknown of [other, similar, 'voxform_nobody_x', ''])
      expect(await personOfToken(database, unknown, true)).toBe(undefined);
    for (let guess = 0; guess < 10; guess++) await ask('/api/v1/workspaces', `voxform_robot_${'x'.repeat(43)}`);
    expect((await ask('/api/v1/workspaces', other)).status).toBe(429);
    expect((await ask('/api/v1/workspaces')).status).toBe(200);
  });
  await step('a removed token stops working at once', async () => {
    await removeToken(database, 'robot');
    expect((await ask('/api/v1/workspaces')).status).toBe(429);
    expect(await personOfToken(database, token)).toBe(undefined);
  });
});
