import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Case } from './cases.ts';
import { converges, refused, resourcesIn, succeeded, unwrapped, writesNothing } from './expectations.ts';
import { type Bench, Lab } from './lab.ts';
import { agent, documents, emailOf, number, user, webhook } from './manifests.ts';
import { settleUnknowns } from './person.ts';
import { Random } from './random.ts';

const GROUP = 'faults on the wire';

/** A platform that gives answers which no retry mends. */
export const wrongPlatformCases: readonly Case[] = [
  { group: GROUP, name: '200 MB to a read and to a create', run: floods },
  { group: GROUP, name: '401 in mid-run', short: true, run: keyRunsOut },
  { group: GROUP, name: '404 for a recorded id', run: oneMissing },
  { group: GROUP, name: '410 for a record that is there', run: wronglyMissing },
  { group: GROUP, name: '404 for every recorded id', run: allMissing },
  { group: GROUP, name: 'a users endpoint that refuses the workspace', run: usersRefused },
];

const MANIFESTS = documents(agent('a'), agent('b'), agent('c'), webhook('hook'), number('main', 1));

async function appliedLab(bench: Bench): Promise<Lab> {
  const lab = await Lab.open(bench, { manifests: MANIFESTS });
  succeeded(await lab.run('apply', '--auto-approve'));
  return lab;
}

const FLOOD_BYTES = 200 * 1024 * 1024;
const MOST_MEMORY_KB = 512 * 1024;

async function floods(bench: Bench): Promise<void> {
  await using lab = await appliedLab(bench);
  lab.write('manifests/more.yaml', agent('flooded'));
  let method = 'POST';
  const flooded = (request: IncomingMessage) =>
    request.method === method && /^\/api\/v1\/agents/.test(request.url ?? '');
  await using gateway = await openGateway(lab.emulator.url, flooded);
  const env = { VOXFORM_BASE_URL: gateway.url };
  const node = ['--import', MEMORY_PROBE];

  const applied = await lab.runWith({ env, node }, 'apply', '--auto-approve');
  assert.equal(applied.code, 1);
  assert.match(unwrapped(applied.stdout), /larger than \d+ bytes.*stays unknown/);
  await lab.check('after a flood');
  method = 'GET';
  refused(await lab.runWith({ env, node }, 'plan'), /the response is larger than \d+ bytes/);
  assert.ok(gateway.sent() < FLOOD_BYTES, `${gateway.sent()} bytes were taken`);
  const memory = Number(lab.read('memory'));
  assert.ok(memory < MOST_MEMORY_KB, `${memory} KB were used`);
  await settleUnknowns(lab, { random: new Random('flood'), leaves: 0, dies: 0 });
  await converges(lab);
}

/** Makes node write down, at its end, how many kilobytes it used at most. */
const MEMORY_PROBE = `data:text/javascript,${encodeURIComponent(
  `import { writeFileSync } from 'node:fs';
   process.on('exit', () => writeFileSync('memory', String(process.resourceUsage().maxRSS)));`,
)}`;

interface Gateway extends AsyncDisposable {
  readonly url: string;
  /** Bytes of the latest flood that were taken. */
  sent(): number;
}

