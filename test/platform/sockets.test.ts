import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { finished } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { inspect, promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { TransportRequest } from '../../src/platform/transport.ts';
import { closedPort, listenHttp, listenTcp } from './listen.ts';
import { API_KEY, failureFrom, openTransport } from './open-transport.ts';

const GET: TransportRequest = { method: 'GET', path: '/api/v1/agents/01A' };
const PUT: TransportRequest = { method: 'PUT', path: '/api/v1/agents/01A', body: { name: 'a' } };
const POST: TransportRequest = { method: 'POST', path: '/api/v1/agents', body: { name: 'a' } };

/** The start of a response that breaks off. */
const PART = 'HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: 400\r\n\r\n{"data":{"id":"01';

const SLOW = { requests: 16, timeoutSeconds: 2 };

/** Returns a program that prints the status of each response, or the error. */
function postsOfChild(baseUrl: string): string {
  const of = (file: string) => JSON.stringify(new URL(`../../src/${file}`, import.meta.url));
  return `import { Transport } from ${of('platform/transport.ts')};
import { Secret } from ${of('values/value.ts')};
const transport = new Transport({ baseUrl: '${baseUrl}', apiKey: new Secret('KEY', '${API_KEY}'), concurrency: ${SLOW.requests},
  requestsPerSecond: null, timeoutSeconds: ${SLOW.timeoutSeconds} });
const send = () => transport.send(${JSON.stringify(POST)}).then(({ status }) => status, ({ message }) => message);
process.stdout.write(String(await Promise.all(Array.from({ length: ${SLOW.requests} }, send))));
await transport.close();`;
}

describe('over a socket', () => {
  it('the body of a GET arrives', async () => {
    const { url, seen } = await listenHttp((_request, response) => response.end('{"data":[]}'));
    const { transport } = openTransport({ baseUrl: url });
    const body = { per_page: 100, date_from: null, date_to: '2030-01-31' };
    await transport.send({ method: 'GET', path: '/api/v1/call-histories', body });
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({ method: 'GET', url: '/api/v1/call-histories' });
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual(body);
    expect(seen[0]?.headers).toMatchObject({ authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' });
  });

  it('a write is not sent without a permission, which may expire during the connect', async () => {
    const { url, seen } = await listenHttp((_request, response) => response.end('{}'));
    const { transport } = openTransport({ baseUrl: url });
    let renewals = 0;
    const asked = [true, false, false];
    const permission = {
      get mayWrite() {
        return asked.shift() ?? true;
      },
      async renew() {
        renewals += 1;
      },
    };
    await transport.send({ ...POST, permission });
    expect([renewals, seen.length]).toEqual([1, 1]);
    const lost = { mayWrite: false, renew: () => Promise.reject(new Error('lost')) };
    expect(await failureFrom(transport.send({ ...PUT, permission: lost }))).toMatchObject({
      reason: 'held-back',
      outcome: 'not-done',
    });
    expect(seen).toHaveLength(1);
  });

  it('the number of concurrent requests reaches the limit, and does not exceed it', async () => {
    const held: (() => void)[] = [];
    let most = 0;
    const { url } = await listenHttp((_request, response) => {
      held.push(() => response.end('{}'));
      most = Math.max(most, held.length);
      // The server responds only when three requests have arrived, so fewer at once would never end.
      if (held.length >= 3) for (const answer of held.splice(0)) answer();
    });
    const { transport } = openTransport({ baseUrl: url, concurrency: 3 });
    await Promise.all(Array.from({ length: 12 }, () => transport.send(GET)));
    expect(most).toBe(3);
  });
});

describe('automatic limit', () => {
  it('falls to the capacity of a server', { tags: ['long'] }, async () => {
    let held = 0;
    const answers: number[] = [];
    const refused = Promise.withResolvers<void>();
    const { url } = await listenHttp(async (_request, response) => {
      if (held >= 8) {
        answers.push(429);
        response.writeHead(429).end('{}');
        refused.resolve();
        return;
      }
      held++;
      // The server responds only after its first refusal, so fewer than nine at once would never end.
      await refused.promise;
      setTimeout(() => {
        held--;
        answers.push(200);
        response.end('{}');
      }, 5);
    });
    const { transport } = openTransport({ baseUrl: url, concurrency: 'auto' });
    await Promise.all(Array.from({ length: 2000 }, () => transport.send(GET)));
    const refusals = (some: readonly number[]): number => some.filter((status) => status === 429).length;
    const settled = answers.slice(answers.length / 2);
    expect(refusals(settled)).toBeLessThanOrEqual(0.05 * settled.length);
  });
});

describe('broken connection', () => {
  const cuts = [
    { reason: 'before the response', bytes: '' },
    { reason: 'in the middle of the headers', bytes: 'HTTP/1.1 200 OK\r\ncontent-ty' },
    { reason: 'in the middle of the body', bytes: PART },
    {
      reason: 'in the middle of a chunked body',
      bytes: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"dat\r\n',
    },
  ];

  it.each(cuts)('$reason makes a POST unknown, which is not repeated', async ({ bytes }) => {
    const { url } = await listenTcp((socket) => socket.once('data', () => socket.end(bytes)));
    const { transport, events } = openTransport({ baseUrl: url });
    const error = await failureFrom(transport.send(POST));
    expect(error).toMatchObject({ reason: 'network', outcome: 'lost' });
    expect(error.message).toMatch(/^POST \/api\/v1\/agents: .*; it may have succeeded$/);
    expect(events).toHaveLength(1);
  });

  it.each(cuts)('$reason causes a retry of a GET and a PUT', async ({ bytes }) => {
    const { url } = await listenTcp((socket, count) =>
      socket.once('data', () =>
        socket.end(count % 2 === 1 ? bytes : 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}'),
      ),
    );
    const { transport, events } = openTransport({ baseUrl: url, concurrency: 1 });
    expect((await transport.send(GET)).body).toEqual({});
    expect((await transport.send(PUT)).body).toEqual({});
    expect(events.map(({ attempt }) => attempt)).toEqual([1, 2, 1, 2]);
  });

  it('after a complete refusal does not change the error', async () => {
    const { url } = await listenTcp((socket) =>
      socket.once('data', () =>
        socket.end('HTTP/1.1 422 Unprocessable\r\ncontent-length: 400\r\n\r\n{"message":"too long"}'),
      ),
    );
    const { transport } = openTransport({ baseUrl: url });
    const error = await failureFrom(transport.send(POST));
    expect(error).toMatchObject({ reason: 'status', status: 422, outcome: 'not-done' });
    expect(error.message).toBe('POST /api/v1/agents: 422 too long');
  });

  it('with a response that is not HTTP does not reveal its text', async () => {
    const { url } = await listenTcp((socket) => socket.once('data', () => socket.end(`SSH-2.0 ${API_KEY}\r\n`)));
    const { transport } = openTransport({ baseUrl: url });
    const error = await failureFrom(transport.send(POST));
    expect(error).toMatchObject({ reason: 'network', outcome: 'lost' });
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(API_KEY);
  });
});

it('names the cause if the port does not speak TLS', async () => {
  const { port } = await listenHttp((_request, response) => response.end('{}'));
  const { transport } = openTransport({ baseUrl: `https://127.0.0.1:${port}` });
  const error = await failureFrom(transport.send(POST));
  expect(error).toMatchObject({ reason: 'network', outcome: 'not-done' });
  expect(error.message).toMatch(new RegExp(`127.0.0.1:${port} does not speak TLS on this port; .*http[^:]*$`));
});

describe('POST that certainly failed is sent again', () => {
  it('when the connection is refused by a platform that responded before', async () => {
    const server = http.createServer((_request, response) => response.end('{}')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { transport, events } = openTransport({ baseUrl: `http://127.0.0.1:${port}` });
    await transport.send(GET);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    const error = await failureFrom(transport.send(POST));
    expect(error).toMatchObject({ reason: 'network', outcome: 'not-done' });
    expect(error.message).toBe(`POST /api/v1/agents: 127.0.0.1:${port} refused the connection (after 5 tries)`);
    expect(events).toHaveLength(6);
  });

  it.each(['127.0.0.1', 'localhost', '[::1]'])('but not without a listener on %s', async (host) => {
    const port = await closedPort();
    const { transport, events } = openTransport({ baseUrl: `http://${host}:${port}` });
    const error = await failureFrom(transport.send(POST));
    expect(error).toMatchObject({
      reason: 'network',
      outcome: 'not-done',
      facts: { closedLocalPort: `${host}:${port}` },
    });
    expect(events).toHaveLength(1);
  });

  it('when the name is unknown', async () => {
    const { transport, events } = openTransport({ baseUrl: 'http://platform.invalid' });
    const error = await failureFrom(transport.send(POST));
    expect(error).toMatchObject({ reason: 'network', outcome: 'not-done' });
    expect(error.message).toMatch(/platform\.invalid (is not a known host name|could not be resolved)/);
    expect(events).toHaveLength(5);
  });

  it('when TLS breaks before the handshake ends', async () => {
    const { port } = await listenTcp((socket) => socket.once('data', () => socket.destroy()));
    const { transport, events } = openTransport({ baseUrl: `https://127.0.0.1:${port}` });
    const error = await failureFrom(transport.send(POST));
    expect(error).toMatchObject({ reason: 'network', outcome: 'not-done' });
    expect(events).toHaveLength(5);
  });

  it('but not when the port does not support TLS, which is permanent', async () => {
    const { port } = await listenHttp((_request, response) => response.end('{}'));
    const { transport, events } = openTransport({ baseUrl: `https://127.0.0.1:${port}` });
    expect(await failureFrom(transport.send(POST))).toMatchObject({ reason: 'network', outcome: 'not-done' });
    expect(events).toHaveLength(1);
  });
});

describe('slow platform', () => {
  it.each([
    { reason: 'that never responds', answers: false },
    { reason: 'with an endless response', answers: true },
  ])('$reason makes a POST unknown', async ({ answers }) => {
    const { url } = await listenTcp((socket) => {
      let drip: NodeJS.Timeout | undefined;
      socket.once('data', () => {
        if (!answers) return;
        socket.write(PART);
        drip = setInterval(() => socket.write(' '), 5);
      });
      socket.on('close', () => clearInterval(drip));
    });
    const { transport, events } = openTransport({ baseUrl: url, timeoutSeconds: 0.3 });
    const error = await failureFrom(transport.send(POST));
    expect(error).toMatchObject({ reason: 'timeout', outcome: 'lost' });
    expect(error.message).toMatch(/^POST .*no complete response from .* within 0.3 s; it may have succeeded$/);
    expect(events).toHaveLength(1);
  });

  it('is read although the process was suspended for longer than the timeout', { tags: ['long'] }, async () => {
    const held: http.ServerResponse[] = [];
    const asked = Promise.withResolvers<void>();
    const { url } = await listenHttp((_request, response) => {
      if (held.push(response) === SLOW.requests) asked.resolve();
    });
    const child = spawn(process.execPath, ['--input-type=module', '--eval', postsOfChild(url)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const told = text(child.stdout);

    await asked.promise;
    child.kill('SIGSTOP');
    await Promise.all(
      held.map(async (response) => {
        response.writeHead(201, { 'content-type': 'application/json' }).end('{"data":{}}');
        await finished(response);
      }),
    );
    await delay(SLOW.timeoutSeconds * 1000);
    child.kill('SIGCONT');
    expect(await told).toBe(`${Array(SLOW.requests).fill('201')}`);
  });

  it('is retried by a GET', async () => {
    const { url } = await listenHttp((_request, response, count) => {
      if (count >= 2) response.end('{}');
    });
    // There is only one connection, which the aborted attempt must release.
    const { transport, events } = openTransport({ baseUrl: url, timeoutSeconds: 0.3, concurrency: 1 });
    await transport.send(GET);
    expect(events.at(0)?.error).toBe('timeout');
    expect(events.at(-1)).toMatchObject({ status: 200, error: undefined });
  });
});

describe('very large response', () => {
  it.each([
    { reason: 'with a declared length', announced: true },
    { reason: 'in chunks', announced: false },
  ])('$reason is refused', async ({ announced }) => {
    const { url } = await listenHttp((_request, response) => {
      if (announced) response.setHeader('content-length', 100_000);
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(1000)));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    });
    const { transport, events } = openTransport({ baseUrl: url, maxBodyBytes: 50_000 });
    const error = await failureFrom(transport.send(GET));
    expect(error).toMatchObject({ reason: 'too-large', status: 200, outcome: 'not-done' });
    expect(error.message).toBe('GET /api/v1/agents/01A: the response is larger than 50000 bytes');
    expect(events).toHaveLength(1);
    expect(await failureFrom(transport.send(POST))).toMatchObject({ reason: 'too-large', outcome: 'lost' });
  });

  it('of the maximum size is accepted', async () => {
    const text = JSON.stringify('x'.repeat(49_998));
    const { url } = await listenHttp((_request, response) => response.end(text));
    const { transport } = openTransport({ baseUrl: url, maxBodyBytes: 50_000 });
    expect((await transport.send(GET)).body).toHaveLength(49_998);
  });

  it('with a refusal is only read at its start', async () => {
    const { url } = await listenHttp((_request, response) => {
      response.writeHead(400);
      response.write('no such agent ');
      const more = (): void => {
        while (!response.destroyed && response.write(' '.repeat(1000)));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    });
    const { transport } = openTransport({ baseUrl: url });
    expect((await failureFrom(transport.send(GET))).message).toBe('GET /api/v1/agents/01A: 400 no such agent');
  });
});

describe('redirect', () => {
  it('never receives the key', async () => {
    const elsewhere = await listenHttp((_request, response) => response.end('{}'));
    const { url, seen } = await listenHttp((request, response) => {
      response.writeHead(308, { location: elsewhere.url + request.url }).end();
    });
    const { transport } = openTransport({ baseUrl: url });
    for (const request of [GET, PUT, POST]) {
      expect(await failureFrom(transport.send(request))).toMatchObject({ reason: 'redirect', outcome: 'not-done' });
    }
    expect(seen).toHaveLength(3);
    expect(elsewhere.seen).toEqual([]);
  });
});

describe('stop', () => {
  it.each([
    { request: GET, outcome: 'not-done' },
    { request: POST, outcome: 'lost' },
  ])('aborts a $request.method in flight immediately', async ({ request, outcome }) => {
    const controller = new AbortController();
    const { url, seen } = await listenHttp(() => controller.abort());
    const { transport } = openTransport({ baseUrl: url, signal: controller.signal, concurrency: 1 });
    const [underWay, waiting] = await Promise.all([
      failureFrom(transport.send(request)),
      failureFrom(transport.send(POST)),
    ]);
    expect(underWay).toMatchObject({ reason: 'aborted', outcome });
    expect(waiting).toMatchObject({ reason: 'aborted', outcome: 'not-done' });
    expect(seen).toHaveLength(1);
  });

  it('by closing aborts requests in flight and new ones', async () => {
    const arrival = Promise.withResolvers<void>();
    const { url } = await listenHttp(() => arrival.resolve());
    const { transport } = openTransport({ baseUrl: url });
    const underWay = failureFrom(transport.send(POST));
    await arrival.promise;
    await transport.close();
    expect(await underWay).toMatchObject({ reason: 'aborted', outcome: 'lost' });
    expect(await failureFrom(transport.send(GET))).toMatchObject({ reason: 'aborted', outcome: 'not-done' });
  });

  it('by closing ends kept-alive connections', async () => {
    const gone = Promise.withResolvers<void>();
    const { url } = await listenHttp((_request, response) => {
      response.socket?.once('close', () => gone.resolve());
      response.end('{}');
    });
    const { transport } = openTransport({ baseUrl: url });
    await transport.send(GET);
    await transport.close();
    await gone.promise;
  });

  it('by closing lets the process end', async () => {
    const { url } = await listenHttp((_request, response) => response.end('{"data":1}'));
    const program = `
      import { Transport } from './src/platform/transport.ts';
      import { Secret } from './src/values/value.ts';
      const transport = new Transport({
        baseUrl: ${JSON.stringify(url)}, apiKey: new Secret('KEY', 'key'), concurrency: 4,
        requestsPerSecond: null, timeoutSeconds: 600, signal: new AbortController().signal,
      });
      const { body } = await transport.send({ method: 'GET', path: '/api/v1/agents/01A' });
      await transport.close();
      console.log(JSON.stringify(body));
    `;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], {
      timeout: 300_000,
      cwd: new URL('../..', import.meta.url),
    });
    expect(stdout).toBe('{"data":1}\n');
  });
});
