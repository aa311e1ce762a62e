import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Case } from './cases.ts';
import { converges, refused, resourcesIn, succeeded, unwrapped, writesNothing } from './expectations.ts';
import { APPLY, type Bench, Lab } from './lab.ts';
import { agent, documents, emailOf, number, user, webhook } from './manifests.ts';
import { settleUnknowns } from './person.ts';

const GROUP = 'network faults';

/** Responses that a retry does not correct. */
export const wrongPlatformCases: readonly Case[] = [
  { group: GROUP, name: 'a response of 200 MB to a read and to a create', run: oversizedResponses },
  { group: GROUP, name: '401 in mid-run', short: true, run: keyExpires },
  { group: GROUP, name: '404 for a recorded id', run: oneMissing },
  { group: GROUP, name: '410 for an existing record', run: wronglyMissing },
  { group: GROUP, name: '404 for every recorded id', run: allMissing },
  { group: GROUP, name: 'a users endpoint that refuses the workspace', run: usersRefused },
];

const MANIFESTS = documents(agent('a'), agent('b'), agent('c'), webhook('hook'), number('main', 1));

const FLOOD_BYTES = 200 * 1024 * 1024;
const MAX_MEMORY_KB = 512 * 1024;

async function oversizedResponses(bench: Bench): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: MANIFESTS });
  lab.write('manifests/more.yaml', agent('flooded'));
  let method = 'POST';
  const flooded = (request: IncomingMessage) =>
    request.method === method && /^\/api\/v1\/agents/.test(request.url ?? '');
  await using gateway = await openGateway(lab.emulator.url, flooded);
  const env = { VOXFORM_BASE_URL: gateway.url };
  const node = ['--import', MEMORY_PROBE];

  const applied = await lab.runWith({ env, node }, ...APPLY);
  assert.equal(applied.code, 1);
  assert.match(unwrapped(applied.stdout), /larger than \d+ bytes.*stays unknown/);
  await lab.check('after a flood');
  method = 'GET';
  refused(await lab.runWith({ env, node }, 'plan'), /the response is larger than \d+ bytes/);
  assert.ok(gateway.sent() < FLOOD_BYTES, `${gateway.sent()} bytes were read`);
  const memory = Number(lab.read('memory'));
  assert.ok(memory < MAX_MEMORY_KB, `${memory} KB were used`);
  await settleUnknowns(lab);
  await converges(lab);
}

/** A module that writes the maximum memory in kilobytes to a file when the process exits. */
const MEMORY_PROBE = `data:text/javascript,${encodeURIComponent(
  `import { writeFileSync } from 'node:fs';
   process.on('exit', () => writeFileSync('memory', String(process.resourceUsage().maxRSS)));`,
)}`;

interface Gateway extends AsyncDisposable {
  readonly url: string;
  /** The number of bytes of the last flood that the client has read. */
  sent(): number;
}

/** Starts a proxy for the platform. It answers `flooded` requests with an oversized response without a length. */
async function openGateway(target: string, flooded: (request: IncomingMessage) => boolean): Promise<Gateway> {
  let sent = 0;
  const flood = (response: ServerResponse): void => {
    sent = 0;
    response.writeHead(200, { 'content-type': 'application/json' });
    const chunk = Buffer.alloc(256 * 1024, ' ');
    const more = (): void => {
      while (sent < FLOOD_BYTES && !response.destroyed) {
        sent += chunk.length;
        if (!response.write(chunk)) {
          response.once('drain', more);
          return;
        }
      }
      response.end();
    };
    more();
  };
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await new Response(request).text();
    const { method = 'GET', url = '/', headers } = request;
    const passed = await fetch(target + url, {
      method,
      headers: { authorization: String(headers.authorization), 'content-type': 'application/json' },
      ...(method !== 'GET' && { body }),
    });
    const text = await passed.text();
    if (flooded(request)) flood(response);
    else response.writeHead(passed.status, { 'content-type': 'application/json' }).end(text);
  };
  const server = createServer((request, response) => {
    pass(request, response).catch(() => response.destroy());
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

async function keyExpires(bench: Bench): Promise<void> {
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
  assert.deepEqual(results, ['done', 'done', 'failed', 'skipped', 'skipped'], 'the results of all resources');
  assert.equal(posts, 3, 'the run continued after the key was refused');
  assert.match(stdout, /the platform refuses the API key/);
  await lab.check('after a 401');
  await converges(lab);
}

async function oneMissing(bench: Bench): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: MANIFESTS });
  const id = (await lab.state()).resources.get('Agent/b')?.id ?? '';
  lab.emulator.dashboard.remove('agents', id);
  const planned = await lab.run('plan', '--output', 'json');
  succeeded(planned);
  const resource = resourcesIn(planned.stdout).get('Agent/b');
  assert.equal(resource?.action, 'blocked');
  assert.match(resource?.reason ?? '', new RegExp(`its record ${id} is missing`));
  succeeded(await lab.run(...APPLY));
  assert.equal(lab.emulator.world.agents.size, 2);
  succeeded(await lab.run('apply', '--auto-approve', '--allow-recreate', 'Agent/b'));
  await converges(lab);
  assert.equal(lab.emulator.world.agents.size, 3);
}

/** The platform answers 410 to every read. Nothing must be created, and a forced recreate must keep the old record as an orphan. */
async function wronglyMissing(bench: Bench): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: MANIFESTS });
  const id = (await lab.state()).resources.get('Agent/b')?.id ?? '';
  lab.hook = ({ method, path }) =>
    method === 'GET' && path.endsWith(id) ? { status: 410, body: { message: 'gone' } } : undefined;
  succeeded(await lab.run(...APPLY));
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
  await using lab = await Lab.applied(bench, { manifests: MANIFESTS });
  const { dashboard, world } = lab.emulator;
  for (const id of [...world.agents.keys()]) dashboard.remove('agents', id);
  for (const id of [...world.webhooks.keys()]) dashboard.remove('webhooks', id);
  for (const id of [...world.numbers.keys()]) dashboard.remove('numbers', id);
  const message = /none of the 5 managed records exists.*API key.*--allow-recreate all --even-if-all/;
  refused(await writesNothing(lab, () => lab.run(...APPLY)), message);
  refused(await lab.run('plan', '--allow-recreate', 'all'), message);
  succeeded(await lab.run('apply', '--auto-approve', '--allow-recreate', 'all', '--even-if-all'));
  await converges(lab);
}

async function usersRefused(bench: Bench): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: MANIFESTS });
  lab.write('manifests/more.yaml', documents(agent('new'), user('ann', { role: 'member' })));
  for (const status of [403, 404]) {
    // A failed read ahead of the manifests is repeated.
    lab.emulator.faults.add({ match: { pattern: '/users' }, fault: { status }, times: 2 });
    refused(await writesNothing(lab, () => lab.run(...APPLY)), /cannot read workspace \S+/);
    lab.emulator.faults.clear();
  }
  lab.emulator.dashboard.inviteUser({ email: emailOf('ann') });
  await converges(lab);
}
