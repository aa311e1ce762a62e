/** @module-tag long */

import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { expect, it } from 'vitest';
import { startEmulator } from '../../src/emulator/start-emulator.ts';
import { pathOf } from '../../src/page/views/parts.ts';
import { start, temporaryFolder } from '../cli/voxform-process.ts';
import { agentManifest, projectFile } from '../cli/workspace.ts';
import { putEmbedded } from '../fleet/embedded-folder.ts';
import { receiver } from '../operator/notifications/receiver.ts';
import { startPostgres } from '../state/backends/postgres/postgres-server.ts';
import { step } from '../step.ts';
import { command } from '../trust/in-process.ts';
import { apiProblems } from './api-problems.ts';
import { asking } from './running-page.ts';

const env = { VOXFORM_TEST_KEY: 'key-of-the-fleet' };
const ADDRESS = 'voices/acme:test';
const SCRAPING = 'token-of-prometheus';

it('serves the page over an embedded database to users with tokens', async () => {
  await using emulator = await startEmulator({ seed: 1 });
  using told = await receiver();
  await using folder = await temporaryFolder({
    'fleet.yaml': `version: 1
sources: { voices: { path: voices, projects: ["*"] } }
workspaces: { "*": { mode: approve, interval: 1h } }
notify: [{ url: ${told.url} }]
`,
    'voices/acme/voxform.yaml': projectFile(emulator).replace('VOXFORM_API_KEY', 'VOXFORM_TEST_KEY'),
    'voices/acme/manifests/a.yaml': agentManifest('answering', 'One.'),
    'voices/curious/voxform.yaml': projectFile({ ...emulator, workspaceId: 'another' }).replace(
      'VOXFORM_API_KEY',
      'VOXFORM_WATCH_TOKEN',
    ),
    'voices/curious/manifests/a.yaml': agentManifest('answering', 'One.'),
  });
  await putEmbedded(path.join(folder.root, '.voxform/fleet'));
  const fleet = (...args: string[]) => command(['fleet', ...args], { cwd: folder.root, env });
  await using serving = start(['fleet', 'serve', '--listen', '127.0.0.1:0'], {
    cwd: folder.root,
    env: { ...env, VOXFORM_WATCH_TOKEN: SCRAPING, NODE_V8_COVERAGE: path.join(folder.root, 'loaded') },
  });
  if (serving.child.stderr === null) throw new Error('it says nothing');
  let url = '';
  for await (const line of createInterface({ input: serving.child.stderr })) {
    ({ url = '' } = JSON.parse(line) as { readonly url?: string });
    if (url !== '') break;
  }
  const ask = asking(url);

  const tokens = await step('tokens are added through the process that uses the database', async () => {
    const added = await fleet('token', 'add', 'ann', '--role', 'approver');
    expect(added).toMatchObject({ code: 0, stdout: expect.stringMatching(/^voxform_ann_[\w-]{43}\n$/) });
    expect((await fleet('token', 'add', 'ann', '--role', 'admin')).stderr).toContain('already');
    expect((await fleet('token', 'add', 'a b', '--role', 'admin')).code).toBe(1);
    expect((await fleet('token', 'add', 'bob')).code).toBe(64);
    expect((await fleet('token', 'list')).stdout).toMatch(/ann +approver/);
    expect(await fleet('pulls')).toMatchObject({ code: 0, stderr: 'No open pull requests.\n' });
    const admin = await fleet('token', 'add', 'root', '--role', 'admin');
    return { approver: added.stdout.trim(), admin: admin.stdout.trim() };
  });
  const signIn = async (token: string) =>
    (await ask('/sign-in', { form: { token } })).headers['set-cookie']?.[0]?.split(';')[0] ?? '';
  const act = async (cookie: string, action: string, more: Record<string, string> = {}) => {
    const to = pathOf(ADDRESS, 'actions', action);
    const { text } = await ask(`${to}?of=${more.of ?? ''}`, { headers: { cookie } });
    const form = /name="form" value="([^"]+)"/.exec(text)?.[1];
    return (await ask(to, { headers: { cookie }, form: { form: form ?? '', ...more } })).status;
  };
  const workspace = async (cookie = '') => (await ask(pathOf(ADDRESS), { headers: { cookie } })).text;
  const until = async (pattern: RegExp, cookie = ''): Promise<RegExpExecArray | null> => {
    await expect.poll(async () => pattern.test(await workspace(cookie)), { interval: 100 }).toBe(true);
    return pattern.exec(await workspace(cookie));
  };
  await step('users with tokens approve a plan, pause and resume', async () => {
    const cookie = await signIn(tokens.approver);
    const plan = (await until(/actions\/approve\?of=([0-9a-f]+)"/, cookie))?.[1] ?? '';
    expect(await act(cookie, 'approve', { of: plan })).toBe(303);
    await until(/badge good">in sync<\/span> <span>since/);
    expect(emulator.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
    const admin = await signIn(tokens.admin);
    expect(await act(cookie, 'pause', { because: 'holidays' })).toBe(403);
    expect(await act(admin, 'pause', { because: 'holidays' })).toBe(303);
    expect(await act(admin, 'pause', { because: 'again' })).toBe(409);
    expect(await workspace()).toContain('root: holidays');
    expect(await act(admin, 'resume')).toBe(303);
    expect(await act(admin, 'resume')).toBe(409);
    expect(await act(cookie, 'run')).toBe(303);
    const text = await workspace();
    for (const result of ['approved', 'paused', 'resumed', 'requested'])
      expect(text).toContain(`badge faint">${result}`);
    const overview = await ask('/');
    expect(overview.text).toMatch(/<strong>1<\/strong><span class="badge good">in sync/);
    const metrics = await ask('/metrics', { headers: { authorization: `Bearer ${SCRAPING}` } });
    expect(metrics.text).toContain('voxform_fleet_workspaces{status="in-sync"} 1');
    expect((await ask('/workspaces?sort=due&q=ACME')).text).toContain('1 of 2 workspaces');
  });
  await step('the status needs the right to read the page, the metrics need the token', async () => {
    const handedOn = { 'x-forwarded-for': '10.9.9.9' };
    const status = async (path: string, headers = {}) =>
      (await ask(path, { headers: { ...handedOn, ...headers } })).status;
    expect([await status('/status'), await status('/metrics'), await status('/readyz')]).toEqual([403, 403, 200]);
    expect(await status('/status', { cookie: await signIn(tokens.approver) })).toBe(200);
    const document = JSON.parse((await ask('/status')).text);
    expect([document.processes.length > 0, apiProblems('fleet_status', document)]).toEqual([true, []]);
    const wrong = await ask('/wrong', { headers: { accept: 'application/json' } });
    expect(JSON.parse(wrong.text)).toEqual({
      error: 'not found; available: /, /api/v1/schema, /healthz, /readyz, /status, /metrics',
    });
    expect((await ask('/workspaces/voices/curious:test')).text).toContain('is not set');
  });
  await step('an admin freezes the fleet, and a webhook receives the notification', async () => {
    const cookie = await signIn(tokens.admin);
    const form = /name="form" value="([^"]+)"/.exec((await ask('/freeze', { headers: { cookie } })).text)?.[1] ?? '';
    const sent = { form, because: 'incident 7 @here' };
    expect((await ask('/freeze', { headers: { cookie }, form: sent })).status).toBe(303);
    const again = await fleet('pause', '--all', '--because', 'another');
    expect(again.stdout).toContain('frozen already by root');
    expect((await fleet('status')).stdout).toMatch(/^Frozen by root since .*: incident 7/);
    const exec = await fleet('exec', ADDRESS, '--', 'apply', '--auto-approve');
    expect([exec.code, exec.stderr]).toEqual([1, expect.stringContaining('frozen by root')]);
    const text = await workspace();
    expect(text).toMatch(/<strong>Frozen<\/strong> by <bdi>root<.*incident 7/s);
    expect(text).not.toContain('>frozen<');
    expect((await ask('/status')).text).toContain('"because":"incident 7 @here"');
    expect((await fleet('resume', '--all')).stdout).toBe('Resumed the fleet.\n');
    const overview = async () => (await ask('/')).text;
    await expect.poll(overview).toMatch(/Freezes.*root<.* by <bdi>root<.*incident 7/s);
    await expect.poll(() => told.bodies.length).toBe(2);
    const [frozen, resumed] = told.bodies.map((body) => JSON.parse(body.text));
    expect(frozen).toMatchObject({ event: 'frozen', by: 'root', because: 'incident 7 @here', url: null });
    expect(frozen.text).not.toContain('@here');
    expect(resumed).toMatchObject({ event: 'resumed' });
  });
  await step('removed tokens stop working', async () => {
    const cookie = await signIn(tokens.approver);
    expect(await workspace(cookie)).toContain('Sign out');
    expect((await fleet('token', 'remove', 'ann')).stdout).toContain('ended its sessions');
    expect((await fleet('token', 'remove', 'ann')).code).toBe(1);
    expect(await workspace(cookie)).not.toContain('Sign out');
  });
  serving.child.kill('SIGTERM');
  expect(await serving.ended).toMatchObject({ code: 0 });
  await step('the modules of single sign-on are not loaded', async () => {
    const loaded = path.join(folder.root, 'loaded');
    const reports = (await readdir(loaded)).map((name) => readFile(path.join(loaded, name), 'utf8'));
    const urls = [...(await Promise.all(reports)).join().matchAll(/"url":"(file:[^"]+)"/g)].map(([, url = '']) => url);
    const texts = await Promise.all([...new Set(urls)].map((url) => readFile(new URL(url), 'utf8')));
    const has = (text: string) => texts.some((each) => each.includes(text));
    expect([has('/sign-in/callback'), has('async function authorizationCodeGrant(')]).toEqual([true, false]);
  });
});

