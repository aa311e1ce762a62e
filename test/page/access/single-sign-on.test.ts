import type { ServerResponse } from 'node:http';
import { generateKeyPair } from 'jose';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { singleSignOn } from '../../../src/cli/fleet-page.ts';
import { pageAddress } from '../../../src/cli/page-address.ts';
import { type FleetDatabase, fleetDatabaseAt } from '../../../src/fleet/database/fleet-database.ts';
import { setUpTables } from '../../../src/fleet/database/set-up-tables.ts';
import type { SignInSettings } from '../../../src/fleet/fleet-file.ts';
import { Redactor } from '../../../src/values/redactor.ts';
import { Secret } from '../../../src/values/value.ts';
import { freshDatabase } from '../../state/backends/postgres/databases.ts';
import { freePort } from '../../state/backends/postgres/postgres-server.ts';
import { type Answer, type RunningPage, runningPage } from '../running-page.ts';
import { type Forgery, startForgingProvider } from './forging-provider.ts';

let database: FleetDatabase;

beforeAll(async () => {
  database = fleetDatabaseAt((await freshDatabase()).url);
  await setUpTables(database);
});

afterAll(() => database.close());

/** Starts a page that signs people in with this provider. Its address belongs to another site than the provider. */
async function start(issuer: string, changes: Partial<SignInSettings> = {}) {
  const port = await freePort();
  const settings: SignInSettings = {
    issuer,
    clientId: 'voxform',
    clientSecret: new Secret('OIDC_CLIENT_SECRET', 'client-secret'),
    address: `http://localhost:${port}`,
    nameClaim: 'email',
    groupsClaim: 'groups',
    roles: { viewer: ['readers'], approver: ['leads'], admin: ['platform'] },
    session: 60_000,
    ...changes,
  };
  const logged: unknown[] = [];
  const page = await runningPage({
    listen: { host: '127.0.0.1', port },
    names: ['voxform.example.com'],
    signOn: singleSignOn(settings, database, { env: {}, redactor: new Redactor() }),
    onError: (error) => logged.push(error),
  });
  return Object.assign(page, { logged });
}

/** Returns the headers of a request with these cookies that a proxy forwards. */
const from = (...cookies: readonly string[]) => ({
  headers: { cookie: cookies.join('; '), 'x-forwarded-for': '10.1.1.1' },
});

const cookieOf = ({ headers }: Answer, name: string): string =>
  headers['set-cookie']?.find((each) => each.startsWith(name))?.split(';')[0] ?? '';
const sessionOf = (answer: Answer) => cookieOf(answer, 'voxform_session');

/** Starts a sign-in. Returns the cookie of the attempt, and the path to which the provider redirects the browser. */
async function attempt(page: RunningPage, to = '/') {
  const answer = await page.ask(`/sign-in/provider?to=${encodeURIComponent(to)}`, from());
  expect(answer.status).toBe(302);
  const { headers } = await fetch(answer.headers.location ?? '', { redirect: 'manual' });
  const { pathname, search } = new URL(headers.get('location') ?? '');
  return { cookie: cookieOf(answer, 'voxform_sign_in'), path: pathname + search };
}

/** Signs in, as far as the provider and the page allow. */
async function signIn(page: RunningPage, to?: string): Promise<Answer> {
  const { cookie, path } = await attempt(page, to);
  return page.ask(path, from(cookie));
}

const problemIn = (answer: Answer) => [answer.status, sessionOf(answer)];

it('signs in with the role of the groups, once for each code', async () => {
  await using provider = await startForgingProvider();
  await using page = await start(provider.url);
  const { cookie, path } = await attempt(page, '/workspaces?q=a');
  const answer = await page.ask(path, from(cookie));
  expect([answer.status, answer.headers.refresh]).toEqual([200, '0; url=/workspaces?q=a']);
  const { text } = await page.ask('/', from(sessionOf(answer)));
  expect(text).toMatch(/ann@example\.com.*approver/);
  expect(problemIn(await page.ask(path, from(cookie)))).toEqual([403, '']);
  const [{ authorization, form } = {}] = provider.asked;
  expect([authorization, form?.get('client_secret')]).toEqual([`Basic ${btoa('voxform:client-secret')}`, null]);
});

