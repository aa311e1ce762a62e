import { describe, expect, it } from 'vitest';
import { proxyFor } from '../../src/platform/proxy.ts';
import { UserError } from '../../src/problems/user-error.ts';
import { connectProxy, secureServer, selfSigned } from './connect-proxy.ts';
import { closedPort, listenHttp } from './listen.ts';
import { failureFrom, openTransport } from './open-transport.ts';

const PLATFORM = 'https://platform.example.com';
const GET = { method: 'GET', path: '/api/v1/agents/01A' } as const;
const POST = { method: 'POST', path: '/api/v1/agents', body: { name: 'A' } } as const;
const identity = selfSigned();

function through(port: number, credentials = '') {
  return proxyFor(new URL(PLATFORM), { HTTPS_PROXY: `http://${credentials}127.0.0.1:${port}` });
}

describe('proxy of a URL', () => {
  const proxy = 'http://proxy.example.com:3128';
  it.each([
    { env: {}, at: PLATFORM, expected: undefined },
    { env: { HTTPS_PROXY: proxy }, at: PLATFORM, expected: proxy },
    { env: { https_proxy: proxy, HTTPS_PROXY: 'http://other' }, at: PLATFORM, expected: proxy },
    { env: { Https_Proxy: proxy }, at: PLATFORM, expected: proxy },
    { env: { HTTPS_PROXY: 'proxy.example.com:3128' }, at: PLATFORM, expected: proxy },
    { env: { https_proxy: '', HTTPS_PROXY: proxy }, at: PLATFORM, expected: undefined },
    { env: { HTTP_PROXY: proxy }, at: PLATFORM, expected: undefined },
    { env: { HTTP_PROXY: proxy }, at: 'http://platform.example.com', expected: proxy },
    { env: { HTTPS_PROXY: proxy }, at: 'https://localhost:8443', expected: undefined },
    { env: { HTTP_PROXY: proxy }, at: 'http://127.0.0.1:9', expected: undefined },
    { env: { HTTP_PROXY: proxy }, at: 'http://[::1]:9', expected: undefined },
  ])('of $at with $env is $expected', ({ env, at, expected }) => {
    expect(proxyFor(new URL(at), env)?.origin).toBe(expected);
  });

  it.each([
    { list: '*', at: PLATFORM, direct: true },
    { list: 'other.com, platform.example.com', at: PLATFORM, direct: true },
    { list: 'other.com platform.example.com', at: PLATFORM, direct: true },
    { list: 'example.com', at: PLATFORM, direct: true },
    { list: '.example.com', at: PLATFORM, direct: true },
    { list: '*.example.com', at: PLATFORM, direct: true },
    { list: '.platform.example.com', at: PLATFORM, direct: true },
    { list: '*.platform.example.com', at: PLATFORM, direct: false },
    { list: 'ample.com', at: PLATFORM, direct: false },
    { list: 'EXAMPLE.com.', at: PLATFORM, direct: true },
    { list: 'example.com:443', at: PLATFORM, direct: true },
    { list: 'example.com:8443', at: PLATFORM, direct: false },
    { list: '10.1.2.3', at: 'https://10.1.2.3', direct: true },
    { list: '10.0.0.0/8', at: 'https://10.1.2.3:8443', direct: true },
    { list: '10.0.0.0/16', at: 'https://10.1.2.3', direct: false },
    { list: '2.3', at: 'https://10.1.2.3', direct: false },
    { list: 'fd00::/8', at: 'https://[fd00::1]', direct: true },
    { list: '[fd00::1]:443', at: 'https://[fd00::1]', direct: true },
    { list: 'fd00::1', at: 'https://[fd00::1]', direct: true },
    { list: '10.0.0.0/99', at: 'https://10.1.2.3', direct: false },
  ])('is bypassed for $at by NO_PROXY=$list: $direct', ({ list, at, direct }) => {
    expect(proxyFor(new URL(at), { HTTPS_PROXY: proxy, NO_PROXY: list }) === undefined).toBe(direct);
  });

  it.each(['socks5://u:hunter2@proxy:1080', 'http://u:hunter2@', '::::hunter2'])(
    'is refused without being printed if it is invalid',
    (text) => {
      const error = errorOf(() => proxyFor(new URL(PLATFORM), { HTTPS_PROXY: text }));
      expect(error).toBeInstanceOf(UserError);
      expect(JSON.stringify([error, String(error)])).not.toContain('hunter2');
    },
  );
});

