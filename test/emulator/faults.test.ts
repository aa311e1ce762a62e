import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { type Fault, Faults, type PlannedFault } from '../../src/emulator/faults.ts';
import { startEmulator } from '../../src/emulator/start-emulator.ts';
import { call } from './call.ts';

const create = ['POST', '/api/v1/numbers', { number: '1' }] as const;

describe('a fault over a real socket', () => {
  it.each([
    ['before', 0],
    ['after', 1],
  ] as const)('cuts the connection %s the request is executed', async (cut, kept) => {
    await using emulator = await startEmulator();
    emulator.faults.add({ fault: { cut } });
    await expect(call(emulator, create)).rejects.toThrow();
    expect(emulator.world.numbers.size).toBe(kept);
    expect((await call(emulator, create)).status).toBe(201);
  });

  it.each([
    [{ status: 503 }, 0],
    [{ status: 502, commit: true }, 1],
  ] as const)('responds with %j', async (fault, kept) => {
    await using emulator = await startEmulator();
    emulator.faults.add({ fault: { ...fault, headers: { 'x-request-id': 'r1' }, body: '<h1>Bad</h1>' } });
    const answer = await call(emulator, create);
    expect(answer).toMatchObject({ status: fault.status, text: '<h1>Bad</h1>' });
    expect(answer.headers['x-request-id']).toBe('r1');
    expect(emulator.world.numbers.size).toBe(kept);
  });

  it('responds with its own JSON body', async () => {
    await using emulator = await startEmulator();
    emulator.faults.add({ fault: { status: 200, body: { data: 'odd' } } });
    expect((await call(emulator, create)).body).toEqual({ data: 'odd' });
  });

  it('truncates the response in the middle of the body', async () => {
    await using emulator = await startEmulator();
    emulator.faults.add({ fault: { truncate: 10 } });
    await expect(call(emulator, create)).rejects.toThrow();
    expect(emulator.world.numbers.size).toBe(1);
  });

  it('omits the body after the headers', async () => {
    await using emulator = await startEmulator();
    emulator.faults.add({ fault: { emptyBody: true } });
    expect(await call(emulator, create)).toMatchObject({ status: 201, text: '' });
  });

  it.each([{ drip: 1 }, { delayMs: 1 }])('returns the complete response in the end: %j', async (fault) => {
    await using emulator = await startEmulator();
    emulator.faults.add({ fault });
    const answer = await call(emulator, create);
    expect(answer.status).toBe(201);
    expect(answer.at('data.number')).toBe('1');
  });

  it('aborts a delayed response when the emulator closes', async () => {
    const emulator = await startEmulator();
    let arrived = (): void => {};
    const arrival = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    emulator.world.onWrite = () => arrived();
    emulator.faults.add({ fault: { delayMs: 3_600_000 } });
    const answer = call(emulator, create).catch(() => 'gone');
    await arrival;
    await emulator.close();
    expect(['gone', 201]).toContain(await answer.then((got) => (typeof got === 'string' ? got : got.status)));
  });

  it('executes no request before its latency is over or after it closes', async () => {
    const emulator = await startEmulator({ behaviour: { latencyMs: 3_600_000 } });
    const answer = call(emulator, create).catch(() => 'gone');
    await expect.poll(() => emulator.requests.length).toBe(1);
    expect(emulator.world.numbers.size).toBe(0);
    await emulator.close();
    expect(await answer).toBe('gone');
    expect(emulator.world.numbers.size).toBe(0);
  });

  it('is taken from the hook first, and then from the planned faults', async () => {
    const fault: Fault = { status: 500 };
    const seen: string[] = [];
    await using emulator = await startEmulator({
      onRequest: ({ method, path, body }) => {
        seen.push(`${method} ${path} ${JSON.stringify(body)}`);
        return seen.length === 1 ? fault : undefined;
      },
    });
    emulator.faults.add({ fault: { status: 418 } });
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await call(emulator, create)).status);
    expect(statuses).toEqual([500, 418, 201]);
    expect(seen[0]).toBe('POST /api/v1/numbers {"number":"1"}');
  });

  it('never affects the dashboard', async () => {
    await using emulator = await startEmulator({ behaviour: { latencyMs: 1 } });
    emulator.faults.add({ fault: { status: 500 } });
    expect((await call(emulator, ['GET', '/__emulator/world'])).status).toBe(200);
    expect(emulator.faults.pending).toHaveLength(1);
    expect(emulator.requests).toEqual([]);
  });
});

