import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { Hono } from 'hono';
import { describe, expect, it, vi } from 'vitest';
import { TrustedProxy } from '../../src/page/access/trusted-proxy.ts';
import { LiveUpdates } from '../../src/page/live.ts';
import { pathOf } from '../../src/page/views/parts.ts';
import { evil } from '../output/sample-styles.ts';
import { type RunningPage, runningPage } from './running-page.ts';
import { NOW, SampleSource } from './sample-source.ts';

const ADDRESS = 'voices/clients/client-00001:production';
const RUN = pathOf(ADDRESS, 'actions', 'run');
const APPROVE = pathOf(ADDRESS, 'actions', 'approve');
const everywhere = { listen: { host: '0.0.0.0', port: 0 } };
const elsewhere = { host: '10.1.2.3' };

/** Headers that proxies add, one at a time. */
const handedOn = [
  'Forwarded: for=10.9.9.9',
  'X-Forwarded-For:',
  'X-Forwarded-Proto: https',
  'X-Forwarded-Port: 443',
  'X-Forwarded-User: ann',
  'X_Forwarded_For: 10.9.9.9',
  'X-Real-IP: 10.9.9.9',
  'X-Client-IP: 10.9.9.9',
  'X-Original-URL: /',
  'Via: 1.1 proxy',
];

/** Sends a request exactly as written and returns the response; for live updates, only the start. */
async function raw({ url }: RunningPage, lines: readonly string[]): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write([...lines, 'Connection: close', '', ''].join('\r\n'));
  let text = '';
  for await (const part of socket) {
    text += part;
    if (text.includes('event-stream')) break;
  }
  return text;
}

/** Submits the form of an action as a browser would. */
async function act(page: RunningPage, path: string, token: string, more: Record<string, string> = {}) {
  const cookie = await page.signIn(token);
  const of = more.of === undefined ? '' : `?of=${more.of}`;
  const form = await page.formToken(path + of, cookie);
  return page.ask(path, { headers: { cookie }, form: { form, ...more } });
}

