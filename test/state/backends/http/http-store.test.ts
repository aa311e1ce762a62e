import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { proxyFor } from '../../../../src/platform/proxy.ts';
import type { StoreUser } from '../../../../src/state/backends/backend.ts';
import { http } from '../../../../src/state/backends/http/http-backend.ts';
import { httpStore } from '../../../../src/state/backends/http/http-store.ts';
import { openSession, readState } from '../../../../src/state/session.ts';
import { LostLock } from '../../../../src/state/state-errors.ts';
import { createStore } from '../../../../src/state/state-location.ts';
import type { StateStore } from '../../../../src/state/store.ts';
import { Secret } from '../../../../src/values/value.ts';
import { connectProxy } from '../../../platform/connect-proxy.ts';
import { creating, failureOf, lockRequest, saved, sessionOptions } from '../../temporary-state.ts';
import { type Fault, type Rules, type Step, TerraformServer } from './terraform-server.ts';

const PATH = '/state/staging';
const PASSWORD = 'correct-horse-battery';

interface Scene {
  readonly server: TerraformServer;
  store(user?: Partial<StoreUser>, settings?: object): StateStore;
  pass(seconds: number): void;
}

async function scene(options: Partial<TerraformServer> = {}): Promise<Scene> {
  const server = await TerraformServer.start(options);
  onTestFinished(() => server[Symbol.asyncDispose]());
  const root = await mkdtemp(join(tmpdir(), 'voxform-http-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  let clock = Date.parse('2030-01-01T00:00:00Z');
  const user = { root, host: 'here', user: 'ann', pid: 7, version: '0.0.0', now: () => new Date(clock) };
  return {
    server,
    pass: (seconds) => {
      clock += seconds * 1000;
    },
    store: (more, settings) => {
      const place = http.locate({ ...server.settings(), ...settings } as never, {
        workspace: 'staging',
        root,
      });
      return createStore({ backend: 'http', ...place }, { ...user, ...more });
    },
  };
}

const recorded = () => sessionOptions({ lock: lockRequest({ isStep: false }) });

async function runIn(store: StateStore): Promise<void> {
  const session = await openSession(store, recorded());
  await session.record(creating('a'));
  await session.record(saved('a'));
  await session.close();
}

describe.each<Rules>(['gitlab', 'terraform'])('state server with the rules of %s', (rules) => {
  it('keeps a version for each write, as a Terraform state without resources that Terraform refuses', async () => {
    const { server, store } = await scene({ rules });
    await runIn(store());
    const versions = (server.versions.get(PATH) ?? []).map((body) => JSON.parse(body));
    expect(versions.map(({ serial }) => serial)).toEqual([1, 2, 3, 4, 5]);
    expect(new Set(versions.map(({ lineage }) => lineage)).size).toBe(1);
    expect(versions[0]).toMatchObject({
      version: 4,
      terraform_version: 'voxform',
      outputs: {},
      resources: [],
    });
    expect(versions[0].voxform.lock).toMatchObject({ who: 'ann@here', operation: 'apply' });
    expect(JSON.parse(versions[4].voxform.state).resources).toHaveProperty(['Agent/a', 'id'], 'id-a');
    const writes = server.requests.filter(({ step }) => step === 'write').map(({ line }) => line);
    expect(writes.every((line) => line.endsWith(`?ID=${versions[0].voxform.lock.id}`))).toBe(true);
    expect(server.locks.size).toBe(0);
    expect(await store().history()).toMatchObject([{ command: 'apply', result: 'done' }]);
  });

  const steps: Step[] = ['read', 'write', 'lock', 'unlock'];
  const faults: Fault[] = rules === 'gitlab' ? ['before', 'after', 500, 503] : ['after'];
  it.each(steps.flatMap((step) => faults.map((fault) => [step, fault] as const)))(
    'stores once if every third %s fails: %s',
    { tags: ['long'] },
    async (failing, fault) => {
      const { server, store } = await scene({ rules });
      let count = 0;
      server.fault = (step) => (step === failing && ++count % 3 === 1 ? fault : undefined);
      await runIn(store());
      expect(count).toBeGreaterThan(0);
      server.fault = undefined;
      expect((await readState(store(), recorded())).resources.get('Agent/a')?.id).toBe('id-a');
      expect(await store().history()).toHaveLength(1);
      const serials = server.versions.get(PATH)?.map((body) => JSON.parse(body).serial);
      expect(serials).toEqual([1, 2, 3, 4, 5]);
      expect(server.locks.size).toBe(0);
    },
  );

  it('names the holder and its command to a second run', async () => {
    const { store, pass } = await scene({ rules });
    const lease = await store({ user: 'bob', host: 'runner-7' }).lock(lockRequest({ operation: 'import' }));
    pass(60);
    const { message } = await failureOf(store().lock(lockRequest()));
    expect(message).toContain('bob@runner-7 (process 7)');
    expect(message).toContain('for import');
    expect(message).toContain('last heartbeat 60 s ago');
    await lease.release();
  });

  it('takes over from a holder that died before its first write, once its lock is old', async () => {
    const { server, store, pass } = await scene({ rules });
    server.fault = (step) => (step === 'write' ? 403 : undefined);
    await failureOf(store().lock(lockRequest()));
    const dead = await scene({ rules });
    expect(server.locks.size).toBe(0);
    const lease = await dead.store().lock(lockRequest());
    server.locks.set(PATH, [...dead.server.locks.values()][0] as never);
    server.fault = undefined;
    const { message } = await failureOf(store().lock(lockRequest()));
    expect(message).toContain(`lock ${lease.info.id}`);
    pass(721);
    await (await store().lock(lockRequest())).release();
    expect(server.locks.size).toBe(0);
    await lease.release();
  });

  it('takes over from a holder without heartbeats, whose writes then fail', async () => {
    const { server, store, pass } = await scene({ rules });
    const first = await openSession(store({ user: 'bob' }), recorded());
    await first.record(creating('a'));
    pass(719);
    expect((await failureOf(store().lock(lockRequest()))).message).toContain('bob@here');
    pass(1);
    const second = await openSession(store(), recorded());
    const { length } = server.versions.get(PATH) ?? [];
    await expect(first.record(saved('a'))).rejects.toBeInstanceOf(LostLock);
    await first.close().catch(() => undefined);
    expect(server.versions.get(PATH)).toHaveLength(length);
    expect((await store().holder())?.who).toBe('ann@here');
    await second.close();
    expect(server.locks.size).toBe(0);
  });

  it('continues if the server has lost its lock', async () => {
    const { server, store } = await scene({ rules });
    const session = await openSession(store(), recorded());
    server.locks.clear();
    await session.record(creating('a'));
    await session.close();
    expect((await readState(store(), recorded())).pending.size).toBe(1);
    expect(server.locks.size).toBe(0);
  });

  it('grants the lock to one of several at once', async () => {
    const { server, store } = await scene({ rules });
    const all = await Promise.allSettled([1, 2, 3, 4].map(() => store().lock(lockRequest())));
    const won = all.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    expect(won).toHaveLength(1);
    await won[0]?.release();
    expect(server.locks.size).toBe(0);
  });

  it('releases a lock that exists only on the server', async () => {
    const { server, store } = await scene({ rules });
    const lease = await store().lock(lockRequest());
    const [lock] = server.locks.values();
    await lease.release();
    server.locks.set(PATH, lock as never);
    expect((await store().unlock(lease.info.id)).id).toBe(lease.info.id);
    expect(server.locks.size).toBe(0);
  });
});

describe('state server', () => {
  it('that ignores lock ids accepts no write from a holder that lost its lock', async () => {
    const { server, store, pass } = await scene({ rules: 'terraform', checksIds: false });
    const first = await openSession(store({ user: 'bob' }), recorded());
    pass(720);
    const second = await openSession(store(), recorded());
    await expect(first.record(creating('a'))).rejects.toBeInstanceOf(LostLock);
    await second.record(creating('b'));
    await second.close();
    await first.close().catch(() => undefined);
    expect([...(await readState(store(), recorded())).pending.keys()]).toEqual(['Agent/b']);
    expect(server.locks.size).toBe(0);
  });

  it.each([
    [3, 'its only try'],
    [4, 'two tries'],
  ])('that stores write %i late, over later writes, loses none of them: %s', async (last) => {
    const { server, store } = await scene({ rules: 'terraform' });
    const isHeld = () => server.count('write') >= 3 && server.count('write') <= last;
    server.fault = (step) => (step === 'write' && isHeld() ? 'held' : undefined);
    const session = await openSession(store(), recorded());
    await session.record(creating('a'));
    await session.record(saved('a'));
    server.letGo();
    await session.record(creating('b'));
    await session.close();
    const state = await readState(store(), recorded());
    expect([...state.resources.keys(), ...state.pending.keys()]).toEqual(['Agent/a', 'Agent/b']);
  });

  it('that cannot release a lock causes a warning after the state is stored', async () => {
    const { server, store } = await scene({ answer: statusOf('unlock', 405) });
    const warnings: string[] = [];
    const lock = lockRequest({ warn: (text) => warnings.push(text) });
    const session = await openSession(store(), sessionOptions({ lock }));
    await session.close();
    expect(warnings.join()).toContain(`cannot release the lock ${server.locks.get(PATH)?.ID}`);
    expect(warnings.join()).toContain('state.unlock_method (GitLab: DELETE)');
  });

  it.each([
    ['grants two at once', { grantsAll: true }, 'two locks'],
    ['does not know LOCK', { answer: statusOf('lock', 405) }, 'was 405'],
    ['has no such path', { answer: statusOf('lock', 404) }, 'was 404'],
    ['has not implemented it', { answer: statusOf('lock', 501) }, 'was 501'],
  ])('that does not lock is refused: it %s', async (_reason, options, words) => {
    const { server, store } = await scene(options);
    const { message, hint } = await failureOf(store().lock(lockRequest()));
    expect(message).toContain('does not lock it');
    expect(message).toContain(words);
    expect(hint).toContain('lock_method: POST');
    expect(server.count('write')).toBe(0);
    expect(server.locks.size).toBe(0);
  });

  it.each([
    ['a Terraform state', '{"version":4,"terraform_version":"1.9.0","serial":3}', 'a Terraform state'],
    ['other JSON', '{"message":"hello"}', 'not a voxform state'],
    ['text', 'hello', 'not JSON'],
    [
      'a newer format',
      '{"serial":1,"lineage":"L","voxform":{"format":2,"written_by":"9.0.0"}}',
      'by voxform 9.0.0 in format 2',
    ],
    ['damage', '{"serial":1,"lineage":"L","voxform":{"format":1}}', 'is damaged: at voxform >'],
  ])('that contains %s is refused, and nothing is overwritten', async (_reason, body, words) => {
    const { server, store } = await scene();
    server.versions.set(PATH, [body]);
    for (const attempt of [() => store().read(), () => store().lock(lockRequest())]) {
      expect((await failureOf(attempt())).message).toContain(words);
    }
    expect(server.versions.get(PATH)).toEqual([body]);
    expect(server.locks.size).toBe(0);
  });

  it('is not treated as empty while a gateway responds with an HTML page', async () => {
    const { server, store } = await scene({ rules: 'terraform' });
    await runIn(store());
    let count = 0;
    const body = '<html><head><title>404 Not Found</title></head></html>';
    server.answer = (step) => (step === 'read' && ++count <= 2 ? { status: 404, body } : undefined);
    expect((await store().read()).document?.serial).toBe(1);
    expect(count).toBe(3);
  });

  it.each<Step>(['read', 'write', 'lock'])('that answers a %s with an HTML page is refused', async (step) => {
    const { server, store } = await scene();
    const body = '<!DOCTYPE html><title>Sign in</title>';
    server.answer = (asked) => (asked === step ? { status: 200, body } : undefined);
    const { message, hint } = await failureOf(store().lock(lockRequest()));
    expect(message).toContain('with a web page');
    expect(hint).toContain('sign-in page');
    expect(server.versions.size).toBe(0);
  });

  it.each([
    [401, 'rejected the user name or the password', 'state.username and state.password'],
    [403, 'no permission', 'read, write and lock'],
    [413, 'too large', 'Raise the limit'],
    [302, 'redirects POST requests to https://login.example.com (302)', 'state.address'],
  ])('that rejects a write with %s is reported as a permanent error', async (status, words, help) => {
    const { server, store } = await scene({ credentials: `ann:${PASSWORD}` });
    const headers = { location: 'https://login.example.com/?token=t0ken' };
    server.answer = (step) => (step === 'write' ? { status, headers } : undefined);
    const password = new Secret('PASSWORD', PASSWORD);
    const error = await failureOf(store({}, { username: 'ann', password }).lock(lockRequest()));
    expect(error.message).toContain(words);
    expect(error.hint).toContain(help);
    expect(`${error.message} ${error.hint}`).not.toMatch(/t0ken|correct-horse/);
    expect(server.count('write')).toBe(1);
    expect(server.locks.size).toBe(0);
  });

  it('requires a user name and a password, and reports an unset secret', async () => {
    const { store } = await scene({ credentials: `ann:${PASSWORD}` });
    expect((await failureOf(store().read())).message).toContain('requires a user name and a password');
    const password = new Secret('STATE_TOKEN', undefined);
    expect((await failureOf(store({}, { password }).read())).message).toContain('STATE_TOKEN');
    const right = new Secret('STATE_TOKEN', PASSWORD);
    expect((await store({}, { username: 'ann', password: right }).read()).document).toBeUndefined();
  });

  it('may redirect a read within its origin, and nowhere else', async () => {
    const { server, store } = await scene({ compresses: true });
    await runIn(store());
    const moved = (location: string) => (step: Step, request: { url?: string | undefined }) =>
      step === 'read' && request.url === '/old' ? { status: 307, headers: { location } } : undefined;
    const old = { address: `${server.url}/old` };
    server.answer = moved(PATH);
    expect((await store({}, old).read()).document?.serial).toBe(1);
    const other = await scene();
    server.answer = moved(`${other.server.url}${PATH}`);
    const password = new Secret('STATE_TOKEN', PASSWORD);
    const { message } = await failureOf(store({}, { ...old, password }).read());
    expect(message).toContain(`to ${other.server.url}`);
    expect(other.server.requests).toEqual([]);
  });

  it('is reached through a proxy, with a warning if the password is sent without encryption', async () => {
    const { server, store } = await scene({ credentials: `ann:${PASSWORD}` });
    await using proxy = await connectProxy(Number(new URL(server.url).port));
    const warnings: string[] = [];
    const env = { http_proxy: `http://127.0.0.1:${proxy.port}` };
    const through: Partial<StoreUser> = {
      network: (address) => ({ proxy: proxyFor(new URL(address), env) }),
      warn: (message) => warnings.push(message),
    };
    const settings = {
      address: 'http://state.example.com/state/{workspace}?key=k3y',
      username: 'ann',
      password: new Secret('STATE_TOKEN', PASSWORD),
    };
    await runIn(store(through, settings));
    expect(server.versions.get(PATH)).toHaveLength(5);
    expect(proxy.asked.every((line) => line.includes('http://state.example.com/state/staging'))).toBe(true);
    expect(warnings.join()).toContain('http://state.example.com/state/staging is sent without encryption');
    expect(warnings.join()).not.toMatch(/k3y|correct/);
  });

  it('times out if it does not respond, and is named at once if it does not run', async () => {
    const { server, store } = await scene({ answer: () => undefined });
    const place = http.locate(server.settings() as never, { workspace: 'staging', root: '/' });
    const slow = httpStore({
      settings: { ...place, address: `${server.url}${PATH}` },
      location: 'the-state',
      user: { root: '/', host: '', user: '', pid: 1, version: '0.0.0', now: () => new Date() },
      timeoutMilliseconds: 50,
    });
    server.fault = () => 'silent';
    const { message } = await failureOf(slow.read(new AbortController().signal));
    expect(message).toContain('no complete response from');
    const gone = await failureOf(store({}, { address: 'http://127.0.0.1:1/x' }).read());
    expect(gone.message).toContain('refused the connection');
  });
});

function statusOf(step: Step, status: number): TerraformServer['answer'] {
  return (asked) => (asked === step ? { status, body: '<h1>no</h1>' } : undefined);
}

it('names the setting whose host does not exist', async () => {
  const { store } = await scene();
  const { hint } = await failureOf(store({}, { address: 'http://nowhere.invalid/state' }).read());
  expect(hint).toBe('Correct the host in state.address.');
});
