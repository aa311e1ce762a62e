import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PlannedFault } from '../../src/emulator/faults.ts';
import type { Case } from './cases.ts';
import { converges, refused, resourcesIn, succeeded, unwrapped } from './expectations.ts';
import { APPLY, Lab } from './lab.ts';
import { agent, documents, emailOf, number, user, webhook } from './manifests.ts';
import { settleUnknowns } from './person.ts';
import type { ProcessResult } from './processes.ts';
import { type WireFault, wireFaults } from './wire-faults.ts';

const GROUP = 'network faults';
/** Shorter than a response of the slowest drip. */
const TIMEOUT_SECONDS = 1;

const names = wireFaults('http://127.0.0.1:1').map(({ name, short = false }) => ({ name, short }));

/** Injects each fault into a create of every kind, a read and an update. */
export const wireCases: readonly Case[] = names.map(({ name, short }) => ({
  group: GROUP,
  name,
  short,
  counts: true,
  async run(bench) {
    await using target = await startTarget();
    const fault = wireFaults(target.url).find((each) => each.name === name);
    assert.ok(fault);
    await using lab = await Lab.open(bench, {
      manifests: manifests('Be kind.'),
      project: `limits: { timeout_seconds: ${TIMEOUT_SECONDS} }\n`,
    });
    lab.emulator.dashboard.inviteUser({ email: emailOf('ann'), role: 'member' });
    await faultyCreates(lab, fault);
    if (fault.create === 'unknown') {
      await settleUnknowns(lab);
    }
    succeeded(await lab.run(...APPLY));
    await faultyReads(lab, fault);
    await faultyUpdates(lab, fault);
    await converges(lab);
    assert.equal(lab.emulator.world.agents.size, 2);
    assert.equal(lab.emulator.world.webhooks.size, 1);
    assert.deepEqual(target.requests, [], 'the redirect was followed');
  },
}));

function manifests(prompt: string): string {
  const link = { agent_ids: [{ $ref: 'Agent/day' }] };
  return documents(
    agent('day', prompt),
    agent('night', prompt),
    webhook('hook'),
    number('main', 1),
    user('ann', { role: 'member', ...link, modules: prompt === 'Be kind.' ? ['agents'] : ['analytics'] }),
  );
}

async function faultyCreates(lab: Lab, { name, fault, times = 1, create }: WireFault): Promise<void> {
  const faults: PlannedFault[] = ['agents', 'webhooks', 'numbers'].map((list) => ({
    match: { method: 'POST', path: `/api/v1/${list}` },
    times,
    fault,
  }));
  const run = () => lab.run('apply', '--auto-approve', '--output', 'json');
  const { code, stdout } = await runWithFaults(lab, { name, faults, run });
  await lab.check('after faulty creates');
  const results = resourcesIn(stdout);
  assert.equal(code, create === 'retried' ? 0 : 1);
  const failed = [...results.values()].filter(({ result }) => result === 'failed');
  if (create === 'retried') assert.deepEqual(failed, []);
  else assert.ok(failed.length >= 3 || failed.some(({ error }) => /403|pause/.test(error ?? '')), stdout);
  const { pending } = await lab.state();
  if (create !== 'unknown') assert.deepEqual([...pending.keys()], []);
  for (const { address, error = '', hint = '' } of failed) {
    if (create !== 'unknown' || !/^(Agent|Webhook|PhoneNumber)/.test(address)) continue;
    assert.ok(pending.has(address), `the create of ${address} has no response, but is not unknown: ${error}`);
    assert.match(`${error} ${hint}`, /it may have succeeded.*stays unknown/s);
  }
}

async function faultyReads(lab: Lab, { name, fault, times = 1, read }: WireFault): Promise<void> {
  const match = { method: 'GET', path: '/api/v1/agents/' };
  const writes = lab.writes();
  const run = () => lab.run('plan', '--detailed-exitcode');
  // A read ahead of the manifests that fails is repeated, for each of the two agents.
  const count = read === 'retried' ? times : Math.max(times, 4);
  const planned = await runWithFaults(lab, { name, faults: [{ match, times: count, fault }], run });
  if (read === 'retried') succeeded(planned, /No changes/);
  else refused(planned, read);
  assert.equal(lab.writes(), writes);
}

async function faultyUpdates(lab: Lab, { name, fault, times = 1, read }: WireFault): Promise<void> {
  lab.write('manifests/all.yaml', manifests('Be brief.'));
  const faults = [{ match: { method: 'PUT', path: '/api/v1/agents/' }, times, fault }];
  const { code, stdout } = await runWithFaults(lab, {
    name,
    faults,
    run: () => lab.run(...APPLY),
  });
  if (read === 'retried') assert.equal(code, 0, stdout);
  else {
    assert.equal(code, 1, stdout);
    assert.match(unwrapped(stdout), read);
  }
  await lab.check('after faulty updates');
}

interface FaultyRun {
  readonly name: string;
  readonly faults: readonly PlannedFault[];
  readonly run: () => Promise<ProcessResult>;
}

/** Runs a command with faults, and counts the requests that had one. */
async function runWithFaults(lab: Lab, { name, faults, run }: FaultyRun): Promise<ProcessResult> {
  const remaining = () => lab.emulator.faults.pending.reduce((sum, { times = 1 }) => sum + times, 0);
  for (const each of faults) lab.emulator.faults.add(each);
  const planned = remaining();
  const result = await run();
  lab.figures.count(GROUP, name, planned - remaining());
  assert.ok(remaining() < planned, 'no request had the fault');
  lab.emulator.faults.clear();
  return result;
}

interface RedirectTarget extends AsyncDisposable {
  readonly url: string;
  /** The received requests. There should be none. */
  readonly requests: IncomingMessage[];
}

async function startTarget(): Promise<RedirectTarget> {
  const requests: IncomingMessage[] = [];
  const server: Server = createServer((request, response) => {
    requests.push(request);
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