describe('access to the page', () => {
  it.each([
    ['on loopback', {}, { host: 'localhost' }, 200],
    ['on loopback, through a proxy', {}, { host: 'localhost', 'x-forwarded-for': '10.9.9.9' }, 401],
    ['on loopback, with another host name', {}, { host: 'evil.example' }, 403],
    ['elsewhere', everywhere, elsewhere, 401],
    ['on another address, from this machine', everywhere, { host: 'localhost' }, 401],
    ['on another address, with another host name', everywhere, { host: 'evil.example' }, 403],
  ])('is restricted: %s', async (_, options, headers, status) => {
    await using page = await runningPage(options);
    const resource = pathOf(ADDRESS, 'resources', 'Agent/support-line');
    for (const path of ['/', '/workspaces', pathOf(ADDRESS), pathOf(ADDRESS, 'runs', 'run-1'), resource]) {
      const answer = await page.ask(path, { headers });
      expect([path, answer.status]).toEqual([path, status]);
      if (status !== 200) expect(answer.text).not.toMatch(/client-00002|503/);
    }
    if (status !== 200) expect((await page.ask('/events', { headers })).status).toBe(status);
  });

  it('is not free for requests that a proxy on this machine forwards, with any of its headers', async () => {
    const userHeader = { name: 'X-Auth-User', role: 'viewer' } as const;
    const trusted = { userHeader, proxy: new TrustedProxy(['127.0.0.0/8']) };
    const resource = pathOf(ADDRESS, 'resources', 'Agent/support-line');
    const run = pathOf(ADDRESS, 'runs', 'run-1');
    const paths = ['/', '/workspaces', pathOf(ADDRESS), run, resource, '/events', '/status'];
    for (const [options, lines] of [
      [trusted, [['1.1'], ['1.1', 'X-Auth-User:'], ['1.1', `X-Auth-User: ${'a'.repeat(256)}`], ['1.0']]],
      [{ userHeader }, [['1.1', 'X-Auth-User: ann']]],
      [{}, [['1.0'], ...handedOn.map((line) => ['1.1', line])]],
    ] as const) {
      await using page = await runningPage(options);
      const ask = (method: string, path: string, [version, ...more]: readonly string[]) =>
        raw(page, [`${method} ${path} HTTP/${version}`, 'Host: localhost', ...more]);
      for (const line of lines) {
        for (const path of paths) {
          const answer = await ask('GET', path, line);
          expect([line, path, answer]).toEqual([line, path, expect.stringMatching(/^HTTP\/1.1 40[13] /)]);
          expect(answer).not.toMatch(/client-00002|event:/);
        }
        expect(await ask('POST', '/reconcile', line)).toMatch(/^HTTP\/1.1 403 /);
        expect(await ask('GET', '/readyz', line)).toMatch(/^HTTP\/1.1 200 /);
      }
      expect(await ask('POST', '/reconcile', ['1.1'])).toMatch(options === trusted ? / 403 / : / 202 /);
    }
  });

  it.each([
    ['no host', '1.0', []],
    ['two hosts', '1.1', ['localhost', 'evil.example']],
    ['the same host twice', '1.1', ['localhost', 'localhost']],
    ['an empty host', '1.1', ['']],
    ['an impossible address', '1.1', ['127.999.1.1']],
    ['an impossible port', '1.1', ['localhost:99999']],
    ['a user in the host', '1.1', ['x@localhost']],
    ['an incomplete address', '1.1', ['[::1']],
    ['a path in the host', '1.1', ['localhost/x']],
  ])('refuses a request with %s as malformed', async (_, version, hosts) => {
    await using page = await runningPage();
    const lines = hosts.map((host) => `Host: ${host}`);
    for (const path of ['/workspaces', '/events', '/status', '/metrics'])
      expect(await raw(page, [`GET ${path} HTTP/${version}`, ...lines])).toMatch(/^HTTP\/1.1 400 .*"error":/s);
    expect(await raw(page, [`POST /reconcile HTTP/${version}`, ...lines])).toMatch(/^HTTP\/1.1 400 /);
    expect(await raw(page, [`GET /healthz HTTP/${version}`, ...lines])).toMatch(/^HTTP\/1.1 200 /);
  });

  it.each(['http://evil.example/workspaces', 'http://localhost/workspaces', 'workspaces', '*'])(
    'refuses a request for %s as malformed',
    async (target) => {
      await using page = await runningPage();
      expect(await raw(page, [`GET ${target} HTTP/1.1`, 'Host: localhost'])).toMatch(/^HTTP\/1.1 400 /);
    },
  );

  it('needs a sign-in for the status, but not for probes and metrics', async () => {
    for (const token of [undefined, 'bearer-t0ken']) {
      await using page = await runningPage(everywhere, token);
      const ask = async (path: string, headers = {}) =>
        (await page.ask(path, { headers: { ...elsewhere, ...headers } })).status;
      const bearer = { authorization: 'Bearer bearer-t0ken' };
      expect([await ask('/healthz'), await ask('/readyz')]).toEqual([200, 200]);
      expect([await ask('/metrics'), await ask('/metrics', bearer)]).toEqual([token === undefined ? 200 : 403, 200]);
      expect([await ask('/status'), await ask('/status', bearer)]).toEqual([403, token === undefined ? 403 : 200]);
      expect(await ask('/status', { cookie: await page.signIn('viewer-token') })).toBe(200);
      expect(await ask('/status', { host: 'evil.example', cookie: await page.signIn('viewer-token') })).toBe(403);
    }
  });

  it('restores the requested path after a sign-in, and redirects to no other site', async () => {
    await using page = await runningPage(everywhere);
    const to = pathOf(ADDRESS, 'runs', 'run-1');
    expect((await page.ask(to, { headers: elsewhere })).text).toContain(`name="to" value="${to}"`);
    const location = async (target: string) =>
      (await page.ask('/sign-in', { form: { token: 'viewer-token', to: target } })).headers.location;
    expect(await location(to)).toBe(to);
    const cookie = await page.signIn('viewer-token');
    for (const bad of ['https://evil.example/', '//evil.example', '/\\evil.example', '/..//evil.example', '']) {
      expect(new URL((await location(bad)) ?? '', page.url).origin).toBe(page.url);
      const signedIn = await page.ask(`/sign-in?to=${encodeURIComponent(bad)}`, { headers: { cookie } });
      expect(new URL(signedIn.headers.location ?? '', page.url).origin).toBe(page.url);
    }
    const returned = async (target: string) =>
      (await page.ask(`/sign-in?to=${encodeURIComponent(target)}`, { headers: { cookie } })).headers.location;
    for (const own of [to, '/', '/workspaces?q=a', '/search?q=ab', '/pulls/voices/41', '/freeze', RUN])
      expect(await returned(own)).toBe(own);
    for (const no of [
      '/sign-out',
      '/sign-in',
      '/sign-in/callback?state=x',
      '/events',
      '/status',
      '/api/v1/pulls',
      '/x',
    ])
      expect([no, await returned(no), await location(no)]).toEqual([no, '/', '/']);
  });
});