describe('a client that disconnects', () => {
  const head = 'Host: x\r\nAuthorization: Bearer x\r\nContent-Type: application/json\r\n';
  const post = (length: number, body: string) =>
    `POST /api/v1/numbers HTTP/1.1\r\n${head}Content-Length: ${length}\r\n\r\n${body}`;
  const whole = JSON.stringify({ number: '1' });

  it.each([
    { reason: 'in the middle of its body', sent: post(50, whole), fault: undefined, kept: 0 },
    { reason: 'in the middle of the response', sent: post(whole.length, whole), fault: { drip: 1 }, kept: 1 },
    { reason: 'before the response', sent: post(whole.length, whole), fault: { delayMs: 1 }, kept: 1 },
  ])('$reason does not affect the emulator', async ({ sent, fault, kept }) => {
    await using emulator = await startEmulator();
    if (fault !== undefined) emulator.faults.add({ fault });
    const socket = connect(emulator.port, '127.0.0.1');
    await once(socket, 'connect');
    await new Promise<void>((resolve) => {
      if (kept === 0) socket.write(sent, () => resolve());
      else {
        emulator.world.onWrite = () => resolve();
        socket.write(sent);
      }
    });
    socket.destroy();
    await once(socket, 'close');
    expect((await call(emulator, ['GET', '/api/v1/numbers'])).at('data')).toHaveLength(kept);
  });
});

describe('the match of a fault', () => {
  const request = { method: 'GET', path: '/api/v1/agents/01A/versions?per_page=5' };
  const cases: readonly { match: PlannedFault['match']; hit: boolean }[] = [
    { match: undefined, hit: true },
    { match: { method: 'get' }, hit: true },
    { match: { method: 'POST' }, hit: false },
    { match: { path: '/api/v1/agents' }, hit: true },
    { match: { path: '/agents' }, hit: false },
    { match: { pattern: '/versions\\?' }, hit: true },
    { match: { pattern: '^/api/v1/agents/[^/]+$' }, hit: false },
    { match: { method: 'GET', path: '/api/v1/agents', pattern: 'numbers' }, hit: false },
  ];

  it.each(cases)('selects with $match: $hit', ({ match, hit }) => {
    const faults = new Faults();
    faults.add({ ...(match === undefined ? {} : { match }), fault: { status: 500 } });
    expect(faults.take(request) !== undefined).toBe(hit);
  });

  it('uses faults in the order in which they were added', () => {
    const faults = new Faults();
    faults.add({ times: 2, fault: { status: 500 } });
    faults.add({ match: { method: 'POST' }, fault: { status: 501 } });
    faults.add({ fault: { status: 502 } });
    const taken = [request, { ...request, method: 'POST' }, request, request].map((one) => faults.take(one));
    expect(taken).toEqual([{ status: 500 }, { status: 500 }, { status: 502 }, undefined]);
    expect(faults.pending).toEqual([{ match: { method: 'POST' }, times: 1, fault: { status: 501 } }]);
    faults.clear();
    expect(faults.pending).toEqual([]);
  });

  it.each([
    { fault: { cut: 'now' } },
    { fault: {} },
    { fault: { status: 500, cut: 'after' } },
    { times: 0, fault: { status: 500 } },
    { match: { pattern: '(' }, fault: { status: 500 } },
  ])('refuses the plan %j', (plan) => {
    expect(() => new Faults().add(plan as PlannedFault)).toThrow();
  });
});
