import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { TrustedProxy } from '../../src/page/access/trusted-proxy.ts';
import { pathOf } from '../../src/page/views/parts.ts';
import { apiProblems, apiSchema } from './api-problems.ts';
import { type Answer, type RunningPage, runningPage } from './running-page.ts';
import { SampleSource } from './sample-source.ts';

const ADDRESS = 'voices/clients/client-00001:production';
const WORKSPACE = `/api/v1${pathOf(ADDRESS)}`;
const everywhere = { listen: { host: '0.0.0.0', port: 0 } };
const elsewhere = { host: '10.1.2.3' };
const bearer = (token: string) => ({ ...elsewhere, authorization: `Bearer ${token}` });

/** Every route that shows contents, with the name of its schema. */
const routes = [
  ['overview', '/api/v1/overview'],
  ['search', '/api/v1/search?q=client-0000'],
  ['workspaces', '/api/v1/workspaces'],
  ['workspace', WORKSPACE],
  ['resources', `${WORKSPACE}/resources`],
  ['resource', `${WORKSPACE}/resources/Agent/support-line`],
  ['runs', `${WORKSPACE}/runs`],
  ['run', `${WORKSPACE}/runs/run-1`],
  ['plans', `${WORKSPACE}/plans`],
  ['plan', `${WORKSPACE}/plans/plan-1`],
  ['pulls', '/api/v1/pulls'],
  ['pull', '/api/v1/pulls/voices/41'],
] as const;

/** Returns the document of a response. It must be JSON of this schema and must not be cached. */
function documentOf({ headers, text }: Answer, name: string) {
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
  });
  expect(Object.keys(headers).filter((header) => header.startsWith('access-control'))).toEqual([]);
  const document = JSON.parse(text);
  expect([name, apiProblems(name, document)]).toEqual([name, []]);
  return document;
}

async function errorOf(page: RunningPage, ...[at, sent]: Parameters<RunningPage['ask']>) {
  const answer = await page.ask(at, sent);
  return { ...answer, error: documentOf(answer, 'error').error };
}