describe('form', () => {
  it.each([
    ['of another site', { origin: 'https://evil.example' }],
    ['of another port of this machine', { origin: 'http://127.0.0.1:1' }],
    ['of another site that hides its origin', { origin: 'null' }],
    ['whose page is of another site', { referer: 'https://evil.example/form' }],
    ['of a sibling site', { 'sec-fetch-site': 'same-site' }],
  ])('%s is refused', async (_, headers) => {
    await using page = await runningPage();
    const cookie = await page.signIn('admin-token');
    const form = await page.formToken(RUN, cookie);
    const answer = await page.ask(RUN, { headers: { cookie, ...headers }, form: { form } });
    expect([answer.status, page.source.acted]).toEqual([403, []]);
    const own = { cookie, origin: page.url, 'sec-fetch-site': 'same-origin' };
    expect((await page.ask(RUN, { headers: own, form: { form } })).status).toBe(303);
  });

  it.each([
    ['no token', () => ''],
    ['an invented token', () => 'x'.repeat(43)],
    [
      'the token of another session',
      async (page: RunningPage) => page.formToken(RUN, await page.signIn('admin-token')),
    ],
  ])('with %s is refused', async (_, tokenOf) => {
    await using page = await runningPage();
    const cookie = await page.signIn('admin-token');
    const answer = await page.ask(RUN, { headers: { cookie }, form: { form: await tokenOf(page) } });
    expect([answer.status, page.source.acted]).toEqual([403, []]);
  });

  it('for the whole fleet needs an admin, its own token and a session', async () => {
    await using page = await runningPage();
    const cookie = await page.signIn('admin-token');
    const own = await page.formToken('/freeze', cookie);
    const send = async (form: string, headers: Readonly<Record<string, string>> = { cookie }) =>
      (await page.ask('/freeze', { headers, form: { form, because: 'incident' } })).status;
    expect(await send(own, { cookie, 'sec-fetch-site': 'same-site' })).toBe(403);
    expect(await send(own, { cookie, origin: 'https://evil.example' })).toBe(403);
    expect([await send(''), await send('x'.repeat(43)), await send('x'.repeat(50_000))]).toEqual([403, 403, 413]);
    expect(await send(await page.formToken('/freeze', await page.signIn('admin-token')))).toBe(403);
    expect([await send(own, {}), (await page.ask('/freeze')).status]).toEqual([401, 401]);
    for (const role of ['viewer', 'approver']) {
      const headers = { cookie: await page.signIn(`${role}-token`) };
      const { text } = await page.ask('/', { headers });
      expect(text).not.toContain('href="/freeze"');
      const form = /name="form" value="([^"]+)"/.exec(text)?.[1] ?? '';
      expect([await send(form, headers), (await page.ask('/freeze', { headers })).status]).toEqual([403, 403]);
    }
    const wrong = await page.ask('/freeze', { headers: { cookie }, form: { form: own, because: ' ' } });
    const put = await page.ask('/freeze', { method: 'PUT', headers: { cookie } });
    expect([wrong.status, put.status, page.source.freeze]).toEqual([400, 405, undefined]);
    expect(await send(own)).toBe(303);
    expect(page.source.freeze).toMatchObject({ by: 'admin-ann', because: 'incident' });
    expect([await send(own), (await page.ask('/freeze', { headers: { cookie } })).status]).toEqual([409, 409]);
  });

  it('is refused without a sign-in, on loopback too', async () => {
    await using page = await runningPage();
    const { status, text } = await page.ask(APPROVE, { form: { form: '', of: 'plan-1' } });
    expect([status, text]).toEqual([401, expect.stringContaining('Sign in to approve the plan.')]);
    expect(text).toContain(`name="to" value="${APPROVE}?of=plan-1"`);
    expect((await page.ask(RUN)).status).toBe(401);
    expect(page.source.acted).toEqual([]);
  });

  it('is refused after the sign-out and after twelve hours', async () => {
    await using page = await runningPage();
    const cookie = await page.signIn('admin-token');
    const form = await page.formToken(RUN, cookie);
    await page.ask('/sign-out', { headers: { cookie }, form: { form } });
    expect((await page.ask(RUN, { headers: { cookie }, form: { form } })).status).toBe(401);
    const later = await page.signIn('admin-token');
    const laterForm = await page.formToken(RUN, later);
    page.time = new Date(page.time.getTime() + 12 * 3_600_000);
    expect((await page.ask(RUN, { headers: { cookie: later }, form: { form: laterForm } })).status).toBe(401);
    expect(page.source.acted).toEqual([]);
  });

  it('is not read if it is too large', async () => {
    await using page = await runningPage();
    const cookie = await page.signIn('admin-token');
    const answer = await page.ask(RUN, { headers: { cookie }, form: { form: 'x'.repeat(50_000) } });
    expect(answer.status).toBe(413);
    const chunked = { cookie, 'transfer-encoding': 'chunked' };
    expect((await page.ask(RUN, { headers: chunked, form: { form: 'x' } })).status).toBe(411);
    for (const type of ['multipart/form-data; boundary=x', 'text/plain']) {
      const headers = { 'content-type': type };
      expect((await page.ask('/sign-in', { headers, form: { token: 'wrong' } })).status).toBe(415);
    }
  });
});

