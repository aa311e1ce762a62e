import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PlannedFault } from '../../src/emulator/faults.ts';
import type { Case } from './cases.ts';
import { converges, refused, resourcesIn, succeeded, unwrapped } from './expectations.ts';
import { Lab } from './lab.ts';
import { agent, documents, emailOf, number, user, webhook } from './manifests.ts';
import { settleUnknowns } from './person.ts';
import type { Ended } from './processes.ts';
import { Random } from './random.ts';
import { type WireFault, wireFaults } from './wire-faults.ts';

const GROUP = 'faults on the wire';
/** Seconds; the slowest drip takes longer for one answer. */
const TIMEOUT = 1;

const names = wireFaults('http://127.0.0.1:1').map(({ name, short = false }) => ({ name, short }));

/** Each fault on a create of every kind, on a read and on an update. */
export const wireCases: readonly Case[] = names.map(({ name, short }) => ({
  group: GROUP,
  name,
  short,
  counts: true,
  async run(bench) {
    await using elsewhere = await listeningServer();
    const fault = wireFaults(elsewhere.url).find((each) => each.name === name);
    assert.ok(fault);
    await using lab = await Lab.open(bench, {
      manifests: manifests('Be kind.'),
      project: `limits: { timeout_seconds: ${TIMEOUT} }\n`,
    });
    lab.emulator.dashboard.inviteUser({ email: emailOf('ann'), role: 'member' });
    await meetsCreates(lab, fault);
    if (fault.create === 'unknown') {
      await settleUnknowns(lab, { random: new Random(name), leaves: 0, dies: 0 });
    }
    succeeded(await lab.run('apply', '--auto-approve'));
    await meetsReads(lab, fault);
    await meetsUpdates(lab, fault);
    await converges(lab);
    assert.equal(lab.emulator.world.agents.size, 2);
    assert.equal(lab.emulator.world.webhooks.size, 1);
    assert.deepEqual(elsewhere.requests, [], 'the redirect was followed');
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

async function meetsCreates(lab: Lab, { name, fault, times = 1, create }: WireFault): Promise<void> {
  const faults: PlannedFault[] = ['agents', 'webhooks', 'numbers'].map((list) => ({
    match: { method: 'POST', path: `/api/v1/${list}` },
    times,
    fault,
  }));
  const run = () => lab.run('apply', '--auto-approve', '--output', 'json');
  const { code, stdout } = await underFaults(lab, { name, faults, run });
  await lab.check('after faulty creates');
  const results = resourcesIn(stdout);
  assert.equal(code, create === 'tried again' ? 0 : 1);
  const failed = [...results.values()].filter(({ result }) => result === 'failed');
  if (create === 'tried again') assert.deepEqual(failed, []);
  else assert.ok(failed.length >= 3 || failed.some(({ error }) => /403|pause/.test(error ?? '')), stdout);
  const { pending } = await lab.state();
  if (create !== 'unknown') assert.deepEqual([...pending.keys()], []);
  for (const { address, error = '', hint = '' } of failed) {
    if (create !== 'unknown' || !/^(Agent|Webhook|PhoneNumber)/.test(address)) continue;
    assert.ok(pending.has(address), `${address} failed with a lost answer and is not unknown: ${error}`);
    assert.match(`${error} ${hint}`, /it may have succeeded.*stays unknown/s);
  }
}

async function meetsReads(lab: Lab, { name, fault, times = 1, read }: WireFault): Promise<void> {
  const match = { method: 'GET', path: '/api/v1/agents/' };
  const writes = lab.writes();
  const run = () => lab.run('plan', '--detailed-exitcode');
  // What fails before the manifests are read is asked for once more: each of the two agents.
  const lasting = read === 'tried again' ? times : Math.max(times, 4);
  const planned = await underFaults(lab, { name, faults: [{ match, times: lasting, fault }], run });
  if (read === 'tried again') succeeded(planned, /No changes/);
  else refused(planned, read);
  assert.equal(lab.writes(), writes);
}

async function meetsUpdates(lab: Lab, { name, fault, times = 1, read }: WireFault): Promise<void> {
  lab.write('manifests/all.yaml', manifests('Be brief.'));
  const faults = [{ match: { method: 'PUT', path: '/api/v1/agents/' }, times, fault }];
  const { code, stdout } = await underFaults(lab, {
    name,
    faults,
    run: () => lab.run('apply', '--auto-approve'),
  });
  if (read === 'tried again') assert.equal(code, 0, stdout);
  else {
    assert.equal(code, 1, stdout);
    assert.match(unwrapped(stdout), read);
  }
  await lab.check('after faulty updates');
}

interface UnderFaults {
  readonly name: string;
  readonly faults: readonly PlannedFault[];
  readonly run: () => Promise<Ended>;
}

/** Runs it, and counts the requests that met a fault. */
async function underFaults(lab: Lab, { name, faults, run }: UnderFaults): Promise<Ended> {
  const left = () => lab.emulator.faults.pending.reduce((sum, { times = 1 }) => sum + times, 0);
  for (const each of faults) lab.emulator.faults.add(each);
  const planned = left();
  const ended = await run();
  lab.figures.count(GROUP, name, planned - left());
  assert.ok(left() < planned, 'no request met the fault');
  lab.emulator.faults.clear();
  return ended;
}

interface Listening extends AsyncDisposable {
  readonly url: string;
  /** What has arrived there, which nothing should. */
  readonly requests: IncomingMessage[];
}

async function listeningServer(): Promise<Listening> {
  const requests: IncomingMessage[] = [];
  const server: Server = createServer((request, answer) => {
    requests.push(request);
    answer.end('{}');
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