it('reports that its database is not ready or is unavailable, and reveals no more to strangers', async () => {
  await using postgres = await startPostgres();
  const database = postgres.url('postgres');
  const setUp = new pg.Client(database);
  await setUp.connect();
  await setUp.query("SELECT pg_advisory_lock(hashtext('voxform'), hashtext('voxform_fleet'))");
  await using folder = await temporaryFolder({
    'fleet.yaml': `version: 1
database: { $secret: FLEET_DATABASE_URL }
sources: { voices: { path: ., projects: ["voices/*"] } }
`,
  });
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  taken.close();
  const options = { cwd: folder.root, env: { FLEET_DATABASE_URL: database } };
  await using serving = start(['fleet', 'serve', '--listen', `127.0.0.1:${port}`], options);
  const ask = asking(`http://127.0.0.1:${port}`);
  const paths = ['/', '/workspaces', pathOf(ADDRESS), '/status', '/metrics'];

  await step('the tables do not exist yet', async () => {
    const isListening = () => ask('/healthz').then(({ status }) => status, String);
    await expect.poll(isListening).toBe(200);
    for (const path of paths) {
      const { status, text } = await ask(path);
      expect([path, status, text]).toEqual([path, 503, expect.stringContaining('starting')]);
      expect(text).not.toMatch(/does not exist|bug/);
    }
    await setUp.end();
    await expect.poll(async () => (await ask('/readyz')).status).toBe(200);
    for (const path of paths)
      expect([path, (await ask(path)).status]).toEqual([path, path === pathOf(ADDRESS) ? 404 : 200]);
  });
  await step('the database is unavailable', async () => {
    const added = await command(['fleet', 'token', 'add', 'ann', '--role', 'viewer'], options);
    const signedIn = await ask('/sign-in', { form: { token: added.stdout.trim() } });
    const cookie = signedIn.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
    const handedOn = { 'x-forwarded-for': '10.9.9.9' };
    const seen = async (headers: Record<string, string>) =>
      Promise.all(paths.slice(0, 4).map(async (path) => await ask(path, { headers })));
    expect((await seen({ ...handedOn, cookie })).map(({ status }) => status)).toEqual([200, 200, 404, 200]);
    await postgres.stop();
    const where = `127.0.0.1:${postgres.port}`;
    for (const headers of [{}, { cookie }]) {
      for (const { status, text } of await seen(headers))
        expect([status, text]).toEqual([503, expect.stringContaining(where)]);
    }
    const planted = cookie.replace(/=.*/, `=${'A'.repeat(43)}`);
    const strangers = [...(await seen({ ...handedOn, cookie })), ...(await seen({ ...handedOn, cookie: planted }))];
    strangers.push(await ask('/sign-in', { headers: handedOn, form: { token: 'guess' } }));
    for (const { status, text } of strangers) {
      expect([status, text]).toEqual([503, expect.stringContaining('cannot check')]);
      expect(text).not.toContain(where);
    }
    await postgres.start();
    const isBack = async () => (await ask('/', { headers: { ...handedOn, cookie } })).status;
    await expect.poll(isBack).toBe(200);
  });
  serving.child.kill('SIGTERM');
  const { code, stderr } = await serving.ended;
  expect(code).toBe(0);
  expect(stderr).toContain('starting: ');
  expect(stderr).not.toMatch(/does not exist|as a bug/);
});