describe('API', () => {
  it('returns the contents of the page in the forms of its schema', { tags: ['long'] }, async () => {
    await using page = await runningPage();
    for (const [name, route] of routes) {
      const answer = await page.ask(route);
      expect([route, answer.status]).toEqual([route, 200]);
      documentOf(answer, name);
    }
    expect(JSON.parse((await page.ask('/api/v1/schema')).text).$defs).toEqual(apiSchema.$defs);
  });

  it('has its routes in docs/page.md', () => {
    const docs = readFileSync(path.resolve(import.meta.dirname, '../../docs/page.md'), 'utf8');
    const documents = Object.entries<{ description: string }>(apiSchema.$defs);
    const paths = documents.flatMap(([, { description = '' }]) => /^GET (.*)$/.exec(description)?.[1] ?? []);
    expect(paths).toHaveLength(routes.length);
    const spelled = paths.map((each) => each.replace(/^\/api\/v1\/workspaces\/ADDRESS(?=\/)/, '…'));
    expect(spelled.filter((each) => !docs.includes(`\`${each}\``))).toEqual([]);
  });

  it('returns the status of every workspace and the required actions', async () => {
    await using page = await runningPage({ source: new SampleSource({ count: 10 }) });
    const get = async (at: string) => JSON.parse((await page.ask(at)).text);
    const { items } = await get('/api/v1/workspaces');
    const listed = items.map(({ address, status, stale }: Record<string, unknown>) => [address, status, stale]);
    expect(listed).toEqual(page.source.rows.map(({ address, status, isOld }) => [address, status, isOld]));
    for (const row of items) expect(await get(`/api/v1${pathOf(row.address)}`)).toMatchObject(row);
    expect(await get(`/api/v1${pathOf(items[7].address)}`)).toMatchObject({ paused: { by: 'ann' }, next_run: null });
    expect(await get(`/api/v1/workspaces/${encodeURIComponent(ADDRESS)}`)).toMatchObject({ address: ADDRESS });
  });

  it('returns the waiting plan as voxform plan prints it, without keys of its secrets', async () => {
    await using page = await runningPage();
    const plans = JSON.parse((await page.ask(`${WORKSPACE}/plans`)).text).items;
    expect(plans.map(({ id, state }: Record<string, unknown>) => [id, state])).toEqual([
      ['plan-1', 'waiting'],
      ['remaining', 'remaining'],
    ]);
    const { text } = await page.ask(`${WORKSPACE}/plans/plan-1`);
    const { plan } = JSON.parse(text);
    const { state, resources } = page.source.plan;
    const changed = resources.filter(({ action }) => action !== 'noop').map(({ address }) => address);
    expect(plan.resources.map(({ address }: { address: string }) => address)).toEqual(expect.arrayContaining(changed));
    expect(text).not.toContain(state.salt);
    expect(plan).not.toHaveProperty('secrets');
  });

  it('pages its lists, with each row once', { tags: ['long'] }, async () => {
    await using page = await runningPage({ source: new SampleSource({ count: 120 }) });
    const seen: string[] = [];
    let next: string | null = '/api/v1/workspaces?q=client&limit=25';
    while (next !== null) {
      const list = documentOf(await page.ask(next), 'workspaces');
      expect(list.found).toBe(120);
      seen.push(...list.items.map(({ address }: { address: string }) => address));
      next = list.next;
    }
    expect([seen.length, new Set(seen).size]).toEqual([120, 120]);
    expect(JSON.parse((await page.ask('/api/v1/workspaces?page=9')).text)).toMatchObject({ items: [], next: null });
    for (const [name, route] of routes.filter(([each]) => ['search', 'resources', 'runs', 'pulls'].includes(each))) {
      const { items, found } = documentOf(await page.ask(route), name);
      const first = documentOf(await page.ask(`${route}${route.includes('?') ? '&' : '?'}limit=1`), name);
      const second = documentOf(await page.ask(first.next), name);
      expect([found, first.items, second.items]).toEqual([items.length, items.slice(0, 1), items.slice(1, 2)]);
    }
  });

  it('searches as the page does, and counts workspaces and runs as the overview does', async () => {
    const source = new SampleSource({ count: 3 });
    await using page = await runningPage({ source });
    const { items, cut } = documentOf(await page.ask('/api/v1/search?q=client-00000'), 'search');
    const workspace = source.rows[0]?.address;
    expect([items, cut]).toEqual([
      [
        [null, workspace],
        ['PhoneNumber/hotline', '4930123456'],
      ].map(([resource, match]) => ({ workspace, match, status: 'in-sync', resource })),
      false,
    ]);
    for (const query of ['', '?q=', '?q=c', '?q=client&sort=address'])
      expect((await errorOf(page, `/api/v1/search${query}`)).status).toBe(400);
    const { counts, trends, freezes, frozen } = documentOf(await page.ask('/api/v1/overview'), 'overview');
    expect([counts, frozen]).toEqual([{ 'in-sync': 1, waiting: 1, failed: 1 }, null]);
    expect(freezes).toMatchObject([{ because: expect.stringContaining('<img'), ended_by: 'bob' }]);
    expect(trends).toMatchObject([{ name: 'runs' }, { name: 'failed' }, { name: 'drifted' }]);
    await using watch = await runningPage({ source: Object.assign(new SampleSource(), { search: undefined }) });
    expect((await errorOf(watch, '/api/v1/search?q=client')).status).toBe(404);
  });

  it('filters resources as the page does', async () => {
    await using page = await runningPage();
    const all = JSON.parse((await page.ask(`${WORKSPACE}/resources?limit=200`)).text).items;
    const { items } = JSON.parse((await page.ask(`${WORKSPACE}/resources?q=support-line`)).text);
    expect([items.length < all.length, items[0]]).toEqual([true, expect.objectContaining({ kind: 'Agent' })]);
    const [{ status }] = items;
    const same = JSON.parse((await page.ask(`${WORKSPACE}/resources?status=${encodeURIComponent(status)}`)).text);
    const numbers = JSON.parse((await page.ask(`${WORKSPACE}/resources?kind=PhoneNumber`)).text);
    expect(new Set(numbers.items.map((each: { kind: string }) => each.kind))).toEqual(new Set(['PhoneNumber']));
    expect(same.items).toEqual(all.filter((each: { status: string }) => each.status === status));
  });

  it.each([
    ['statuss=failed', 'Unknown parameter "statuss"'],
    ['status=nope', 'Unknown status "nope"'],
    ['sort=size', 'Unknown sort "size"'],
    ['source=gone', 'There is no source "gone"'],
    ['page=0', 'Unknown page "0"'],
    ['page=1e9', 'Unknown page "1e9"'],
    ['page=99999999999999999999', 'Unknown page'],
    ['limit=0', 'limit must be a number from 1 to 200'],
    ['limit=201', 'limit must be a number'],
    ['limit=-1', 'limit must be a number'],
    ['limit=1;drop', 'limit must be a number'],
    ["q='%20OR%201=1--&limit=", 'limit must be a number'],
    [`${'x'.repeat(9000)}=1`, 'Unknown parameter "xxx'],
    ['__proto__=1', 'Unknown parameter "__proto__"'],
    ['status=failed&status=drifted', 'Give status only once'],
    ['limit=1&page=1&limit=2', 'Give limit only once'],
    ['%00=1', '%00'],
    ['q=%ff', 'UTF-8'],
    ['q=%', 'UTF-8'],
  ])('refuses a list with %s', async (query, said) => {
    await using page = await runningPage();
    const { status, error } = await errorOf(page, `/api/v1/workspaces?${query}`);
    expect([status, error]).toEqual([400, expect.stringContaining(said)]);
    expect(error.length).toBeLessThan(500);
  });

  it.each(['/api/v1/workspaces/%ff', '/api/v1/workspaces/a%00b', '/api/v1/pulls/%e0/1'])(
    'reports as JSON that %s cannot be read',
    async (at) => {
      await using page = await runningPage();
      const { status, error } = await errorOf(page, at);
      expect([status, error]).toEqual([400, expect.stringContaining('UTF-8')]);
    },
  );

  it('lists no pull requests if no source plans them', async () => {
    await using page = await runningPage({ source: Object.assign(new SampleSource(), { pulls: undefined }) });
    const list = documentOf(await page.ask('/api/v1/pulls'), 'pulls');
    expect(list).toEqual({ items: [], found: 0, next: null, problems: [] });
    expect((await errorOf(page, '/api/v1/pulls/voices/41')).status).toBe(404);
  });

  it.each([
    '/api',
    '/api/',
    '/api/v1',
    '/api/v2/workspaces',
    '/api/v1/workspaces/none:production',
    '/api/v1/workspaces//runs',
    '/api/v1/workspaces/../../status/x',
    `${WORKSPACE}/actions/run`,
    `${WORKSPACE}/runs/none`,
    `${WORKSPACE}/plans/none`,
    `${WORKSPACE}/resources/Agent/none`,
    `${WORKSPACE}/resources/__proto__/x`,
    `${WORKSPACE}/`,
    '/api/v1/pulls/voices',
    '/api/v1/pulls/voices/1',
    '/api/v1/pulls/voices/-1',
    '/api/v1/pulls/voices/99999999999999',
  ])('reports as JSON that nothing exists at %s', async (at) => {
    await using page = await runningPage();
    expect((await errorOf(page, at)).status).toBe(404);
  });

  it('allows only reads, only for its own site, and reveals no secret', { tags: ['long'] }, async () => {
    const source = new SampleSource({ count: 2, names: ['hunter2:p', ADDRESS] });
    await using page = await runningPage({ source });
    expect((await page.ask('/api/v1/workspaces')).text).toContain('(secret):p');
    for (const [, route] of [...routes, ['schema', '/api/v1/schema']] as const) {
      for (const method of ['POST', 'DELETE', 'OPTIONS']) {
        const { status, headers } = await errorOf(page, route, { method });
        expect([route, method, status, headers.allow]).toEqual([route, method, 405, 'GET, HEAD']);
      }
      const head = await page.ask(route, { method: 'HEAD' });
      expect([head.status, head.text, head.headers['content-type']]).toEqual([200, '', 'application/json']);
      const other = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
      const { headers } = await page.ask(route, { headers: other });
      expect(headers).toMatchObject({ 'cross-origin-resource-policy': 'same-origin' });
      expect(headers).not.toHaveProperty('access-control-allow-origin');
    }
    expect(page.source.acted).toEqual([]);
  });
});

