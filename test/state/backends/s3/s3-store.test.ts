import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { proxyFor } from '../../../../src/platform/proxy.ts';
import type { StoreUser } from '../../../../src/state/backends/backend.ts';
import { keysIn, siblingsOf } from '../../../../src/state/backends/bucket/bucket.ts';
import { s3 } from '../../../../src/state/backends/s3/s3-backend.ts';
import { openSession, readState } from '../../../../src/state/session.ts';
import { LostState } from '../../../../src/state/state-errors.ts';
import { createStore } from '../../../../src/state/state-location.ts';
import type { StateStore } from '../../../../src/state/store.ts';
import { Secret } from '../../../../src/values/value.ts';
import { connectProxy } from '../../../platform/connect-proxy.ts';
import { listenHttp } from '../../../platform/listen.ts';
import { creating, failureOf, lockRequest, saved, sessionOptions } from '../../temporary-state.ts';
import { expectSiblingFound } from '../siblings.ts';
import { hasRadosgw, startRadosgw } from './radosgw.ts';
import { JOB_TOKEN, S3_ID, S3_SECRET, S3Server } from './s3-server.ts';

interface Scene {
  readonly server: S3Server;
  store(user?: Partial<StoreUser>, settings?: object, source?: string): StateStore;
  pass(seconds: number): void;
}