/** Hands requests on to the platform, and answers those that are `flooded` with more than anyone can want, in no stated length. */
async function openGateway(target: string, flooded: (request: IncomingMessage) => boolean): Promise<Gateway> {
  let sent = 0;
  const flood = (answer: ServerResponse): void => {
    sent = 0;
    answer.writeHead(200, { 'content-type': 'application/json' });
    const piece = Buffer.alloc(256 * 1024, ' ');
    const more = (): void => {
      while (sent < FLOOD_BYTES && !answer.destroyed) {
        sent += piece.length;
        if (!answer.write(piece)) {
          answer.once('drain', more);
          return;
        }
      }
      answer.end();
    };
    more();
  };
  const pass = async (request: IncomingMessage, answer: ServerResponse): Promise<void> => {
    const body = await new Response(request).text();
    const { method = 'GET', url = '/', headers } = request;
    const passed = await fetch(target + url, {
      method,
      headers: { authorization: String(headers.authorization), 'content-type': 'application/json' },
      ...(method !== 'GET' && { body }),
    });
    const text = await passed.text();
    if (flooded(request)) flood(answer);
    else answer.writeHead(passed.status, { 'content-type': 'application/json' }).end(text);
  };
  const server = createServer((request, answer) => {
    pass(request, answer).catch(() => answer.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sent: () => sent,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function keyRunsOut(bench: Bench): Promise<void> {
  await using lab = await Lab.open(bench, { manifests: MANIFESTS });
  let posts = 0;
  lab.hook = ({ method }) => {
    if (method === 'POST') posts += 1;
    return method === 'POST' && posts > 2 ? { status: 401, body: { message: 'key expired' } } : undefined;
  };
  const { code, stdout } = await lab.run('apply', '--auto-approve', '--concurrency', '1', '--output', 'json');
  lab.hook = () => undefined;
  assert.equal(code, 1);
  const results = [...resourcesIn(stdout).values()].map(({ result }) => result);
  assert.deepEqual(results, ['done', 'done', 'failed', 'skipped', 'skipped'], 'it says how far it got');
  assert.equal(posts, 3, 'it went on after the key was refused');
  assert.match(stdout, /the platform refuses the API key/);
  await lab.check('after a 401');
  await converges(lab);
}

async function oneMissing(bench: Bench): Promise<void> {
  await using lab = await appliedLab(bench);
  const id = (await lab.state()).resources.get('Agent/b')?.id ?? '';
  lab.emulator.dashboard.remove('agents', id);
  const planned = await lab.run('plan', '--output', 'json');
  succeeded(planned);
  const resource = resourcesIn(planned.stdout).get('Agent/b');
  assert.equal(resource?.action, 'blocked');
  assert.match(resource?.reason ?? '', new RegExp(`its record ${id} is missing`));
  succeeded(await lab.run('apply', '--auto-approve'));
  assert.equal(lab.emulator.world.agents.size, 2);
  succeeded(await lab.run('apply', '--auto-approve', '--allow-recreate', 'Agent/b'));
  await converges(lab);
  assert.equal(lab.emulator.world.agents.size, 3);
}

/** The platform insists: nothing is made of that, and a person who does must not lose the first record. */
async function wronglyMissing(bench: Bench): Promise<void> {
  await using lab = await appliedLab(bench);
  const id = (await lab.state()).resources.get('Agent/b')?.id ?? '';
  lab.hook = ({ method, path }) =>
    method === 'GET' && path.endsWith(id) ? { status: 410, body: { message: 'gone' } } : undefined;
  succeeded(await lab.run('apply', '--auto-approve'));
  assert.equal(lab.emulator.world.agents.size, 3);
  succeeded(await lab.run('apply', '--auto-approve', '--allow-recreate', 'Agent/b'));
  lab.hook = () => undefined;
  assert.equal(lab.emulator.world.agents.size, 4);
  await lab.check('after a record was wrongly called missing');
  const { orphans } = await lab.state();
  assert.deepEqual(
    orphans.map((orphan) => [orphan.id, orphan.reason]),
    [[id, 'gone']],
  );
  await converges(lab);
}

async function allMissing(bench: Bench): Promise<void> {
  await using lab = await appliedLab(bench);
  const { dashboard, world } = lab.emulator;
  for (const id of [...world.agents.keys()]) dashboard.remove('agents', id);
  for (const id of [...world.webhooks.keys()]) dashboard.remove('webhooks', id);
  for (const id of [...world.numbers.keys()]) dashboard.remove('numbers', id);
  const says = /none of the 5 managed records exists.*API key.*--allow-recreate all --even-if-all/;
  refused(await writesNothing(lab, () => lab.run('apply', '--auto-approve')), says);
  refused(await lab.run('plan', '--allow-recreate', 'all'), says);
  succeeded(await lab.run('apply', '--auto-approve', '--allow-recreate', 'all', '--even-if-all'));
  await converges(lab);
}

async function usersRefused(bench: Bench): Promise<void> {
  await using lab = await appliedLab(bench);
  lab.write('manifests/more.yaml', documents(agent('new'), user('ann', { role: 'member' })));
  for (const status of [403, 404]) {
    // What is read ahead is read again before it is believed.
    lab.emulator.faults.add({ match: { pattern: '/users' }, fault: { status }, times: 2 });
    refused(await writesNothing(lab, () => lab.run('apply', '--auto-approve')), /cannot read workspace \S+/);
    lab.emulator.faults.clear();
  }
  lab.emulator.dashboard.inviteUser({ email: emailOf('ann') });
  await converges(lab);
}