describe('API client', () => {
  it('reads with the rights of a user: with a session or a token', { tags: ['long'] }, async () => {
    await using page = await runningPage(everywhere);
    const cookie = await page.signIn('viewer-token');
    for (const [name, route] of routes) {
      for (const headers of [elsewhere, { ...elsewhere, cookie: 'voxform_session_1=x' }, bearer('x'), bearer('')]) {
        const { status, headers: got, error } = await errorOf(page, route, { headers });
        expect([route, status, got['www-authenticate']]).toEqual([route, 401, 'Bearer']);
        expect(error).not.toMatch(/client-0000|support-line/);
        page.time = new Date(page.time.getTime() + 601_000);
      }
      expect((await errorOf(page, route, { headers: { host: 'evil.example' } })).status).toBe(403);
      for (const headers of [bearer('viewer-token'), { ...elsewhere, cookie }]) {
        const answer = await page.ask(route, { headers });
        expect([route, answer.status, answer.headers['set-cookie']]).toEqual([route, 200, undefined]);
        documentOf(answer, name);
      }
    }
  });

  it('cannot act with a token alone, and cannot open pages with it', async () => {
    await using page = await runningPage(everywhere);
    const headers = bearer('admin-token');
    const run = pathOf(ADDRESS, 'actions', 'run');
    expect((await page.ask(run, { headers, form: { form: '' } })).status).toBe(401);
    expect((await page.ask('/workspaces', { headers })).status).toBe(401);
    expect(page.source.acted).toEqual([]);
  });

  it('reads the status of the fleet with the same token', async () => {
    await using page = await runningPage(everywhere);
    const ask = async (sent: string) => (await page.ask('/status', { headers: bearer(sent) })).status;
    for (let guess = 0; guess < 9; guess++) expect(await ask(`guess-${guess}`)).toBe(403);
    expect(await ask('viewer-token')).toBe(200);
    expect([await ask('tenth'), await ask('viewer-token')]).toEqual([403, 403]);
    expect((await page.ask('/sign-in', { form: { token: 'viewer-token', to: '/' } })).status).toBe(429);
  });

  it('needs no token if reading is free, but a wrong token is refused', async () => {
    await using page = await runningPage();
    const ask = async (path: string, authorization: string) =>
      (await page.ask(path, { headers: { authorization } })).status;
    for (const right of ['Bearer viewer-token', 'bearer  viewer-token', 'Basic YTpi', 'Bearer'])
      expect([await ask('/api/v1/workspaces', right), await ask('/status', right)]).toEqual([200, 200]);
    const cookie = await page.signIn('viewer-token');
    const both = { cookie, authorization: 'Bearer wrong' };
    expect((await page.ask('/api/v1/workspaces', { headers: both })).status).toBe(401);
    expect([await ask('/status', 'Bearer wrong'), await ask('/status', 'Bearer viewer-token x')]).toEqual([403, 403]);
    for (let guess = 0; guess < 7; guess++) expect(await ask('/api/v1/workspaces', `Bearer guess-${guess}`)).toBe(401);
    expect(await ask('/api/v1/workspaces', 'Bearer viewer-token')).toBe(429);
    expect((await page.ask('/api/v1/workspaces')).status).toBe(200);
  });

  it('may send a token of the proxy that names its user', async () => {
    const userHeader = { name: 'X-Forwarded-User', role: 'viewer' } as const;
    await using page = await runningPage({ ...everywhere, userHeader, proxy: new TrustedProxy(['127.0.0.1']) });
    const headers = { ...bearer('of-the-proxy'), 'x-forwarded-user': 'ann' };
    for (const path of ['/api/v1/workspaces', '/status']) expect((await page.ask(path, { headers })).status).toBe(200);
  });

  it('is limited in guesses of tokens like the sign-in form', async () => {
    await using page = await runningPage(everywhere);
    const statuses = [];
    for (let guess = 0; guess < 11; guess++)
      statuses.push((await page.ask('/api/v1/workspaces', { headers: bearer(`guess-${guess}`) })).status);
    expect(statuses).toEqual([...Array(10).fill(401), 429]);
    const { status, headers } = await errorOf(page, '/api/v1/workspaces', { headers: bearer('viewer-token') });
    expect([status, Number(headers['retry-after']) > 0]).toEqual([429, true]);
    expect((await page.ask('/sign-in', { form: { token: 'viewer-token', to: '/' } })).status).toBe(429);
  });

  it('may start with many requests at once, for one check of its token', async () => {
    const counts = { requests: 0, checks: 0 };
    const { promise, resolve } = Promise.withResolvers<void>();
    const tokens = {
      missing: undefined,
      origin: '',
      async known() {
        counts.requests += 1;
        if (counts.requests === 30) setImmediate(resolve);
        return undefined;
      },
      async person() {
        counts.checks += 1;
        await promise;
        return { name: 'robot', role: 'viewer' as const };
      },
    };
    await using page = await runningPage({ ...everywhere, tokens });
    const asked = Array.from({ length: 30 }, () => page.ask('/api/v1/pulls', { headers: bearer('t') }));
    expect(new Set((await Promise.all(asked)).map(({ status }) => status))).toEqual(new Set([200]));
    expect(counts).toEqual({ requests: 30, checks: 1 });
  });
});