describe('actions by role', () => {
  it.each([
    ['viewer', 'run', 403],
    ['viewer', 'approve', 403],
    ['viewer', 'close-orphan', 403],
    ['approver', 'run', 303],
    ['approver', 'approve', 303],
    ['approver', 'pause', 403],
    ['approver', 'close-orphan', 403],
    ['admin', 'pause', 303],
    ['admin', 'close-orphan', 303],
  ] as const)('%s that requests %s gets %i', async (role, action, status) => {
    await using page = await runningPage();
    const path = pathOf(ADDRESS, 'actions', action);
    const of = { approve: 'plan-1', 'close-orphan': '01JORPHAN' }[action as string];
    const cookie = await page.signIn(`${role}-token`);
    // The token of a form that this user can see is valid for no other form.
    const { text } = await page.ask('/', { headers: { cookie } });
    const form = /name="form" value="([^"]+)"/.exec(text)?.[1] ?? '';
    const sent = { form, because: 'deleted', ...(of !== undefined && { of }) };
    expect((await page.ask(path, { headers: { cookie }, form: sent })).status).toBe(status);
    const asked = await page.ask(`${path}?of=${of ?? ''}`, { headers: { cookie } });
    expect(asked.status).toBe(status === 303 ? 200 : 403);
    if (status === 403)
      expect(asked.text).toMatch(
        /Your role does not allow you to (run now|approve the plan|pause|close an orphan)\.<.*href="\/workspaces\/voices/s,
      );
    expect(page.source.acted.map(({ by }) => by)).toEqual(status === 303 ? [`${role}-ann`] : []);
  });

  it.each([
    [5, 'resume', 'The workspace is not paused.'],
    [7, 'run', 'The workspace is paused.'],
    [9, 'close-orphan', 'The state of this workspace is not known yet.'],
  ] as const)('admin cannot run an impossible action: %i, %s', async (index, action, why) => {
    await using page = await runningPage({ source: new SampleSource({ count: 10 }) });
    const address = `voices/clients/client-0000${index}:production`;
    const { workspace } = page.source;
    page.source.workspace = async (asked) => {
      const detail = await workspace.call(page.source, asked);
      return detail && index === 5 ? { ...detail, actions: ['run', 'pause'] } : detail;
    };
    const headers = { cookie: await page.signIn('admin-token') };
    const { status, text } = await page.ask(pathOf(address, 'actions', action), { headers });
    expect([status, text]).toEqual([409, expect.stringContaining(why)]);
  });

  it.each([
    ['pause', { because: ' ' }, 'Give a reason.'],
    ['close-orphan', { of: '01JORPHAN', because: 'stolen' }, 'Choose one of the reasons in the form.'],
    ['close-orphan', { because: 'deleted' }, 'The form does not contain the orphan.'],
    ['approve', {}, 'The form does not contain the plan.'],
  ] as const)('admin cannot %s with %j', async (action, sent, why) => {
    await using page = await runningPage();
    const headers = { cookie: await page.signIn('admin-token') };
    const form = await page.formToken(RUN, headers.cookie);
    const path = pathOf(ADDRESS, 'actions', action);
    const { status, text } = await page.ask(path, { headers, form: { form, ...sent } });
    expect([status, text, page.source.acted]).toEqual([400, expect.stringContaining(why), []]);
  });

  it.each([pathOf(ADDRESS, 'actions', 'nope'), '/workspaces/none:test/actions/nope'])(
    'admin has no action %s',
    async (path) => {
      await using page = await runningPage();
      const headers = { cookie: await page.signIn('admin-token') };
      for (const sent of [{ form: {} }, {}]) expect((await page.ask(path, { headers, ...sent })).status).toBe(404);
      expect((await page.ask(`/api/v1${path}`, { headers, form: {} })).status).toBe(405);
    },
  );

  it('approver approves only the plan that was shown', async () => {
    await using page = await runningPage();
    const cookie = await page.signIn('approver-token');
    const shown = await page.ask(`${APPROVE}?of=plan-1`, { headers: { cookie } });
    expect(shown.text).toContain('Agent</span>/support-line');
    expect(shown.text).toContain('data-events="/events?workspace=voices');
    expect(shown.text).toMatch(
      /Plan made.*30 min ago.*Agent<\/span>\/support-line.*class="effect".*Approve plan <code>plan-1</s,
    );
    const form = await page.formToken(`${APPROVE}?of=plan-1`, cookie);
    page.source.waiting = 'plan-2';
    const answer = await page.ask(APPROVE, { headers: { cookie }, form: { form, of: 'plan-1' } });
    expect([answer.status, page.source.acted]).toEqual([409, []]);
    const gone = await page.ask(`${APPROVE}?of=plan-1`, { headers: { cookie } });
    expect([gone.status, gone.text]).toEqual([404, expect.stringContaining('no longer waits')]);
    expect((await act(page, APPROVE, 'approver-token', { of: 'plan-2' })).status).toBe(303);
    expect(page.source.acted).toMatchObject([{ action: 'approve', subject: 'plan-2', by: 'approver-ann' }]);
  });
});

