import { expect, it, onTestFinished } from 'vitest';
import { JointLimit } from '../../src/platform/joint-limit.ts';
import { listenHttp } from './listen.ts';
import { openTransport } from './open-transport.ts';

const never = new AbortController().signal;

it('grants requests in the order of the clients, and none to clients that left', async () => {
  const limit = new JointLimit(1);
  await limit.take('one', [never]);
  const granted: string[] = [];
  const leaving = new AbortController();
  const left = limit.take('one', [never, leaving.signal]);
  const waiting = ['second', 'third'].map((name) => limit.take('one', [never]).then(() => void granted.push(name)));
  leaving.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  limit.release('one');
  await waiting[0];
  expect(granted).toEqual(['second']);
  limit.release('one');
  await waiting[1];
});

it('leaves half to others if there are several platforms', async () => {
  const limit = new JointLimit(4);
  limit.isMixed = true;
  const granted: string[] = [];
  const all = ['slow', 'slow', 'slow', 'other', 'other'].map((key) =>
    limit.take(key, [never]).then(() => void granted.push(key)),
  );
  await Promise.all([all[0], all[1], all[3], all[4]]);
  expect(granted).toEqual(['slow', 'slow', 'other', 'other']);
  limit.isMixed = false;
  limit.release('other');
  await all[2];
});

it('applies to all transports together', async () => {
  const shared = new JointLimit(5);
  const held: (() => void)[] = [];
  let most = 0;
  const { url, seen } = await listenHttp(({ url: path }, response) => {
    const answer = (): void => void response.setHeader('content-type', 'application/json').end('{}');
    if (path === '/probe') return answer();
    held.push(answer);
    most = Math.max(most, held.length);
    if (held.length < 5 && seen.length < 12) return;
    // Any other concurrent request arrives before the probe gets a response.
    void fetch(`${url}/probe`).then(() => {
      for (const each of held.splice(0)) each();
    });
  });
  const transports = [1, 2, 3].map(() => openTransport({ baseUrl: url, shared }).transport);
  await Promise.all(
    transports.flatMap((transport) =>
      [1, 2, 3, 4].map(() => transport.send({ method: 'GET', path: '/api/v1/agents' })),
    ),
  );
  expect(most).toBe(5);
});

it('reuses connections for reads of successive clients, and never for a write', async () => {
  const connections: string[] = [];
  const { url } = await listenHttp(({ method }, response) => {
    connections.push(`${method} ${response.socket?.remotePort}`);
    response.setHeader('content-type', 'application/json').end('{}');
  });
  const shared = new JointLimit(4);
  onTestFinished(() => shared.close());
  for (const method of ['GET', 'GET', 'POST', 'GET', 'GET', 'GET', 'POST'] as const) {
    const { transport } = openTransport({ baseUrl: url, shared });
    await transport.send({ method, path: '/api/v1/agents' });
    await transport.close();
  }
  const used = (method: string) => connections.filter((each) => each.startsWith(method));
  expect(new Set(used('GET')).size).toBeLessThan(used('GET').length);
  expect(new Set(used('POST')).size).toBe(2);
});