describe('requests through a proxy', () => {
  it('reach a TLS server, with credentials only for the proxy and one tunnel per connection', async () => {
    const seen: string[] = [];
    await using server = await secureServer(identity, (request, response) => {
      seen.push(`${request.method} ${request.url} ${request.headers.host} ${'proxy-authorization' in request.headers}`);
      response.end('{"data":1}');
    });
    await using proxy = await connectProxy(server.port);
    const settings = through(proxy.port, 'ann:p%40ss-word@');
    const { transport } = openTransport({ baseUrl: PLATFORM, proxy: settings, ca: identity.cert, concurrency: 2 });
    for (let round = 0; round < 3; round++) await transport.send(GET);
    await Promise.all([transport.send(GET), transport.send(GET), transport.send(GET)]);
    expect(seen).toEqual(Array(6).fill(`GET ${GET.path} platform.example.com false`));
    expect(new Set(proxy.asked)).toEqual(new Set(['CONNECT platform.example.com:443']));
    expect(proxy.asked.length).toBeLessThanOrEqual(2);
    expect(server.connections()).toBe(proxy.asked.length);
    expect(proxy.credentials[0]).toBe(`Basic ${Buffer.from('ann:p@ss-word').toString('base64')}`);
  });

  it('are not sent to a server with an untrusted certificate', async () => {
    await using server = await secureServer(identity, (_request, response) => response.end('{}'));
    await using proxy = await connectProxy(server.port);
    const { transport } = openTransport({ baseUrl: PLATFORM, proxy: through(proxy.port) });
    const error = await failureFrom(transport.send(POST));
    expect(error.outcome).toBe('not-done');
    expect(error.message).toContain(`platform.example.com (through the proxy 127.0.0.1:${proxy.port})`);
    expect(error.message).toMatch(/certificate.*ca_file$/);
  });

  it('retry a POST if the tunnel was not established', async () => {
    let posts = 0;
    await using server = await secureServer(identity, (_request, response) => {
      posts++;
      response.writeHead(201).end('{"data":{"id":"01A"}}');
    });
    await using proxy = await connectProxy(server.port);
    proxy.answer = 503;
    const { transport, events } = openTransport({
      baseUrl: PLATFORM,
      proxy: through(proxy.port),
      ca: identity.cert,
      onRequest: (event) => {
        events.push(event);
        proxy.answer = 200;
      },
    });
    await transport.send(POST);
    expect(events.map(({ status, error }) => status ?? error)).toEqual(['network', 201]);
    expect(posts).toBe(1);
  });

  it('make a POST unknown if the tunnel broke after it was sent', async () => {
    await using server = await secureServer(identity, (request) => request.socket.destroy());
    await using proxy = await connectProxy(server.port);
    const { transport, events } = openTransport({ baseUrl: PLATFORM, proxy: through(proxy.port), ca: identity.cert });
    const error = await failureFrom(transport.send(POST));
    expect(error.outcome).toBe('lost');
    expect(events).toHaveLength(1);
  });

  it.each([
    { status: 407, given: '', tries: 1, message: 'requires a user name and a password (407); set them in HTTPS_PROXY' },
    {
      status: 407,
      given: 'ann:hunter2hunter2@',
      tries: 1,
      message: 'rejected the user name and password in HTTPS_PROXY (407)',
    },
    { status: 403, given: '', tries: 1, message: 'did not connect to platform.example.com:443: 403 Forbidden' },
    { status: 302, given: '', tries: 1, message: 'did not connect to platform.example.com:443: 302 Found' },
    {
      status: 502,
      given: '',
      tries: 5,
      message: 'did not connect to platform.example.com:443: 502 Bad Gateway (after 5 tries)',
    },
  ])('fail with a clear error if the proxy answers $status$given', async ({ status, given, tries, message }) => {
    await using proxy = await connectProxy(await closedPort());
    proxy.answer = status;
    const { transport, events } = openTransport({ baseUrl: PLATFORM, proxy: through(proxy.port, given) });
    const error = await failureFrom(transport.send(POST));
    expect(error.message).toBe(`POST ${POST.path}: the proxy 127.0.0.1:${proxy.port} ${message}`);
    expect(error.outcome).toBe('not-done');
    expect(events).toHaveLength(tries);
    expect(`${error.message} ${error.stack} ${JSON.stringify(error)}`).not.toContain('hunter2');
  });

  it('fail with a clear error if the proxy has no listener', async () => {
    const port = await closedPort();
    const { transport } = openTransport({ baseUrl: PLATFORM, proxy: through(port, 'ann:hunter2hunter2@') });
    const error = await failureFrom(transport.send(POST));
    expect(error.message).toBe(`POST ${POST.path}: the proxy 127.0.0.1:${port} refused the connection (after 5 tries)`);
    expect(error.outcome).toBe('not-done');
  });

  it('are forwarded if the platform uses plain HTTP', async () => {
    const { port, seen } = await listenHttp((_request, response) => response.end('{"data":1}'));
    await using proxy = await connectProxy(port);
    const base = 'http://platform.example.com/base';
    const settings = proxyFor(new URL(base), { HTTP_PROXY: `http://ann:hunter2@127.0.0.1:${proxy.port}` });
    const { transport } = openTransport({ baseUrl: base, proxy: settings });
    expect(await transport.send(GET)).toMatchObject({ body: { data: 1 } });
    expect(seen[0]).toMatchObject({ url: `/base${GET.path}`, headers: { host: 'platform.example.com' } });
    expect(proxy.asked).toEqual([`GET http://platform.example.com/base${GET.path}`]);
    proxy.answer = 407;
    const error = await failureFrom(transport.send(POST));
    expect(error.message).toContain(
      `the proxy 127.0.0.1:${proxy.port} rejected the user name and password in HTTP_PROXY (407)`,
    );
    expect(error.outcome).toBe('not-done');
  });
});

function errorOf(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}