describe('token', () => {
  it('cannot be guessed: after ten wrong ones from an address, the right one waits too', async () => {
    await using page = await runningPage();
    const statuses = [];
    for (let guess = 0; guess < 12; guess++) {
      statuses.push((await page.ask('/sign-in', { form: { token: `guess-${guess}`, to: '/' } })).status);
    }
    expect(statuses).toEqual([...Array(10).fill(401), 429, 429]);
    const right = await page.ask('/sign-in', { form: { token: 'admin-token', to: '/' } });
    expect([right.status, right.headers['set-cookie']]).toEqual([429, undefined]);
    page.time = new Date(page.time.getTime() + Number(right.headers['retry-after']) * 1000);
    expect(await page.signIn('admin-token')).not.toBe('');
  });

  it('cannot be guessed faster with many requests at once', async () => {
    await using page = await runningPage();
    const wrongTokens = Array.from({ length: 30 }, (_, guess) =>
      page.ask('/sign-in', { form: { token: `guess-${guess}`, to: '/' } }),
    );
    const statuses = (await Promise.all(wrongTokens)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(10);
  });
});

describe('session', () => {
  it('gets a new id after each sign-in, regardless of earlier cookies', async () => {
    await using page = await runningPage();
    const first = await page.signIn('viewer-token');
    const name = first.split('=')[0];
    const planted = `${name}=${'A'.repeat(43)}`;
    const answer = await page.ask('/sign-in', {
      headers: { cookie: planted },
      form: { token: 'admin-token', to: '/' },
    });
    const given = answer.headers['set-cookie']?.[0] ?? '';
    expect(given).toMatch(/^\w+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/);
    expect(given).not.toContain('AAAA');
    const asPlanted = await page.ask(RUN, { headers: { cookie: planted } });
    expect(asPlanted.status).toBe(401);
  });

  it('ends when its browser signs in again', async () => {
    await using page = await runningPage(everywhere);
    const cookie = await page.signIn('viewer-token');
    const headers = { ...elsewhere, cookie };
    expect((await page.ask('/', { headers })).status).toBe(200);
    await page.ask('/sign-in', { headers: { cookie }, form: { token: 'admin-token', to: '/' } });
    expect((await page.ask('/', { headers })).status).toBe(401);
  });
});

describe('header that names a user', () => {
  const userHeader = { name: 'X-Forwarded-User', role: 'approver' } as const;
  const named = { ...elsewhere, 'x-forwarded-user': 'ann', 'x-forwarded-for': '10.2.2.2' };

  it('is ignored without the proxy', async () => {
    for (const proxy of [new TrustedProxy([]), new TrustedProxy(['10.0.0.0/8', 'fd00::/8'])]) {
      await using page = await runningPage({ ...everywhere, userHeader, proxy });
      expect((await page.ask('/', { headers: named })).status).toBe(401);
    }
  });

  it('names the acting user if the proxy sends it', async () => {
    await using page = await runningPage({
      ...everywhere,
      userHeader,
      proxy: new TrustedProxy(['127.0.0.0/8']),
    });
    const headers = { ...named, 'x-forwarded-proto': 'https' };
    const first = await page.ask(RUN, { headers });
    const [cookie = ''] = first.headers['set-cookie'] ?? [];
    expect([first.status, cookie]).toEqual([200, expect.stringMatching(/^__Host-.*; Path=\/;.*; Secure$/)]);
    const form = /action="\/workspaces[^>]*><input type="hidden" name="form" value="([^"]+)"/.exec(first.text)?.[1];
    const send = (user: string, sent = cookie.split(';')[0] ?? '', token = form ?? '') =>
      page.ask(RUN, {
        headers: { ...headers, 'x-forwarded-user': user, cookie: sent },
        form: { form: token },
      });
    expect((await send('bob')).status).toBe(403);
    expect((await send('ann', 'none=1')).status).toBe(403);
    expect((await send('ann', cookie.split(';')[0]?.replace('__Host-', ''))).status).toBe(403);
    const id = 'A'.repeat(43);
    const made = createHash('sha256').update(`form ${id} ann`).digest('base64url');
    expect((await send('ann', `${cookie.split('=')[0]}=${id}`, made)).status).toBe(403);
    expect((await send('ann')).status).toBe(303);
    expect(page.source.acted.map(({ by }) => by)).toEqual(['ann (via proxy)']);
    expect(first.text).toMatch(/<bdi>ann<\/bdi> <span class="faint">approver via proxy</);
    for (const two of [['ann', 'boss'], 'ann, boss', 'Boss,Ann']) {
      const answer = await page.ask('/', { headers: { ...headers, 'x-forwarded-user': two } });
      expect([answer.status, answer.text]).toEqual([
        403,
        'X-Forwarded-User contains a comma, so it may name two users\n',
      ]);
    }
    expect((await page.ask('/', { headers: { ...headers, 'x-forwarded-user': '' } })).status).toBe(401);
  });

  it.each(['10.0.0.0/33', 'x/8', '10.0.0.0/', '10.0.0.0/8/8', 'localhost'])('refuses the network %s', (network) => {
    expect(() => new TrustedProxy([network])).toThrow('is not a network');
  });
});

describe('page', () => {
  it('accepts any string for a search, and shows it as text', async () => {
    await using page = await runningPage(everywhere);
    expect((await page.ask('/search?q=client', { headers: elsewhere })).text).not.toContain('client-00001');
    const headers = { cookie: await page.signIn('viewer-token') };
    const search = (text: string) => page.ask(`/search?q=${encodeURIComponent(text)}`, { headers });
    for (const text of ['"><img src=x>', 'a\0b', 'x'.repeat(10_000), "';--", '%', '_'.repeat(3)]) {
      const { status, text: shown } = await search(text);
      expect([status, shown]).toEqual([200, expect.not.stringContaining('<img')]);
    }
    expect((await search('x')).text).toContain('at least 2');
    expect((await search('CLIENT-00001')).text).toContain(`href="${pathOf(ADDRESS)}"`);
  });

  it('shows who froze the fleet and why, to everyone who may read it', async () => {
    await using page = await runningPage();
    page.source.freeze = { at: NOW.toISOString(), by: '<b>ann', because: '<img src=x> \u202e' };
    const cookie = await page.signIn('admin-token');
    const run = pathOf(ADDRESS, 'runs', 'run-1');
    for (const path of ['/', '/workspaces', pathOf(ADDRESS), run, APPROVE, '/pulls', '/freeze', '/nothing']) {
      const { text } = await page.ask(path, { headers: { cookie } });
      expect([path, text]).toEqual([path, expect.stringMatching(/Frozen<.*&lt;b&gt;ann.*&lt;img.*href="\/unfreeze"/s)]);
      expect(text).not.toMatch(/<img|<b>|\u202e/);
    }
    expect((await page.ask(`${APPROVE}?of=plan-1`, { headers: { cookie } })).text).toContain('nothing is applied');
    const form = await page.formToken('/unfreeze', cookie);
    expect((await page.ask('/unfreeze', { headers: { cookie }, form: { form } })).status).toBe(303);
    expect((await page.ask('/', { headers: { cookie } })).text).not.toContain('Frozen<');
    await using far = await runningPage(everywhere);
    far.source.freeze = { at: NOW.toISOString(), by: 'ann', because: 'a secret' };
    for (const path of ['/', '/freeze', '/sign-in'])
      expect((await far.ask(path, { headers: elsewhere })).text).not.toContain('a secret');
  });

  it('cannot be framed or cached, and loads nothing from elsewhere', async () => {
    await using page = await runningPage();
    for (const path of ['/', pathOf(ADDRESS), '/sign-in', '/nothing', '/workspaces/none']) {
      const { headers } = await page.ask(path);
      expect(headers).toMatchObject({
        'content-security-policy': expect.stringMatching(/default-src 'none'.*frame-ancestors 'none'/),
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        'referrer-policy': 'same-origin',
      });
      expect(headers['content-security-policy']).not.toContain('unsafe');
    }
  });

  it.each([
    ['markup', `<img src=x onerror=alert(1)>"'</bdi>:p`],
    ['control and bidirectional characters', `a\u0001\u001b[31m\u202eevil\u2066\u200b:p`],
    ['characters that the terminal must not print either', `${evil.replaceAll('\0', '')}:p`],
    ['255 characters', `${'n'.repeat(253)}:p`],
    ['right-to-left letters', 'שלום/عربي:p'],
  ])('shows %s in names as text', async (_, name) => {
    await using page = await runningPage({ source: new SampleSource({ count: 2, names: ['x:p', name] }) });
    const list = (await page.ask('/workspaces')).text;
    const path = /href="(\/workspaces\/(?!x:p)[^"]+)"/.exec(list)?.[1]?.replaceAll('&#39;', "'") ?? '';
    const one = await page.ask(path);
    expect(one.status).toBe(200);
    for (const text of [list, one.text]) {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
      expect(text).not.toMatch(/<img|[\u0000-\u0008\u001b\u202a-\u202e\u2066-\u2069\u200b]/);
    }
  });

  it.each(['/workspaces/%00', '/workspaces/a%00/runs/1', '/events?workspace=%00', '/%00', '/%ff', '/workspaces/a%'])(
    'answers 400 to %s',
    async (path) => {
      await using page = await runningPage({ source: new SampleSource({ count: 1, names: ['\0'] }) });
      expect((await page.ask(path)).status).toBe(400);
    },
  );

  it.each([
    ['/', ['POST', 'PUT'], 'GET, HEAD'],
    ['/workspaces', ['DELETE'], 'GET, HEAD'],
    [pathOf(ADDRESS), ['POST', 'PATCH'], 'GET, HEAD'],
    [RUN, ['OPTIONS', 'PUT', 'DELETE'], 'GET, HEAD, POST'],
    ['/sign-in', ['PUT'], 'GET, HEAD, POST'],
    ['/sign-out', ['GET'], 'POST'],
  ])('lists the allowed methods for %s by another method', async (path, methods, allow) => {
    await using page = await runningPage();
    for (const method of methods)
      expect(await page.ask(path, { method })).toMatchObject({ status: 405, headers: { allow } });
  });

  it('answers an unknown path with an HTML page, or with the known paths as JSON', async () => {
    await using page = await runningPage(everywhere);
    const { status, text } = await page.ask('/nothing', { headers: elsewhere });
    expect([status, text]).toEqual([404, expect.stringContaining('<h1>Not found</h1>')]);
    const asked = await page.ask('/nothing', { headers: { ...elsewhere, accept: '*/*' } });
    const { error } = JSON.parse(asked.text);
    const listed = error
      .split(': ')[1]
      .split(', ')
      .filter((path: string) => path.startsWith('/'));
    expect(listed).toEqual(expect.arrayContaining(['/', '/api/v1/schema', '/status']));
    const cookie = await page.signIn('viewer-token');
    for (const path of listed)
      expect([path, (await page.ask(path, { headers: { cookie } })).status]).toEqual([path, 200]);
  });

  it('redirects to the last page of a shorter list, in the same order', async () => {
    await using page = await runningPage({ source: new SampleSource({ count: 120 }) });
    const { status, headers } = await page.ask('/workspaces?page=99&sort=due&q=client');
    expect([status, headers.location]).toEqual([302, '/workspaces?page=3&sort=due&q=client']);
    const unknown = await page.ask('/workspaces?status=nope&page=99');
    expect(unknown.headers.location).toBe('/workspaces?status=nope&page=3');
    const address = pathOf(ADDRESS);
    for (const [path, to] of [
      ['/workspaces/?q=client', '/workspaces?q=client'],
      [`${address}/`, address],
      [`${address}/actions/approve//?of=plan-1`, `${address}/actions/approve?of=plan-1`],
      [`${address}?page=99`, `${address}?page=1`],
      [`${address}?page=abc`, `${address}?page=1`],
    ] as const)
      expect([path, (await page.ask(path)).headers.location]).toEqual([path, to]);
    expect((await page.ask(`${address}?page=1`)).status).toBe(200);
  });

  it.each([
    ['page=abc', 'Unknown page &quot;abc&quot;.'],
    ['page=0', 'Unknown page &quot;0&quot;.'],
    ['q=client%00-00001&page=0', '1 of 3 workspaces'],
    ['source=gone', 'There is no source &quot;gone&quot;.'],
    ['label=team', 'A label has the form key=value, such as team=sales.'],
  ])('explains the query %s', async (query, said) => {
    await using page = await runningPage();
    expect((await page.ask(`/workspaces?${query}`)).text).toContain(said);
    expect((await page.ask('/workspaces?page=1&label=team%3Dsales')).text).not.toContain('role="alert"');
  });

  it('does not mark resources as good after an old check, in any status of the workspace', async () => {
    const source = new SampleSource({ count: 8 });
    await using page = await runningPage({ source });
    const resources = async (of: number) => {
      const { text } = await page.ask(pathOf(`voices/clients/client-0000${of}:production`));
      return /<section id="resources".*?<\/section>/s.exec(text)?.[0] ?? '';
    };
    expect(await resources(0)).toMatch(/as of .*badge good/s);
    for (const old of [2, 6, 7]) {
      expect(await resources(old)).toMatch(/as of .*badge faint/s);
      expect(await resources(old)).not.toContain('badge good');
    }
    const { resources: rows = [] } = (await source.workspace(source.rows[2]?.address ?? '')) ?? {};
    const settled = rows.find(({ status }) => status === 'in sync')?.address ?? '';
    const status = async (of: number) => {
      const path = pathOf(`voices/clients/client-0000${of}:production`, 'resources', settled);
      return /class="status"><span class="([^"]*)/.exec((await page.ask(path)).text)?.[1];
    };
    expect([await status(0), await status(2)]).toEqual(['badge good', 'badge faint']);
    const lists = await Promise.all(['/', '/workspaces'].map(async (path) => (await page.ask(path)).text));
    const marks = /<td data-title="Checked">.*?stale/g;
    expect(lists.map((text) => text.match(marks)?.length)).toEqual([1, 2]);
    const tile = /badge odd">stale<.span><small>no failure, but no check for three intervals/;
    expect((await page.ask('/')).text).toMatch(tile);
  });

  it('keeps the order of the segments of a path', async () => {
    await using page = await runningPage({ source: new SampleSource({ count: 1, names: ['שלום/עולם:p'] }) });
    const shown = ['שלום', '/', 'עולם', ':', 'p'].map((part) => `<bdi>${part}</bdi>`).join('');
    expect((await page.ask('/workspaces')).text.replaceAll('<wbr>', '')).toContain(shown);
  });

  it('contains no secret', async () => {
    await using page = await runningPage({ source: new SampleSource({ count: 1, names: ['hunter2:p'] }) });
    expect((await page.ask('/workspaces')).text).toContain('(secret)');
  });
});