it('sends the client secret in the method that the provider supports, or sends none', async () => {
  await using provider = await startForgingProvider();
  provider.metadata = { token_endpoint_auth_methods_supported: ['client_secret_post', 'none'] };
  await using page = await start(provider.url);
  expect((await signIn(page)).status).toBe(200);
  await using open = await start(provider.url, { clientSecret: undefined });
  expect((await signIn(open)).status).toBe(200);
  const sent = provider.asked.map(({ authorization, form }) => [authorization, form.get('client_secret')]);
  expect(sent).toEqual([
    [undefined, 'client-secret'],
    [undefined, null],
  ]);
});

it('needs the client secret at startup', () => {
  const clientSecret = new Secret('OIDC_CLIENT_SECRET', undefined);
  return expect(start('http://127.0.0.1:1', { clientSecret })).rejects.toThrow('OIDC_CLIENT_SECRET');
});

it.each<readonly [name: string, forgery: Forgery]>([
  ['another issuer', { claims: (claims) => ({ ...claims, iss: 'http://127.0.0.1:1' }) }],
  ['another audience', { claims: (claims) => ({ ...claims, aud: 'other' }) }],
  ['another authorized party', { claims: (claims) => ({ ...claims, aud: ['voxform', 'other'], azp: 'other' }) }],
  ['only another authorized party', { claims: (claims) => ({ ...claims, aud: ['voxform'], azp: 'other' }) }],
  ['an authorized party that is not a string', { claims: (claims) => ({ ...claims, azp: ['voxform'] }) }],
  ['an issue time in the future', { claims: (claims) => ({ ...claims, iat: Number(claims.iat) + 3600 }) }],
  ['another nonce', { claims: (claims) => ({ ...claims, nonce: 'other' }) }],
  ['no nonce', { claims: ({ nonce: _, ...claims }) => claims }],
  ['no subject', { claims: ({ sub: _, ...claims }) => claims }],
  ['an expiry in the past', { claims: (claims) => ({ ...claims, exp: 1_000_000 }) }],
  ['a start in the future', { claims: (claims) => ({ ...claims, nbf: 4_000_000_000 }) }],
  ['no signature', { alg: 'none' }],
  ['a signature with the secret', { alg: 'HS256' }],
  ['another key', { key: 'other' }],
  ['an unknown key', { key: 'unknown' }],
  ['a list as the name', { claims: (claims) => ({ ...claims, email: ['a'] }) }],
  ['a name of two lines', { claims: (claims) => ({ ...claims, email: 'ann\nroot' }) }],
  ['a very long name', { claims: (claims) => ({ ...claims, email: 'a'.repeat(1000) }) }],
  ['too many groups', { claims: (claims) => ({ ...claims, groups: Array(3000).fill('leads') }) }],
  ['very large claims', { claims: (claims) => ({ ...claims, more: 'a'.repeat(400_000) }) }],
])('gives no session to a token with %s', async (_, forgery) => {
  await using provider = await startForgingProvider();
  await using page = await start(provider.url);
  provider.forgery = forgery;
  expect(problemIn(await signIn(page))).toEqual([403, '']);
  provider.forgery = {};
  expect((await signIn(page)).status).toBe(200);
});

it('accepts a token with itself as the only audience, from a clock that is a minute ahead', async () => {
  await using provider = await startForgingProvider();
  await using page = await start(provider.url);
  const claims: Forgery['claims'] = (given) => ({ ...given, azp: 'voxform', iat: Number(given.iat) + 60 });
  provider.forgery = { claims };
  expect((await signIn(page)).status).toBe(200);
});

