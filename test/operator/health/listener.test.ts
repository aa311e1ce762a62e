import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { parseListen, type RequestFacts, refusal, WrongTokens } from '../../../src/operator/health/admission.ts';
import { listen } from '../../../src/operator/health/listener.ts';
import { TrustedProxy } from '../../../src/page/access/trusted-proxy.ts';
import { UserError } from '../../../src/problems/user-error.ts';
import { isLoopback } from '../../../src/values/loopback.ts';

const local = { host: '127.0.0.1', port: 0 };
const open = { host: '0.0.0.0', port: 0 };
const bearer = { authorization: 'Bearer t0ken' };
const unproxied = { names: ['voxform.example'], proxy: new TrustedProxy([]), userHeader: undefined };
const page = { fetch: () => new Response(null, { status: 404 }), mayRead: async () => true };
const sent = (headers: RequestFacts['headers'], httpVersion = '1.1'): RequestFacts => ({
  headers,
  httpVersion,
  socket: { remoteAddress: '127.0.0.1' },
});

describe('authorization of requests', () => {
  it.each([
    ['this machine, by number', local, undefined, { host: '127.0.0.1:9464' }, true],
    ['this machine, by name', local, undefined, { host: 'LocalHost:9464' }, true],
    ['this machine, over IPv6', { host: '::1', port: 1 }, undefined, { host: '[::1]:9464' }, true],
    ['a name that was made to lead here', local, undefined, { host: 'evil.example:9464' }, false],
    ['no name at all', local, undefined, {}, false],
    ['a name that only begins like this machine', local, undefined, { host: '127.evil.example' }, false],
    ['a proxy on this machine', local, undefined, { host: 'localhost', via: '1.1 proxy' }, false],
    ['a form of a page', local, undefined, { host: 'localhost', origin: 'https://evil.example' }, false],
    ['a page without an origin', local, undefined, { host: 'localhost', 'sec-fetch-site': 'cross-site' }, false],
    ['a token that is set, missing', local, 't0ken', { host: 'localhost' }, false],
    ['a token that is set, given', local, 't0ken', { host: 'localhost', ...bearer }, true],
    ['others, without a token', open, undefined, { host: 'voxform.example' }, false],
    ['others, with the token', open, 't0ken', { host: 'voxform.example', ...bearer }, true],
    ['others, with a wrong token', open, 't0ken2', { host: 'voxform.example', ...bearer }, false],
    ['a page that knows the token', open, 't0ken', { origin: 'https://x.example', ...bearer }, false],
    ['a page that only has a referer', local, undefined, { host: 'localhost', referer: 'https://x.example/' }, false],
    ['others, by a name that nobody allowed', open, 't0ken', { host: 'evil.example', ...bearer }, false],
    ['others, by number', open, 't0ken', { host: '10.1.2.3:9464', ...bearer }, true],
  ] as const)('decides on a run request: %s', (_, address, token, headers, isLetIn) => {
    const why = refusal(sent(headers), { ...unproxied, listen: address, token }, { writes: true });
    expect([why === undefined, why]).toEqual([isLetIn, isLetIn ? undefined : expect.any(String)]);
  });

  it.each([
    ['by number', open, undefined, { host: '10.1.2.3:9464' }, true],
    ['by number, over IPv6', open, undefined, { host: '[fd00::1]:9464' }, true],
    ['by a name that was allowed', open, undefined, { host: 'Voxform.example:9464' }, true],
    ['by any other name', open, undefined, { host: 'evil.example' }, false],
    ['by no name', open, undefined, {}, false],
    ['on loopback by a foreign number', local, undefined, { host: '10.1.2.3' }, false],
    ['without the token that is set', open, 't0ken', { host: '10.1.2.3' }, false],
    ['without the token that is set, on loopback', local, 't0ken', { host: 'localhost' }, false],
    ['with the token', open, 't0ken', { host: '10.1.2.3', ...bearer }, true],
  ] as const)('decides on a read %s', (_, listen, token, headers, isLetIn) => {
    const why = refusal(sent(headers), { ...unproxied, listen, token }, { writes: false });
    expect(why === undefined).toBe(isLetIn);
  });
});

