import { execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { request } from 'node:http';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { startEmulator } from '../../src/emulator/start-emulator.ts';
import { fleetDatabaseAt } from '../../src/fleet/database/fleet-database.ts';
import { setUpTables } from '../../src/fleet/database/set-up-tables.ts';
import { eventReceiver } from '../../src/fleet/events.ts';
import { loadFleetFile } from '../../src/fleet/fleet-file.ts';
import { claimSources, registerSources, requestFetch, storeContents } from '../../src/fleet/rows/member-rows.ts';
import { start, temporaryFolder } from '../cli/voxform-process.ts';
import { agentManifest, projectFile } from '../cli/workspace.ts';
import { asking } from '../page/running-page.ts';
import { freshDatabase } from '../state/backends/postgres/databases.ts';
import { step } from '../step.ts';

const SECRET = 'a-secret-of-the-webhook';
const KEY = { VOXFORM_TEST_KEY: 'key-of-the-fleet' };
const FLEET = `version: 1
database: { $secret: FLEET_DATABASE_URL }
sources: { voices: { git: ./voices, interval: 1h, projects: ["*"], webhook: { $secret: VOICES_WEBHOOK } } }
workspaces: { "*": { mode: apply, interval: 1h } }
`;

function signed(body: string, secret = SECRET): Record<string, string> {
  return { 'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}` };
}

/** Posts an event and returns the status of the response. Sends no body if other headers declare its length. */
function post(url: string, headers: Record<string, string | number>, body = '{}'): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers }, (answer) => {
      resolve(answer.statusCode ?? 0);
      sent.destroy();
    });
    sent.on('error', reject);
    if ('content-length' in headers || 'transfer-encoding' in headers) sent.flushHeaders();
    else sent.end(body);
  });
}

it('fetches a source at once on an event of its host, and on nothing else', { tags: ['long'] }, async () => {
  const database = await freshDatabase();
  await using emulator = await startEmulator({ seed: 1 });
  await using folder = await temporaryFolder({
    'fleet.yaml': FLEET,
    'voices/acme/voxform.yaml': projectFile(emulator).replace('VOXFORM_API_KEY', 'VOXFORM_TEST_KEY'),
    'voices/acme/manifests/a.yaml': agentManifest('answering', 'One.'),
    'voices/curious/voxform.yaml': projectFile({ ...emulator, workspaceId: 'another' }).replace(
      'VOXFORM_API_KEY',
      'VOICES_WEBHOOK',
    ),
  });
  const git = (...args: string[]) => {
    const who = ['-c', 'user.name=ann', '-c', 'user.email=ann@example.com'];
    execFileSync('git', [...who, ...args], { cwd: path.join(folder.root, 'voices'), stdio: 'pipe' });
  };
  const commit = async (prompt?: string) => {
    if (prompt !== undefined) await folder.write('voices/acme/manifests/a.yaml', agentManifest('answering', prompt));
    git('add', '--all');
    git('commit', '--quiet', '-m', 'An edit');
  };
  git('init', '--quiet', '-b', 'main');
  await commit();
  await using serving = start(['fleet', 'serve', '--listen', '127.0.0.1:0'], {
    cwd: folder.root,
    env: { ...KEY, VOICES_WEBHOOK: SECRET, FLEET_DATABASE_URL: database.url },
  });
  if (serving.child.stderr === null) throw new Error('no standard error');
  let url = '';
  for await (const line of createInterface({ input: serving.child.stderr })) {
    ({ url = '' } = JSON.parse(line) as { readonly url?: string });
    if (url !== '') break;
  }
  serving.child.stderr.resume();
  const hook = `${url}/hooks/voices`;
  const applied = (prompt: string) =>
    expect.poll(() => JSON.stringify([...emulator.world.agents.values()]), { interval: 50 }).toContain(prompt);
  await applied('One.');

  await step('forged events are refused', async () => {
    await commit('Two.');
    const body = '{"ref":"refs/heads/main"}';
    expect(await post(hook, {}, body)).toBe(401);
    expect(await post(hook, signed(body, 'another-secret-of-that-length'), body)).toBe(401);
    expect(await post(hook, signed('{}'), body)).toBe(401);
    expect(await post(hook, { 'x-gitlab-token': `${SECRET}x` }, body)).toBe(401);
    expect(await post(`${url}/hooks/other`, signed(body), body)).toBe(401);
    expect(await post(hook, { ...signed(body), 'content-length': 26 * 1024 ** 2 }, body)).toBe(413);
    expect(await post(hook, { ...signed(body), 'content-length': '', 'transfer-encoding': 'chunked' }, body)).not.toBe(
      202,
    );
    expect((await asking(url)('/hooks/voices')).status).toBe(405);
    expect(JSON.stringify([...emulator.world.agents.values()])).toContain('One.');
  });

  await step('a push at GitHub and one at GitLab are applied before the next interval', async () => {
    expect(await post(hook, signed('{}'))).toBe(202);
    await applied('Two.');
    await commit('Three.');
    expect(await post(hook, { 'x-gitlab-token': SECRET })).toBe(202);
    await applied('Three.');
  });

  await step('no project can use the webhook secret', async () => {
    const { text } = await asking(url)('/workspaces/voices/curious:test');
    expect(text).toContain('VOICES_WEBHOOK');
  });
  serving.child.kill('SIGTERM');
  await serving.ended;
});

describe('events of a source', () => {
  it('wait for the end of a fetch, and count once', async () => {
    const { url } = await freshDatabase();
    const database = fleetDatabaseAt(url);
    await setUpTables(database);
    const all = [{ name: 'voices', shown: 'voices', identity: 'voices', interval: 3_600_000 }];
    const [claimed] = await registerSources(database, all);
    if (claimed === undefined) throw new Error('not claimed');
    const contents = { source: 'voices', commit: 'a', projects: [], warnings: [] };
    await requestFetch(database, 'voices');
    await requestFetch(database, 'voices');
    expect(await claimSources(database, all), 'the first fetch continues').toEqual([]);
    await storeContents(database, { claimed, contents, interval: 3_600_000 });
    const [again] = await claimSources(database, all);
    if (again === undefined) throw new Error('not claimed again');
    expect(await claimSources(database, all)).toEqual([]);
    await storeContents(database, { claimed: again, contents, interval: 3_600_000 });
    expect(await claimSources(database, all)).toEqual([]);
    await database.close();
  });

  it.each([
    [{}, 'is not set'],
    [{ VOICES_WEBHOOK: 'short' }, 'fewer than 16 characters'],
  ])('need a secret that cannot be guessed: %j', async (env, problem) => {
    await using folder = await temporaryFolder({ 'fleet.yaml': FLEET });
    const fleet = loadFleetFile(path.join(folder.root, 'fleet.yaml'), env);
    const database = fleetDatabaseAt('postgres://nobody@127.0.0.1:1/none');
    expect(() => eventReceiver(fleet, database)).toThrow(problem);
    await database.close();
  });
});