it('gives no session for responses that belong to another attempt', async () => {
  await using provider = await startForgingProvider();
  await using page = await start(provider.url);
  const own = await attempt(page);
  const other = await attempt(page);
  const codeOf = (path: string) => new URLSearchParams(path.split('?')[1]).get('code') ?? '';
  const parts = ({ cookie }: { readonly cookie: string }) => cookie.split(/[=.]/);
  const [name = '', nonce, , target] = parts(own);
  const [, otherNonce, otherVerifier] = parts(other);
  const state = name.slice(-43);
  const third = await attempt(page);
  const rows: readonly (readonly [reason: string, cookie: string, path: string])[] = [
    ['no attempt', '', own.path],
    ['the attempt of another browser', other.cookie, own.path],
    ['a damaged attempt', own.cookie.slice(0, 120), own.path],
    ['the attempt of another under its own name', `${name}=${parts(other).slice(1).join('.')}`, own.path],
    ['the nonce of another', `${parts(third)[0]}=${[otherNonce, ...parts(third).slice(2)].join('.')}`, third.path],
    ['the code of another', own.cookie, own.path.replace(codeOf(own.path), codeOf(other.path))],
    ['the verifier of another', `${name}=${[nonce, otherVerifier, target].join('.')}`, own.path],
    ['no code', own.cookie, own.path.replace('code=', 'c=')],
    ['two states', own.cookie, `${own.path}&state=${state}`],
    ['an error', own.cookie, `/sign-in/callback?error=access_denied&state=${state}`],
  ];
  for (const [reason, cookie, path] of rows)
    expect([reason, ...problemIn(await page.ask(path, from(cookie)))]).toEqual([reason, 403, '']);
});

it('signs in in two tabs, in any order, and redirects a late response', async () => {
  await using provider = await startForgingProvider();
  await using page = await start(provider.url);
  for (const order of [
    [0, 1],
    [1, 0],
  ]) {
    const tabs = [await attempt(page, '/workspaces?q=0'), await attempt(page, '/workspaces?q=1')];
    const jar = new Map(tabs.map(({ cookie }) => [cookie.split('=')[0] ?? '', cookie]));
    for (const tab of order) {
      const answer = await page.ask(tabs[tab]?.path ?? '', from(...jar.values()));
      expect([answer.status, answer.headers.refresh]).toEqual([200, `0; url=/workspaces?q=${tab}`]);
      for (const set of answer.headers['set-cookie'] ?? []) {
        const name = set.split('=')[0] ?? '';
        if (set.includes('Max-Age=0')) jar.delete(name);
        else jar.set(name, set.split(';')[0] ?? '');
      }
    }
    expect([...jar.keys()]).toEqual([expect.stringContaining('voxform_session')]);
    const late = await page.ask(tabs[0]?.path ?? '', from(...jar.values()));
    expect([late.status, late.headers.refresh]).toEqual([403, '0; url=/sign-in?late']);
    expect((await page.ask('/sign-in?late', from(...jar.values()))).headers.location).toBe('/');
  }
  expect((await page.ask('/sign-in?late', from())).text).toContain('took too long');
});

it.each(['state=x', `state=${'x'.repeat(43)}`, 'state=', 'code=a', ''])(
  'keeps a sign-in in progress when another site sends the browser to the callback with "%s"',
  async (query) => {
    await using provider = await startForgingProvider();
    await using page = await start(provider.url);
    const { cookie, path } = await attempt(page);
    const planted = await page.ask(`/sign-in/callback?${query}`, from(cookie));
    expect([planted.status, planted.headers['set-cookie']]).toEqual([403, undefined]);
    expect((await page.ask(path, from(cookie))).status).toBe(200);
  },
);