describe('error', () => {
  it.each([
    ['/pulls/voices', {}, 404],
    ['/pulls/voices/x', {}, 404],
    ['/workspaces/none', {}, 404],
    [pathOf(ADDRESS, 'runs', 'none'), {}, 404],
    [pathOf(ADDRESS, 'runs'), {}, 404],
    [pathOf(ADDRESS, 'actions', 'run'), {}, 401],
    ['/workspaces', { method: 'DELETE' }, 405],
    ['/', { headers: { host: 'evil.example' } }, 403],
    ['/workspaces', { headers: { 'x-forwarded-for': '10.9.9.9' } }, 401],
  ])('of %s %j is JSON if JSON is requested', async (at, sent: Parameters<RunningPage['ask']>[1], status) => {
    await using page = await runningPage();
    const answer = (accept: string) => page.ask(at, { ...sent, headers: { ...sent?.headers, accept } });
    for (const accept of ['text/html,application/json;q=0.9', '*/*']) {
      const { headers, status: got } = await answer(accept);
      expect([got, headers['content-type']]).toEqual([status, expect.stringMatching(/^text\/(html|plain)/)]);
      if (status === 404) expect(headers['content-type']).toContain('html');
    }
    const asked = await answer('application/json');
    expect([asked.status, apiProblems('error', JSON.parse(asked.text))]).toEqual([status, []]);
  });

  it('that is unexpected is shown as an HTML page, without its cause', async () => {
    const source = new SampleSource();
    source.overview = async () => {
      throw new Error('postgres://fleet:secret@db');
    };
    const errors: unknown[] = [];
    await using page = await runningPage({ source, onError: (error) => errors.push(error) });
    const { status, text } = await page.ask('/');
    expect([status, text, errors.length]).toEqual([500, expect.stringContaining('<h1>Failed</h1>'), 1]);
    const asked = await page.ask('/', { headers: { accept: 'application/json' } });
    expect(JSON.parse(asked.text)).toEqual({ error: expect.stringContaining('log') });
    expect(text + asked.text).not.toContain('postgres');
  });
});