async function userIn(): Promise<StoreUser> {
  const root = await mkdtemp(join(tmpdir(), 'voxform-s3-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  return { root, host: 'here', user: 'ann', pid: 7, version: '0.0.0', now: () => new Date() };
}

async function scene(): Promise<Scene> {
  const server = await S3Server.start();
  onTestFinished(() => server[Symbol.asyncDispose]());
  const base = await userIn();
  let ahead = 0;
  const user = { ...base, now: () => new Date(Date.now() + ahead) };
  return {
    server,
    pass: (seconds) => {
      ahead += seconds * 1000;
    },
    store: (more, settings, source) => {
      const owner = { workspace: 'staging', root: base.root, source };
      const place = s3.locate({ ...server.settings(), ...settings } as never, owner);
      return createStore({ backend: 's3', ...place }, { ...user, ...more });
    },
  };
}

const recorded = () => sessionOptions({ lock: lockRequest({ isStep: false }) });

async function runIn(store: StateStore, name = 'a'): Promise<void> {
  const session = await openSession(store, recorded());
  await session.record(creating(name));
  await session.record(saved(name));
  await session.close();
}

async function namesIn(store: StateStore): Promise<string[]> {
  return [...(await readState(store, recorded())).resources.keys()];
}

const KEY = 'states/staging';
const HEAD = `${KEY}/head.json`;

describe('state in S3', () => {
  it('replaces only the head, and only conditionally', async () => {
    const { server, store } = await scene();
    await runIn(store());
    await runIn(store(), 'b');
    const puts = server.requests.filter(({ method, path }) => method === 'PUT' && !path.endsWith('.probe'));
    const written = puts.map(({ path }) => path);
    for (const { path, headers } of puts) {
      if (path === `/voices/${HEAD}`) expect(headers['if-match'] ?? headers['if-none-match']).toBeDefined();
      else expect(written.filter((each) => each === path)).toHaveLength(1);
    }
    const head = JSON.parse(server.objects().get(HEAD)?.bytes.toString() ?? '');
    expect(head).toMatchObject({ version: 1, lock: null, serial: 2, lineage: expect.any(String) });
    expect(await namesIn(store())).toEqual(['Agent/a', 'Agent/b']);
    expect(await store().history()).toHaveLength(2);
  });

  it('uses at most two requests for a write, with a size that does not depend on the state', async () => {
    const { server, store } = await scene();
    const session = await openSession(store(), recorded());
    const names = Array.from({ length: 400 }, (_, index) => `agent-${index}`);
    await Promise.all(names.map((name) => session.record(saved(name, 'x'.repeat(500)))));
    await session.close();
    const again = await openSession(store(), recorded());
    server.requests.length = 0;
    await again.record(creating('b'));
    const [put, ...others] = server.requests;
    expect(others).toEqual([]);
    expect(put).toMatchObject({ method: 'PUT', path: `/voices/${HEAD}` });
    expect(put?.body.length).toBeLessThan(80_000);
    server.requests.length = 0;
    await again.record(saved('b'));
    await again.close();
    // The outcome, then the document and the head.
    expect(server.requests.map(({ method }) => method)).toEqual(['PUT', 'PUT', 'PUT']);
    server.requests.length = 0;
    await store().holder();
    expect(server.requests.length).toBeLessThanOrEqual(2);
  });

  it('keeps long journals and histories in separate objects', { tags: ['long'] }, async () => {
    const { server, store } = await scene();
    const session = await openSession(store(), recorded());
    const names = Array.from({ length: 30 }, (_, index) => `agent-${index}`);
    await Promise.all(names.map((name) => session.record(creating(name))));
    await Promise.all(names.map((name) => session.record(saved(name, 'x'.repeat(4_000)))));
    const kinds = () => [...server.objects().keys()].map((key) => key.replace(/^.*\./, ''));
    expect(kinds()).toContain('journal');
    expect((await store().read()).journal).toHaveLength(60);
    await session.close();
    expect(await namesIn(store())).toHaveLength(30);
    const command = 'y'.repeat(9_000);
    for (let run = 0; run < 6; run++) {
      const lock = lockRequest({ isStep: false, operation: command });
      await (await store().lock(lock)).release();
    }
    expect(kinds()).toContain('history');
    expect(await store().history()).toHaveLength(7);
  });

  it.each(['lost', 'cut', 'conflict', 'error'] as const)(
    'stores everything if any single request fails: %s',
    { tags: ['long'] },
    async (kind) => {
      const calm = await scene();
      await runIn(calm.store());
      const total = calm.server.requests.length;
      const each = Array.from({ length: total }, async (_, index) => {
        const nth = index + 1;
        const { server, store } = await scene();
        let count = 0;
        server.fault = ({ method }) => {
          count += 1;
          if (count !== nth) return undefined;
          if (kind === 'lost' || kind === 'cut') return kind;
          if (kind === 'error') return { status: 500, code: 'InternalError' };
          return method === 'PUT' ? { status: 409, code: 'ConditionalRequestConflict' } : undefined;
        };
        await runIn(store());
        expect(await namesIn(store()), `request ${nth} of ${total}`).toEqual(['Agent/a']);
        expect(await store().holder()).toBeUndefined();
      });
      await Promise.all(each);
    },
  );

  it('lets one of many runs write', { tags: ['long'] }, async () => {
    const { store } = await scene();
    await Promise.all(
      ['a', 'b', 'c', 'd', 'e'].map(async (name) => {
        const lock = lockRequest({ isStep: false, timeoutSeconds: 60 });
        const session = await openSession(store(), sessionOptions({ lock }));
        await session.record(saved(name));
        await session.close();
      }),
    );
    expect((await namesIn(store())).toSorted()).toEqual(['a', 'b', 'c', 'd', 'e'].map((name) => `Agent/${name}`));
  });

  it('detects that tags are compared without quotes, and remembers it', async () => {
    const { server, store } = await scene();
    server.rules = 'bare';
    await runIn(store());
    server.requests.length = 0;
    await runIn(store(), 'b');
    expect(await namesIn(store())).toEqual(['Agent/a', 'Agent/b']);
    expect(server.requests.filter(({ path }) => path.endsWith('.probe'))).toEqual([]);
  });

  it.each([
    ['unconditional', 'If-None-Match'],
    ['absent-only', 'If-Match'],
  ] as const)('refuses a store that is %s before the first write', async (rules, header) => {
    const { server, store } = await scene();
    server.rules = rules;
    const { message, hint } = await failureOf(store().lock(lockRequest()));
    expect(message).toBe(`the store of s3://voices/${KEY} ignores the ${header} condition of a write`);
    expect(hint).toContain('Two runs');
    expect([...server.objects().keys()]).toEqual([]);
  });

  it.each([
    ['NoSuchBucket', { bucket: 'another' }, /the bucket another .* does not exist/],
    ['SignatureDoesNotMatch', { secret_access_key: new Secret('X', 'wrong') }, /rejected the credentials/],
    ['InvalidAccessKeyId', { access_key_id: 'AKIAOTHER' }, /rejected the credentials/],
    ['a half', { access_key_id: undefined }, /must be set together/],
    ['an unset secret', { secret_access_key: new Secret('STATE_KEY', undefined) }, /needs STATE_KEY/],
  ])('reports one error for %s', async (_, settings, expected) => {
    const { store } = await scene();
    const error = await failureOf(store({}, settings).read());
    expect(error.message).toMatch(expected);
    expect(error.hint).toBeDefined();
    expect(JSON.stringify(error) + error.message).not.toContain(S3_SECRET);
  });

  it.each([
    ['GET', 's3:GetObject'],
    ['PUT', 's3:PutObject'],
  ])('names the permission that %s lacks', async (method, permission) => {
    const { server, store } = await scene();
    server.fault = (request) => (request.method === method ? { status: 403, code: 'AccessDenied' } : undefined);
    const error = await failureOf(runIn(store()));
    expect(error.message).toContain(`no permission ${permission} for the state s3://voices/${KEY}`);
    expect(error.hint).toContain('s3:ListBucket');
  });

  it.each(['GET', 'PUT'])(
    'is neither missing nor lost while a gateway responds to %s with its own 404',
    async (method) => {
      const { server, store } = await scene();
      await runIn(store());
      let faults = 0;
      server.fault = (request) => {
        const isFaulty = request.method === method && (method === 'GET' || request.path.endsWith('.state'));
        return isFaulty && ++faults <= 2 ? { status: 404, body: '<html>404 page not found</html>' } : undefined;
      };
      if (method === 'GET') expect((await store().read()).document?.serial).toBe(1);
      else await runIn(store(), 'b');
      expect(faults).toBeGreaterThan(2);
    },
  );

  it('finds the region of the bucket, and corrects the clock', async () => {
    const { server, store } = await scene();
    server.ahead = 3_600_000;
    await runIn(store({}, { region: 'us-east-1' }));
    expect(await namesIn(store())).toEqual(['Agent/a']);
  });

  it('works through a proxy, with the bucket in the host', async () => {
    const { server, store } = await scene();
    await using proxy = await connectProxy(Number(new URL(server.url).port));
    const env = { http_proxy: `http://127.0.0.1:${proxy.port}` };
    const network = (address: string) => ({ proxy: proxyFor(new URL(address), env) });
    await runIn(store({ network }, { endpoint: 'http://s3.example.com', path_style: false }));
    expect(await namesIn(store())).toEqual(['Agent/a']);
    expect(proxy.asked.every((line) => line.includes(` http://voices.s3.example.com/${KEY}/`))).toBe(true);
  });

  it('requests the encryption of the settings', async () => {
    const { server, store } = await scene();
    await runIn(store({}, { sse: 'aws:kms', kms_key_id: 'alias/voxform' }));
    for (const { headers } of server.objects().values()) {
      expect(headers).toMatchObject({
        'x-amz-server-side-encryption': 'aws:kms',
        'x-amz-server-side-encryption-aws-kms-key-id': 'alias/voxform',
      });
    }
  });

  it('removes unreferenced objects after a day', async () => {
    const { server, store, pass } = await scene();
    await runIn(store());
    await runIn(store(), 'b');
    const before = [...server.objects().keys()];
    server.objects().set(`${KEY}/of-somebody-else`, { ...objectOf(server), modified: new Date(0) });
    for (const object of server.objects().values()) object.modified = new Date(Date.now() - 90_000_000);
    pass(4_000);
    await runIn(store(), 'c');
    const after = [...server.objects().keys()];
    expect(after).toContain(`${KEY}/of-somebody-else`);
    expect(after.filter((key) => before.includes(key) && key !== HEAD)).toEqual([]);
    expect(await namesIn(store())).toEqual(['Agent/a', 'Agent/b', 'Agent/c']);
  });

  it('keeps earlier documents as backups', async () => {
    const { store } = await scene();
    await runIn(store());
    await runIn(store(), 'b');
    const backups = await store().backups();
    expect(backups[0]).toMatchObject({ isCurrent: true });
    expect(backups.slice(1).some(({ resources }) => resources.size === 1)).toBe(true);
  });

  it('reports a missing object', async () => {
    const { server, store } = await scene();
    await runIn(store());
    for (const key of server.objects().keys()) if (key.endsWith('.state')) server.objects().delete(key);
    expect(await failureOf(store().read())).toBeInstanceOf(LostState);
    await expect(openSession(store(), recorded())).rejects.toThrow(/missing/);
  });

  it('refuses a head that is not its own', async () => {
    const { server, store } = await scene();
    await runIn(store());
    server.objects().set(HEAD, { ...objectOf(server), bytes: Buffer.from('{"version":2}'), etag: 'other' });
    await expect(store().read()).rejects.toThrow(/is not a state that/);
    await expect(store().lock(lockRequest())).rejects.toThrow(/is not a state that/);
  });

  it('gives a fetched project no credentials of the machine', async () => {
    const { server, store } = await scene();
    const own = { access_key_id: undefined, secret_access_key: undefined };
    const error = await failureOf(store({}, own, 'https://git.example.com/a.git').read());
    expect(error.message).toContain('needs its own credentials');
    expect(server.requests).toEqual([]);
    await expect(store({}, {}, 'https://git.example.com/a.git').read()).resolves.toBeDefined();
  });
});

describe('credentials for a state in S3', () => {
  const none = { access_key_id: undefined, secret_access_key: undefined };

  /** Creates a file with this text, and hides this machine's credentials. @returns the file's path. */
  async function fileWith(text: string): Promise<string> {
    const { root } = await userIn();
    const file = join(root, 'file');
    await writeFile(file, text);
    const names = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN', 'AWS_PROFILE'];
    for (const name of names) vi.stubEnv(name, undefined);
    for (const name of ['AWS_CONFIG_FILE', 'AWS_SHARED_CREDENTIALS_FILE']) vi.stubEnv(name, join(root, 'none'));
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
    onTestFinished(() => void vi.unstubAllEnvs());
    return file;
  }

  it('come from the environment', async () => {
    const { store } = await scene();
    await fileWith('');
    vi.stubEnv('AWS_ACCESS_KEY_ID', S3_ID);
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', S3_SECRET);
    await runIn(store({}, none));
    expect(await namesIn(store({}, none))).toEqual(['Agent/a']);
  });

  it('come from a profile of the shared files', async () => {
    const { store } = await scene();
    const text = `[voices]\naws_access_key_id = ${S3_ID}\naws_secret_access_key = ${S3_SECRET}\n`;
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', await fileWith(text));
    const { message } = await failureOf(store({}, none).read());
    expect(message).toContain('no AWS credentials');
    await runIn(store({}, { ...none, profile: 'voices' }));
  });

  it('come from the token of a job, with the configured proxies and certificates', async () => {
    const { server, store } = await scene();
    vi.stubEnv('AWS_WEB_IDENTITY_TOKEN_FILE', await fileWith(JOB_TOKEN));
    vi.stubEnv('AWS_ROLE_ARN', 'arn:aws:iam::123456789012:role/voxform');
    vi.stubEnv('AWS_ENDPOINT_URL_STS', server.url);
    const asked = new Set<string>();
    const network = (address: string) => {
      asked.add(new URL(address).pathname);
      return {};
    };
    await store({ network }, none).read();
    expect([...asked]).toEqual(['/', `/voices/${HEAD}`]);
    expect(server.requests.at(-1)?.headers['x-amz-security-token']).toBe('session-of-the-role');
  });

  it('come from the metadata of a container', async () => {
    const { server, store } = await scene();
    await fileWith('');
    const metadata = await listenHttp((request, response) => {
      const isAllowed = request.headers.authorization === 'token-of-the-container';
      const credentials = { AccessKeyId: S3_ID, SecretAccessKey: S3_SECRET, Token: 'of-the-container' };
      response
        .writeHead(isAllowed ? 200 : 403)
        .end(JSON.stringify({ ...credentials, Expiration: '2099-01-01T00:00:00Z' }));
    });
    vi.stubEnv('AWS_CONTAINER_CREDENTIALS_FULL_URI', `${metadata.url}/credentials`);
    vi.stubEnv('AWS_CONTAINER_AUTHORIZATION_TOKEN', 'token-of-the-container');
    await store({}, none).read();
    expect(server.requests.at(-1)?.headers['x-amz-security-token']).toBe('of-the-container');
  });

  it('have their own session token', async () => {
    const { server, store } = await scene();
    await store({}, { session_token: new Secret('TOKEN', 'of-a-session') }).read();
    expect(server.requests.at(-1)?.headers['x-amz-security-token']).toBe('of-a-session');
  });
});

function objectOf(server: S3Server) {
  const [object] = server.objects().values();
  if (object === undefined) throw new Error('no object');
  return object;
}

describe('other states in the bucket', () => {
  it('are found if they belong to the same workspace', async () => {
    await using server = await S3Server.start();
    const user = await userIn();
    server.objects().set('states/foreign/head.json', foreign);
    const storeOf = (workspace: string) =>
      createStore({ backend: 's3', ...s3.locate(server.settings() as never, { workspace, root: user.root }) }, user);
    await expectSiblingFound(storeOf, 's3://voices/states/staging');
  });

  it('may be in folders that cannot be listed', async () => {
    const { server, store } = await scene();
    server.fault = ({ query }) => (query.has('delimiter') ? { status: 403, code: 'AccessDenied' } : undefined);
    const warnings: string[] = [];
    expect(await store({ warn: (text) => warnings.push(text) }).findOther?.('W1')).toBeUndefined();
    expect(warnings).toEqual([expect.stringContaining('s3:ListBucket')]);
  });

  it('may be unreadable, so that each state can have its own access policy', async () => {
    const { server, store } = await scene();
    server.objects().set('states/other/head.json', foreign);
    server.fault = ({ path }) => (path.includes('/other/') ? { status: 403, code: 'AccessDenied' } : undefined);
    const warnings: string[] = [];
    expect(await store({ warn: (text) => warnings.push(text) }).findOther?.('W1')).toBeUndefined();
    expect(warnings).toEqual([expect.stringContaining('s3:GetObject for the state s3://voices/states/other')]);
  });

  it.each([
    ['voices/{workspace}', ['voices/a/', 'voices/b-c/'], ['voices/a', 'voices/b-c']],
    ['{workspace}/state', ['a/'], ['a/state']],
    ['v/x-{workspace}-state/1', ['v/x-a-state/', 'v/x-a/', 'v/x--state/'], ['v/x-a-state/1']],
  ])('are found for the key %s', (key, folders, keys) => {
    const siblings = siblingsOf(key);
    expect(siblings && keysIn(folders, siblings)).toEqual(keys);
  });

  it('are not searched if the key does not contain the workspace name', () => {
    for (const key of ['voices', '{workspace}/{workspace}']) expect(siblingsOf(key)).toBeUndefined();
  });
});

const foreign = { bytes: Buffer.from('{}'), etag: 'of another program', modified: new Date(), headers: {} };

const title = hasRadosgw ? 'a state in Ceph' : 'a state in Ceph (skipped: there is no radosgw)';
describe.skipIf(!hasRadosgw)(title, () => {
  it('lets one of many runs write, and reads complete states', { tags: ['long'] }, async () => {
    await using server = await startRadosgw('ceph-secret');
    const user = await userIn();
    const owner = { workspace: 'staging', root: user.root };
    const store = () => createStore({ backend: 's3', ...s3.locate(server.settings() as never, owner) }, user);
    expect((await store().read()).document).toBeUndefined();
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    await Promise.all(
      names.map(async (name) => {
        const lock = lockRequest({ isStep: false, timeoutSeconds: 60 });
        const session = await openSession(store(), sessionOptions({ lock }));
        await session.record(creating(name));
        await session.record(saved(name));
        await session.close();
      }),
    );
    expect((await namesIn(store())).toSorted()).toEqual(names.map((name) => `Agent/${name}`));
    expect(await store().history()).toHaveLength(6);
    expect((await store().backups()).length).toBeGreaterThan(1);
    expect(await store().holder()).toBeUndefined();
  });

  it('finds the state of its workspace under another name, and refuses a bucket with versions', {
    tags: ['long'],
  }, async () => {
    await using server = await startRadosgw('ceph-secret');
    const user = await userIn();
    const storeOf = (workspace: string) =>
      createStore({ backend: 's3', ...s3.locate(server.settings() as never, { workspace, root: user.root }) }, user);
    await expectSiblingFound(storeOf, 's3://voices/states/staging');
    // Ceph ignores conditions there, Amazon S3 honors them.
    await server.keepVersions();
    const { message, hint } = await failureOf(openSession(storeOf('versions'), recorded()));
    expect(message).toContain('ignores the If-None-Match condition');
    expect(hint).toContain('versioning disabled');
  });
});