it('keeps only the latest attempts of a browser, and none that is too long', async () => {
  await using provider = await startForgingProvider();
  await using page = await start(provider.url);
  const to = `/workspaces?q=${'a'.repeat(980)}`;
  const cookies: string[] = [];
  for (let tab = 0; tab < 5; tab += 1) cookies.push((await attempt(page, to)).cookie);
  expect(cookies.join('; ').length).toBeLessThan(8192);
  const sixth = await page.ask('/sign-in/provider', from(...cookies));
  const removed = (sixth.headers['set-cookie'] ?? []).filter((each) => each.includes('Max-Age=0'));
  expect(removed).toEqual([expect.stringContaining(`${cookies[0]?.split('=')[0]}=;`)]);
});

it('refuses the response of another provider', async () => {
  await using provider = await startForgingProvider();
  await using page = await start(provider.url);
  provider.metadata = { authorization_response_iss_parameter_supported: true };
  const { cookie, path } = await attempt(page);
  expect(problemIn(await page.ask(`${path}&iss=http://127.0.0.1:1`, from(cookie)))).toEqual([403, '']);
  expect(problemIn(await page.ask(path, from(cookie)))).toEqual([403, '']);
});

it.each<readonly [problem: string, claims: Record<string, unknown>]>([
  ['none', { groups: undefined }],
  ['others', { groups: ['Leads', 'leads ', '*', { leads: true }] }],
  ['an object', { groups: { leads: true } }],
])('shows nothing to a user without a role: the groups are %s', async (_, claims) => {
  await using provider = await startForgingProvider();
  await using page = await start(provider.url);
  provider.forgery = { claims: (given) => ({ ...given, ...claims }) };
  const answer = await signIn(page);
  expect(problemIn(answer)).toEqual([403, '']);
  expect(answer.text).toContain('ann@example.com');
  expect(answer.text).not.toContain('client-00000');
  expect((await page.ask('/', from())).status).toBe(401);
});

it.each<readonly [string, Record<string, unknown>, Partial<SignInSettings>, string]>([
  ['the highest role', { groups: ['readers', 'platform', 'leads'] }, {}, 'admin'],
  ['a role for all users', { groups: [] }, { roles: { viewer: ['*'], admin: ['platform'] } }, 'viewer'],
  ['one group as a string', { hd: 'acme.com' }, { groupsClaim: 'hd', roles: { admin: ['acme.com'] } }, 'admin'],
  ['another name', { name: 'Ann' }, { nameClaim: 'name' }, 'Ann'],
  ['a name with markup', { email: '<img src=x>' }, {}, '&lt;img src=x&gt;'],
  ['an unverified name', { email_verified: false }, {}, 'ann@example.com (unverified)'],
  [
    'a verified address as its group',
    { email_verified: true },
    { groupsClaim: 'email', roles: { viewer: ['ann@example.com'] } },
    'viewer',
  ],
])('takes %s from the claims', async (_, claims, changes, shown) => {
  await using provider = await startForgingProvider();
  await using page = await start(provider.url, changes);
  provider.forgery = { claims: (given) => ({ ...given, ...claims }) };
  const session = sessionOf(await signIn(page));
  const { text } = await page.ask('/', from(session));
  expect(/<span class="who".*<\/span>/.exec(text)?.[0]).toContain(shown);
});

it('grants no rights for an unverified address', async () => {
  await using provider = await startForgingProvider();
  await using page = await start(provider.url, { groupsClaim: 'email', roles: { admin: ['ann@example.com'] } });
  expect(problemIn(await signIn(page))).toEqual([403, '']);
});

it('reads missing claims from the user info of the same subject', async () => {
  await using provider = await startForgingProvider();
  await using page = await start(provider.url);
  provider.forgery = { claims: ({ groups: _, ...claims }) => claims };
  provider.userInfo = { groups: ['platform'], email: 'other@example.com' };
  const session = sessionOf(await signIn(page));
  expect((await page.ask('/', from(session))).text).toMatch(/ann@example\.com.*admin/);
  provider.userInfo = { groups: ['platform'], sub: 'user-2' };
  expect(problemIn(await signIn(page))).toEqual([403, '']);
});

