import assert from 'node:assert/strict';
import type { Case } from './cases.ts';
import { converges, succeeded } from './expectations.ts';
import { APPLY, type Bench, Lab } from './lab.ts';
import { agent, documents, number, webhook } from './manifests.ts';

const GROUP = 'network faults';

/** 404 and 410 responses that do not mean that a record is missing. */
export const lateAndGatewayCases: readonly Case[] = [
  { group: GROUP, name: '404 of a gateway, as text and as HTML', short: true, run: gateway },
  { group: GROUP, name: '404 for new records', short: true, run: late },
];

const EXISTING = agent('existing');
const MANIFESTS = documents(EXISTING, agent('a'), webhook('hook'), number('main', 1));

async function gateway(bench: Bench): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: MANIFESTS });
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

/** Applies repeatedly, as a loop does, while reads do not show the new records yet. */
async function late(bench: Bench): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: EXISTING });
  lab.emulator.setBehaviour({ showsNewAfterReads: 2 });
  lab.write('manifests/more.yaml', documents(agent('a'), webhook('hook'), number('main', 1)));
  for (let run = 0; run < 4; run += 1) succeeded(await lab.run(...APPLY));
  const { agents, webhooks, numbers } = lab.emulator.world;
  assert.deepEqual([agents.size, webhooks.size, numbers.size], [2, 1, 1], 'records were created twice');
  await converges(lab);
}