describe('listen address', () => {
  it.each([
    ['127.0.0.1:9464', '127.0.0.1', 9464],
    ['[::1]:1', '::1', 1],
    [':80', '0.0.0.0', 80],
    ['localhost:0', 'localhost', 0],
  ])('parses %s', (text, host, port) => expect(parseListen(text)).toEqual({ host, port }));

  it.each(['9464', 'x', '127.0.0.1:', '127.0.0.1:70000', 'a b:1', '::1:80', 'http://x:1'])('refuses %j', (text) => {
    expect(() => parseListen(text)).toThrow(UserError);
  });

  it('recognizes loopback addresses', () => {
    expect(['127.8.9.1', '::1', 'localhost', '0.0.0.0', '10.0.0.1', '127.x'].map(isLoopback)).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});

describe('limit of wrong tokens', () => {
  it.each([
    ['2001:db8::a:0:0:1', '2001:db8::b:0:0:1', true],
    ['2001:db8::1', '2001:db8:0:0:1:2:3:4', true],
    ['2001:db8:1::1', '2001:db8:1:0:5::', true],
    ['::1', '::2', true],
    ['fe80::1%eth0', 'fe80::2%eth0', true],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['2001:db8::1', '2001:db9::1', false],
    ['::ffff:10.0.0.1', '::ffff:10.0.0.2', false],
    ['10.0.0.1', '10.0.0.2', false],
  ])('from %s applies to %s: %s', (address, other, isShared) => {
    const wrongTokens = new WrongTokens({ now: () => 0 });
    for (let attempts = 0; attempts < 10; attempts++) wrongTokens.add(address);
    expect(wrongTokens.wait(other) > 0).toBe(isShared);
  });
});

describe('listener', () => {
  it('serves each path to authorized callers, and redacts secrets', async () => {
    const asked: string[] = [];
    let ready = false;
    const listener = await listen({
      listen: local,
      ...unproxied,
      page,
      token: undefined,
      isReady: () => ready,
      status: () => ({ error: 'hunter2' }),
      metrics: async () => ({ contentType: 'text/plain; version=0.0.4', text: 'x 1\n' }),
      reconcile: () => asked.push('run'),
      wrongTokens: new WrongTokens({ now: () => 0 }),
      redact: (text) => text.replaceAll('hunter2', '(secret)'),
    });
    const get = async (method: string, path: string, headers: Readonly<Record<string, string>> = {}) => {
      const answer = await new Promise<{
        status: number | undefined;
        type: string | undefined;
        text: string;
      }>((resolve, reject) => {
        const sent = request(`${listener.url}${path}`, { method, headers }, (got) => {
          let text = '';
          got.setEncoding('utf8').on('data', (more: string) => (text += more));
          got.on('end', () =>
            resolve({ status: got.statusCode, type: got.headers['content-type'], text: text.trim() }),
          );
        });
        sent.on('error', reject).end();
      });
      return [answer.status, answer.text];
    };
    expect(await get('GET', '/healthz', { host: '10.1.2.3:9464' })).toEqual([200, '{"alive":true}']);
    expect(await get('GET', '/readyz')).toEqual([503, '{"ready":false}']);
    ready = true;
    expect(await get('GET', '/readyz?x=1')).toEqual([200, '{"ready":true}']);
    expect(await get('GET', '/status')).toEqual([200, '{"error":"(secret)"}']);
    expect(await get('HEAD', '/status')).toEqual([200, '']);
    expect(await get('GET', '/metrics')).toEqual([200, 'x 1']);
    expect(await get('GET', '/metrics', { host: 'evil.example' })).toEqual([403, expect.any(String)]);
    expect((await get('POST', '/status'))[0]).toBe(405);
    expect((await get('GET', '/reconcile'))[0]).toBe(405);
    expect((await get('GET', '/__proto__'))[0]).toBe(404);
    expect(asked).toEqual([]);
    expect(await get('POST', '/reconcile')).toEqual([202, '{"accepted":true}']);
    expect((await get('POST', '/reconcile', { host: 'evil.example' }))[0]).toBe(403);
    expect(asked).toEqual(['run']);
    await expect(listen({ listen: parseListen(listener.url.slice(7)) } as never)).rejects.toThrow('already in use');
    await listener.close();
  });

  it('limits the time that it waits for a client or a handler', async () => {
    const silent = new Promise<never>(() => undefined);
    const listener = await listen({
      listen: local,
      ...unproxied,
      page,
      token: undefined,
      isReady: () => true,
      status: () => silent,
      metrics: () => silent,
      redact: String,
      wrongTokens: new WrongTokens({ now: () => 0 }),
      timeoutMs: 20,
    });
    for (const path of ['status', 'metrics']) {
      const answer = await fetch(`${listener.url}/${path}`);
      expect([answer.status, await answer.json()]).toEqual([503, { error: 'no response within 0.02 s' }]);
    }
    await listener.close();
  });
});