describe('slow and many connections', () => {
  it('are closed if they do not finish their request', { tags: ['long'] }, async () => {
    await using page = await runningPage();
    const socket = connect(Number(new URL(page.url).port), '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ');
    const answer = await new Promise<string>((resolve) => {
      let text = '';
      socket.on('data', (part) => {
        text += part;
      });
      socket.on('close', () => resolve(text));
    });
    expect(answer).toMatch(/^HTTP\/1.1 408/);
  });

  it('may end in the middle of a form without being reported as an error', async () => {
    await using page = await runningPage();
    const socket = connect(Number(new URL(page.url).port), '127.0.0.1');
    socket.write('POST /sign-in HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n');
    await once(socket, 'data');
    socket.write('token');
    socket.destroy();
    await once(socket, 'close');
    for (let request = 0; request < 5; request++) await page.ask('/');
  });

  it('are limited per address, but not for a proxy', { tags: ['long'] }, async () => {
    for (const proxy of [new TrustedProxy([]), new TrustedProxy(['127.0.0.1'])]) {
      await using page = await runningPage({ proxy });
      const port = Number(new URL(page.url).port);
      const ended: string[] = [];
      const sockets = Array.from({ length: 260 }, () => {
        let text = '';
        const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nX-Slow: '));
        socket.on('data', (part) => {
          text += part;
        });
        socket.on('error', () => undefined);
        return socket.on('close', () => ended.push(text));
      });
      const isProxy = proxy.includes('127.0.0.1');
      await expect.poll(() => ended.length).toBeGreaterThanOrEqual(isProxy ? 260 : 10);
      expect(ended.slice(0, 10).every((text) => text === '')).toBe(!isProxy);
      const [other] = (await once(
        get(`${page.url}/healthz`, { localAddress: '127.0.0.2', agent: false }),
        'response',
      )) as [IncomingMessage];
      expect(other.statusCode).toBe(200);
      other.resume();
      for (const socket of sockets) socket.destroy();
    }
  });

  it('cannot send too large headers', async () => {
    await using page = await runningPage();
    expect((await page.ask('/', { headers: { 'x-large': 'x'.repeat(20_000) } })).status).toBe(431);
  });

  it('are asked to retry later at the 51st open page of one user, and at the 201st of all', {
    tags: ['long'],
  }, async () => {
    await using page = await runningPage();
    const streams: IncomingMessage[] = [];
    const open = async (cookie: string, localAddress = '127.0.0.1') => {
      const [stream] = (await once(
        get(`${page.url}/events`, { headers: { cookie }, localAddress, agent: false }),
        'response',
      )) as [IncomingMessage];
      stream.resume();
      if (stream.statusCode === 200) streams.push(stream);
      return [stream.statusCode, stream.headers['retry-after']];
    };
    const many = (cookie: string, localAddress?: string) =>
      Promise.all(Array.from({ length: 51 }, () => open(cookie, localAddress)));
    const fifty = [...Array(50).fill([200, undefined]), [503, '30']];
    const viewer = await page.signIn('viewer-token');
    expect((await many(viewer)).toSorted()).toEqual(fifty);
    expect(await open(await page.signIn('viewer-token'))).toEqual([503, '30']);
    for (const address of ['127.0.0.1', '127.0.0.2']) expect((await many('', address)).toSorted()).toEqual(fifty);
    expect((await many(await page.signIn('approver-token'))).toSorted()).toEqual(fifty);
    const admin = await page.signIn('admin-token');
    expect(await open(admin)).toEqual([503, '30']);
    expect((await page.ask('/')).status).toBe(200);
    streams[0]?.destroy();
    await expect.poll(() => open(admin)).toEqual([200, undefined]);
    for (const stream of streams) stream.destroy();
  });

  it('occupy no slot without updates, or from another site', async () => {
    await using page = await runningPage();
    for (let asked = 0; asked < 52; asked++) expect((await page.ask('/events', { method: 'HEAD' })).status).toBe(200);
    for (const site of ['cross-site', 'same-site'])
      expect((await page.ask('/events', { headers: { 'sec-fetch-site': site } })).status).toBe(403);
    const headers = { 'sec-fetch-site': 'same-origin' };
    const [stream] = (await once(get(`${page.url}/events`, { headers }), 'response')) as [IncomingMessage];
    expect(stream.statusCode).toBe(200);
    stream.destroy();
  });

  it('are closed if nobody reads the stream', async () => {
    let version = 0;
    const live = new LiveUpdates({ version: async () => String(version++), pollIntervalMs: 5 });
    const app = new Hono().get('/', (c) =>
      live.stream(c, undefined, { visitorKey: 'ann', isAllowed: async () => true }),
    );
    const answers = await Promise.all(Array.from({ length: 50 }, () => app.request('/')));
    expect(live.isFull('ann')).toBe(true);
    const now = performance.now.bind(performance);
    let later = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + later);
    await expect
      .poll(() => {
        later += 20_000;
        return live.isFull('ann');
      })
      .toBe(false);
    clock.mockRestore();
    live.close();
    for (const { body } of answers) await body?.cancel();
  });

  it('are closed when the user may no longer read, even if there are always new events', async () => {
    let version = 0;
    let isAllowed = true;
    const live = new LiveUpdates({ version: async () => String(version++), pollIntervalMs: 5 });
    const app = new Hono().get('/', (c) =>
      live.stream(c, undefined, { visitorKey: 'ann', isAllowed: async () => isAllowed }),
    );
    const now = performance.now.bind(performance);
    let later = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + later);
    const { body } = await app.request('/');
    let events = 0;
    // One event a second, so that no ping is ever due.
    for await (const _ of body ?? []) {
      later += 1000;
      if (++events === 40) isAllowed = false;
      if (events === 100) break;
    }
    clock.mockRestore();
    live.close();
    expect(events).toBeGreaterThanOrEqual(40);
    expect(events).toBeLessThan(100);
  });

  it('notify a page of a change during its read', async () => {
    await using page = await runningPage();
    const { source } = page;
    for (const [path, name] of [
      ['/', 'overview'],
      ['/workspaces', 'workspaces'],
      [pathOf(ADDRESS), 'workspace'],
    ] as const) {
      const read = source[name].bind(source) as (what: never) => Promise<unknown>;
      Object.assign(source, {
        [name]: async (what: never) => {
          const found = await read(what);
          source.revision += 1;
          return found;
        },
      });
      const before = source.revision;
      const [, version] = /data-version="(\d+)"/.exec((await page.ask(path)).text) ?? [];
      expect(Number(version)).toBeLessThanOrEqual(before);
    }
  });

  it('are closed silently while their source is unavailable', async () => {
    const said = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    await using page = await runningPage();
    const [stream] = (await once(get(`${page.url}/events`), 'response')) as [IncomingMessage];
    page.source.version = async () => {
      throw new Error('no database');
    };
    await once(stream.resume(), 'end');
    expect(said).not.toHaveBeenCalled();
    said.mockRestore();
  });

  it('notify a page of a change after it reconnects', async () => {
    await using page = await runningPage();
    const heard = async (version: number) => {
      const [stream] = (await once(get(`${page.url}/events`), 'response')) as [IncomingMessage];
      let text = '';
      for await (const part of stream) {
        text += part;
        if (text.includes(`event: version\ndata: ${version}\n`)) return true;
      }
      return false;
    };
    expect(await heard(1)).toBe(true);
    page.source.revision = 7;
    expect(await heard(7)).toBe(true);
  });
});
