import assert from 'node:assert/strict';
import type { Case } from './cases.ts';
import { converges, succeeded } from './expectations.ts';
import { type Bench, Lab } from './lab.ts';
import { agent, documents, number, webhook } from './manifests.ts';

const GROUP = 'faults on the wire';

/** 404s and 410s that do not mean that a record is gone. */
export const lateAndGatewayCases: readonly Case[] = [
  { group: GROUP, name: '404 of a gateway, as text and as a page', short: true, run: gateway },
  { group: GROUP, name: '404 for records that are shown late', short: true, run: late },
];

const STOOD = agent('stood');
const MANIFESTS = documents(STOOD, agent('a'), webhook('hook'), number('main', 1));

async function gateway(bench: Bench): Promise<void> {
  await using lab = await Lab.open(bench, { manifests: MANIFESTS });
  succeeded(await lab.run('apply', '--auto-approve'));
  for (const [status, body] of [
    [404, 'default backend - 404'],
    [404, '<html><title>404</title></html>'],
    [410, '<html><title>410</title></html>'],
  ] as const) {
    const fault = { status, body, headers: { 'content-type': 'text/html' } };
    lab.emulator.faults.add({ match: { method: 'GET' }, times: 6, fault });
    succeeded(await lab.run('apply', '--auto-approve', '--allow-recreate', 'all'));
    lab.emulator.faults.clear();
    assert.equal(lab.emulator.world.agents.size, 2);
  }
  await converges(lab);
}

/** As a loop does it: run after run, while the platform does not show yet what the first one made. */
async function late(bench: Bench): Promise<void> {
  await using lab = await Lab.open(bench, { manifests: STOOD });
  succeeded(await lab.run('apply', '--auto-approve'));
  lab.emulator.setBehaviour({ showsNewAfterReads: 2 });
  lab.write('manifests/more.yaml', documents(agent('a'), webhook('hook'), number('main', 1)));
  for (let run = 0; run < 4; run += 1) succeeded(await lab.run('apply', '--auto-approve'));
  const { agents, webhooks, numbers } = lab.emulator.world;
  assert.deepEqual([agents.size, webhooks.size, numbers.size], [2, 1, 1], 'nothing is made twice');
  await converges(lab);
}