it('applies the roles of the fleet file to existing sessions', async () => {
  await using provider = await startForgingProvider();
  await using page = await start(provider.url);
  const [name, id] = sessionOf(await signIn(page)).split('=');
  const role = async (changes: Partial<SignInSettings>) => {
    await using other = await start(provider.url, changes);
    const session = `${name?.replace(/\d+$/, new URL(other.url).port)}=${id}`;
    const { status, text } = await other.ask('/', from(session));
    return [status, /\b(viewer|approver|admin) *</.exec(text)?.[1]];
  };
  expect(await role({})).toEqual([200, 'approver']);
  expect(await role({ roles: { admin: ['leads'] } })).toEqual([200, 'admin']);
  expect(await role({ roles: { admin: ['platform'] } })).toEqual([401, undefined]);
  expect(await role({ issuer: 'http://127.0.0.1:1' })).toEqual([401, undefined]);
});

it('ends sessions after their lifetime, and the oldest of a user with too many', async () => {
  await using provider = await startForgingProvider();
  await using page = await start(provider.url);
  const first = await signIn(page);
  expect(first.headers['set-cookie']?.join()).toMatch(
    /voxform_session_\d*=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=60$/,
  );
  const status = async (answer: Answer) => (await page.ask('/', from(sessionOf(answer)))).status;
  await database.query("UPDATE voxform_fleet.identity_sessions SET until = now() - interval '1 second'");
  expect(await status(first)).toBe(401);
  const all: Answer[] = [];
  for (let count = 0; count < 21; count += 1) all.push(await signIn(page));
  expect(await Promise.all(all.map(status))).toEqual([401, ...Array(20).fill(200)]);
  const [row] = await database.query('SELECT count(*) AS count FROM voxform_fleet.identity_sessions');
  expect(Number(row?.count)).toBe(20);
});

it('sets cookies only for encrypted connections if its address is encrypted', async () => {
  await using provider = await startForgingProvider();
  await using page = await start(provider.url, { address: 'https://voxform.example.com' });
  const begun = await page.ask('/sign-in/provider', from());
  expect(begun.headers.location).toContain(encodeURIComponent('https://voxform.example.com/sign-in/callback'));
  expect(begun.headers['set-cookie']?.join()).toMatch(/HttpOnly; SameSite=Lax; Max-Age=900; Secure$/);
  expect((await signIn(page)).headers['set-cookie']?.join()).toMatch(/HttpOnly; SameSite=Strict; Max-Age=60; Secure$/);
  const known = pageAddress({ listen: '0.0.0.0:9464', trustedRole: 'viewer' }, [
    'https://Voxform.example.com',
    undefined,
  ]);
  expect(known?.names).toEqual(['voxform.example.com']);
});

it('stores session ids and tokens only in a form that readers of the database cannot use', async () => {
  await using provider = await startForgingProvider();
  await using page = await start(provider.url);
  const [, id = 'none'] = sessionOf(await signIn(page)).split('=');
  const rows = JSON.stringify(await database.query('SELECT * FROM voxform_fleet.identity_sessions'));
  expect(rows).toContain('ann@example.com');
  for (const secret of [
    id,
    Buffer.from(JSON.stringify({ sub: 'user-1' }))
      .toString('base64url')
      .slice(0, 12),
  ])
    expect(rows).not.toContain(secret);
});

it('redirects to no other site', async () => {
  await using provider = await startForgingProvider();
  await using page = await start(provider.url);
  const sites = [
    'https://evil.example/',
    '//evil.example/',
    '/\\evil.example',
    '/%09/evil.example',
    '/\t/evil.example',
  ];
  for (const to of [...sites, 'javascript:alert(1)', `/${'a'.repeat(5000)}`]) {
    const { headers } = await signIn(page, to);
    expect(headers.refresh, to).toMatch(/^0; url=\/(?![/\\])/);
  }
  expect((await signIn(page, '/sign-out')).headers.refresh).toBe('0; url=/');
  const { cookie, path } = await attempt(page);
  const forged = cookie.replace(/[^.]*$/, Buffer.from('https://evil.example/').toString('base64url'));
  expect((await page.ask(path, from(forged))).headers.refresh).toBe('0; url=/');
});

