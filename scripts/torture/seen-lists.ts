import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import path from 'node:path';
import type { Case } from './cases.ts';
import { converges, refused, resourcesIn, settles, succeeded, writesNothing } from './expectations.ts';
import { APPLY, type Bench, Lab } from './lab.ts';
import { agent, documents, emailOf, number, user, webhook } from './manifests.ts';

const GROUP = 'lists';

/** Lists that may be incomplete, use unusual paging, or contain records of other workspaces. */
export const seenListCases: readonly Case[] = [
  { group: GROUP, name: 'a list without a valid cursor', short: true, run: openEnd },
  { group: GROUP, name: 'a user list without cursors or page sizes', run: unpagedUsers },
  { group: GROUP, name: 'short, overlapping pages', short: true, run: overlapping },
  { group: GROUP, name: 'responses that are compressed without a request', short: true, run: compressed },
  { group: GROUP, name: 'a key that sees two workspaces', short: true, run: twoWorkspaces },
  { group: GROUP, name: 'a managed record in another workspace', short: true, run: managedElsewhere },
  { group: GROUP, name: 'a key for another workspace', run: wrongWorkspace },
];

const MANIFESTS = documents(agent('a'), agent('b'), webhook('hook'), number('main', 1));
const OTHER = '01OTHERWORKSPACE0000000000';

async function openEnd(bench: Bench): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: agent('a') });
  lab.write('manifests/number.yaml', number('main', 1));
  const cut: readonly object[] = [
    { data: [{ id: '01X', number: '+1' }] },
    { data: [{ id: '01X', number: '+1' }], meta: [] },
    { data: [{ id: '01X', number: '+1' }], meta: { per_page: 1 } },
    { data: [{ id: '01X', number: '+1' }], meta: { per_page: 100, next_cursor: { after: 1 } } },
  ];
  for (const body of cut) {
    lab.hook = ({ path }) => (path.startsWith('/api/v1/numbers') ? { status: 200, body: body as never } : undefined);
    refused(await writesNothing(lab, () => lab.run(...APPLY)), /the list may be incomplete/);
  }
  lab.hook = () => undefined;
  await converges(lab);
  assert.equal(lab.emulator.world.numbers.size, 1);
}

async function unpagedUsers(bench: Bench): Promise<void> {
  for (const users of ['whole', 'ignoresCursor', 'refusesQuery'] as const) {
    const manifests = documents(MANIFESTS, user('ann', { role: 'member' }));
    await using lab = await Lab.open(bench, { manifests, behaviour: { users, meta: 'odd' } });
    for (let index = 0; index < 120; index++) lab.emulator.dashboard.inviteUser({ email: `u${index}@example.com` });
    lab.emulator.dashboard.inviteUser({ email: emailOf('ann') });
    await converges(lab);
  }
}

/** A record that is listed twice must count once, and a record on a later page must be found before another is created. */
async function overlapping(bench: Bench): Promise<void> {
  const numbers = [1, 2, 3, 4].map((index) => number(`n${index}`, index));
  const users = ['ann', 'bob', 'cy'].map((name) => user(name, { role: 'member' }));
  const manifests = documents(...numbers, ...users);
  await using lab = await Lab.open(bench, { manifests, behaviour: { pages: { most: 1, overlap: 2 } } });
  for (const name of ['ann', 'bob', 'cy']) lab.emulator.dashboard.inviteUser({ email: emailOf(name) });
  await converges(lab);
  assert.equal(lab.emulator.world.numbers.size, 4);
  for (const file of Object.keys(lab.stateFiles())) rmSync(path.join(path.dirname(lab.statePath), file));
  succeeded(await lab.run(...APPLY), /7 imported/);
  await converges(lab);
  assert.equal(lab.emulator.world.numbers.size, 4);
}

async function compressed(bench: Bench): Promise<void> {
  for (const compresses of ['gzip', 'deflate', 'br', 'zstd'] as const) {
    await using lab = await Lab.open(bench, { manifests: MANIFESTS, behaviour: { compresses } });
    await converges(lab);
    await settles(lab, () => lab.run(...APPLY));
    assert.deepEqual([lab.emulator.world.agents.size, lab.emulator.world.numbers.size], [2, 1]);
  }
}

async function twoWorkspaces(bench: Bench): Promise<void> {
  await using lab = await Lab.open(bench, { manifests: MANIFESTS, behaviour: { seesOtherWorkspace: true } });
  await converges(lab);
  lab.write('manifests/more.yaml', number('second', 2));
  await converges(lab);
  assert.equal(lab.emulator.world.numbers.size, 2);
  assert.equal((await lab.state()).resources.size, 5);
}

async function managedElsewhere(bench: Bench): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: MANIFESTS });
  const { resources } = await lab.state();
  const addresses = ['Agent/b', 'Webhook/hook', 'PhoneNumber/main'] as const;
  for (const [index, name] of (['agents', 'webhooks', 'numbers'] as const).entries()) {
    const id = resources.get(addresses[index] ?? '')?.id ?? '';
    lab.emulator.dashboard.edit(name, id, { workspace_id: OTHER });
  }
  const sizes = () =>
    [lab.emulator.world.agents, lab.emulator.world.webhooks, lab.emulator.world.numbers].map(({ size }) => size);
  const before = sizes();
  const { code, stdout } = await lab.run('apply', '--auto-approve', '--allow-recreate', 'all', '--output', 'json');
  assert.equal(code, 0, stdout);
  for (const address of addresses) {
    const planned = resourcesIn(stdout).get(address);
    assert.equal(planned?.action, 'blocked', `${address}: ${planned?.action}`);
    assert.match(planned?.reason ?? '', /belongs to workspace 01OTHERWORKSPACE0000000000/);
  }
  assert.deepEqual(sizes(), before);
  assert.deepEqual((await lab.state()).resources.get('Agent/b')?.id, resources.get('Agent/b')?.id);
}

async function wrongWorkspace(bench: Bench): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: MANIFESTS });
  const { world, dashboard } = lab.emulator;
  for (const name of ['agents', 'webhooks', 'numbers'] as const) {
    for (const id of [...world.records[name].keys()]) dashboard.edit(name, id, { workspace_id: OTHER });
  }
  lab.write('manifests/more.yaml', agent('new'));
  refused(
    await writesNothing(lab, () => lab.run(...APPLY)),
    /belongs to workspace 01OTHERWORKSPACE0000000000, but this run is for .*nothing was written/,
  );
}