it('starts a new session for a browser that has one, and ends the session of a token', async () => {
  await using provider = await startForgingProvider();
  await using page = await start(provider.url);
  const planted = await page.signIn('viewer-token');
  const { cookie, path } = await attempt(page);
  const session = sessionOf(await page.ask(path, from(planted, cookie)));
  expect([session !== planted, session !== '']).toEqual([true, true]);
  expect((await page.ask('/', from(session))).text).toContain('ann@example.com');
  expect((await page.ask('/', from(planted))).status).toBe(401);
});

it('signs out at the page and at the provider', async () => {
  await using provider = await startForgingProvider();
  await using page = await start(provider.url);
  const session = sessionOf(await signIn(page));
  const form = async (cookie: string) =>
    /sign-out"><input type="hidden" name="form" value="([^"]+)/.exec((await page.ask('/', from(cookie))).text)?.[1] ??
    '';
  const token = await form(session);
  expect((await page.ask('/sign-out', { ...from(session), form: { form: 'wrong' } })).status).toBe(403);
  const other = sessionOf(await signIn(page));
  expect((await page.ask('/sign-out', { ...from(session), form: { form: await form(other) } })).status).toBe(403);
  const answer = await page.ask('/sign-out', { ...from(session), form: { form: token } });
  const url = new URL(/^0; url=(.*)/.exec(String(answer.headers.refresh))?.[1] ?? '');
  expect([answer.status, url.origin, url.pathname]).toEqual([200, provider.url, '/end']);
  expect(url.searchParams.get('post_logout_redirect_uri')).toMatch(/^http:\/\/localhost:\d+\/$/);
  expect(url.searchParams.get('id_token_hint')?.split('.')).toHaveLength(3);
  expect(url.searchParams.get('client_id')).toBe('voxform');
  expect((await page.ask('/', from(session))).status).toBe(401);
  expect((await page.ask('/', from(other))).status).toBe(200);
});

it('keeps sessions and tokens while the provider is down', async () => {
  await using provider = await startForgingProvider();
  await using page = await start(provider.url);
  const session = sessionOf(await signIn(page));
  const late = await attempt(page);
  await provider.close();
  expect(problemIn(await page.ask(late.path, from(late.cookie)))).toEqual([503, '']);
  expect((await page.ask('/', from(session))).status).toBe(200);
  expect((await page.ask('/', from(await page.signIn('viewer-token')))).status).toBe(200);
  await using restarted = await start(provider.url);
  const answer = await restarted.ask('/sign-in/provider', from());
  expect([answer.status, answer.text]).toEqual([503, expect.stringContaining('at the moment')]);
  expect(answer.text).toContain('name="token"');
});

it.each<readonly [string, string, number, (response: ServerResponse) => unknown]>([
  ['an error', '/token', 503, (response) => response.writeHead(500).end()],
  ['nothing', '/token', 503, (response) => response.destroy()],
  ['a redirect', '/token', 403, (response) => response.writeHead(307, { location: '/token?again' }).end()],
  ['invalid JSON', '/token', 403, (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>')],
  ['too much data', '/token', 403, (response) => response.writeHead(200).end('x'.repeat(1_000_000))],
  ['no keys', '/jwks', 403, (response) => response.writeHead(404).end('{}')],
  ['too many keys', '/jwks', 403, (response) => response.writeHead(200).end('x'.repeat(1_000_000))],
])('gives no session if the provider answers with %s at %s', async (_, path, status, answer) => {
  await using provider = await startForgingProvider();
  await using page = await start(provider.url);
  provider.answers = { [path]: answer };
  expect(problemIn(await signIn(page))).toEqual([status, '']);
  provider.answers = {};
  expect((await signIn(page)).status).toBe(200);
});

const METADATA = '/.well-known/openid-configuration';

it.each<readonly [string, Record<string, unknown>]>([
  ['of another issuer', { issuer: 'http://127.0.0.1:1' }],
  ['without an authorization endpoint', { authorization_endpoint: undefined }],
  ['with a script as the authorization endpoint', { authorization_endpoint: 'javascript:alert(1)' }],
  ['with a script as the sign-out endpoint', { end_session_endpoint: 'javascript:alert(1)' }],
])('redirects to no provider with metadata %s, and reads the metadata again', async (_, metadata) => {
  await using provider = await startForgingProvider();
  await using page = await start(provider.url);
  provider.metadata = metadata;
  const { status, headers } = await page.ask('/sign-in/provider', from());
  expect([status, headers.location]).toEqual([503, undefined]);
  provider.metadata = {};
  expect((await signIn(page)).status).toBe(200);
});

it('follows no redirect of the metadata, and limits the time for reading it', { tags: ['long'] }, async () => {
  await using provider = await startForgingProvider();
  await using page = await start(provider.url);
  provider.answers = { [METADATA]: (response) => response.writeHead(302, { location: '/other' }).end() };
  expect((await page.ask('/sign-in/provider', from())).status).toBe(503);
  provider.answers = { [METADATA]: () => undefined };
  expect((await page.ask('/sign-in/provider', from())).status).toBe(503);
});

it('reads new keys and new metadata of the provider', async () => {
  await using provider = await startForgingProvider();
  await using page = await start(provider.url);
  expect((await signIn(page)).status).toBe(200);
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  Object.assign(provider.keys, { own: await generateKeyPair('RS256') });
  provider.kid = 'next';
  vi.setSystemTime(Date.now() + 120_000);
  expect((await signIn(page)).status).toBe(200);
  provider.answers = { '/moved': (response) => response.writeHead(302, { location: `${provider.url}/auth` }).end() };
  provider.metadata = { authorization_endpoint: `${provider.url}/moved` };
  vi.advanceTimersByTime(8_000_000);
  expect((await page.ask('/sign-in/provider', from())).headers.location).toContain('/moved');
});

it('blocks an address after wrong responses, and logs the reason', async () => {
  await using provider = await startForgingProvider();
  await using page = await start(provider.url);
  provider.forgery = { key: 'other' };
  for (let count = 0; count < 10; count += 1) expect((await signIn(page)).status).toBe(403);
  provider.forgery = {};
  expect((await signIn(page)).status).toBe(429);
  expect(provider.asked).toHaveLength(10);
  expect(page.logged).toHaveLength(10);
  expect(JSON.stringify(page.logged.map(String))).not.toContain('client-secret');
  expect(await page.signIn('viewer-token')).not.toBe('');
});

it('signs in from an address that sent wrong tokens, or whose users declined', async () => {
  await using provider = await startForgingProvider();
  await using page = await start(provider.url);
  for (let count = 0; count < 10; count += 1) expect(await page.signIn('wrong')).toBe('');
  expect((await page.ask('/sign-in', { form: { token: 'viewer-token' } })).status).toBe(429);
  for (let count = 0; count < 10; count += 1) {
    const { cookie, path } = await attempt(page);
    const { status } = await page.ask(path.replace(/code=[^&]*/, 'error=access_denied'), from(cookie));
    expect(status).toBe(403);
  }
  expect((await signIn(page)).status).toBe(200);
});

it('has no routes without single sign-on', async () => {
  await using page = await runningPage();
  for (const path of ['/sign-in/provider', '/sign-in/callback?code=a&state=b'])
    expect((await page.ask(path)).status).toBe(404);
  await using provider = await startForgingProvider();
  await using other = await start(provider.url);
  for (const path of ['/sign-in/provider', '/sign-in/callback'])
    expect((await other.ask(path, { form: {} })).status).toBe(405);
  expect((await other.ask('/sign-in', from())).text).toContain(`/sign-in/provider?to=`);
});
