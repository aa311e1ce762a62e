import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/operator/clock.ts';
import { Deliveries } from '../../../src/operator/notifications/deliveries.ts';
import type { RememberedEvents } from '../../../src/operator/notifications/notification-events.ts';
import { notifiedDriftIn } from '../../../src/operator/notifications/notifier.ts';
import { Secret } from '../../../src/values/value.ts';
import { temporaryFolder } from '../../cli/voxform-process.ts';
import { sampleReport } from '../sample-report.ts';
import { drift, failed, notifierTo, receiver } from './receiver.ts';

describe('webhook delivery over real sockets', () => {
  it('retries until the receiver accepts, in order, with the configured header', async () => {
    using hook = await receiver(503, 429, 200);
    const { flush, results, tell } = notifierTo(hook.url);
    tell(drift);
    tell({ ...failed, error: new Error('hunter2') });
    await flush();
    expect(results).toEqual(['delivered', 'delivered']);
    const [first, second, third, fourth] = hook.bodies;
    expect([first?.text, first?.header]).toEqual([second?.text, 'open sesame']);
    expect(JSON.parse(third?.text ?? '')).toMatchObject({ event: 'drift', drifted: 1 });
    expect(JSON.parse(fourth?.text ?? '')).toMatchObject({ event: 'failure', error: '(secret)' });
  });

  it('retries for as long as necessary, and honors Retry-After', async () => {
    const later = new Date(Date.now() + 7_200_000).toUTCString();
    const asking = [[429, { 'retry-after': '40' }], [503, { 'retry-after': later }], ...Array(5).fill(500)] as const;
    using hook = await receiver(...asking, 200);
    await using folder = await temporaryFolder();
    const memory = notifiedDriftIn(folder.root);
    const { flush, results, log, pauses, tell } = notifierTo(hook.url, { memory });
    tell(drift);
    await flush();
    expect([results, hook.bodies.length]).toEqual([['delayed', 'delivered'], 8]);
    expect(pauses).toEqual([40_000, 3_600_000, 2000, 4000, 8000, 16_000, 32_000]);
    expect(log.join()).toContain('status 500 (after 5 attempts)');
    const [address = ''] = drift.drift.map((each) => each.address);
    expect(memory.read(sampleReport().workspace?.id ?? '')).toHaveProperty([address]);
  });

  it('reports a drift once across restarts, and again if the delivery failed', async () => {
    await using folder = await temporaryFolder();
    using hook = await receiver(400, 200);
    for (const report of [drift, drift, drift, {}, {}]) {
      const { flush, tell } = notifierTo(hook.url, { memory: notifiedDriftIn(folder.root) });
      tell(report);
      await flush();
    }
    const texts = hook.bodies.map(({ text }) => (JSON.parse(text) as { readonly text: string }).text);
    const [name, ended] = [
      'voxform staging: drift\nAgent/a: name',
      'voxform staging: drift\nAgent/a: no longer drifted',
    ];
    expect(texts).toEqual([name, name, ended]);
  });

  it('continues from the remembered events of an earlier notifier', async () => {
    using hook = await receiver(200);
    let remembered: RememberedEvents | undefined;
    for (const report of [failed, failed, drift, drift, {}, failed]) {
      const { notifier, flush, tell } = notifierTo(hook.url, { remembered });
      tell(report);
      await flush();
      remembered = JSON.parse(JSON.stringify(notifier.remembered));
    }
    const events = hook.bodies.map(({ text }) => (JSON.parse(text) as { readonly event: string }).event);
    expect(events).toEqual(['failure', 'drift', 'drift', 'failure']);
  });

  it.each([
    ['gives up what is refused for good', [400], 1, /status 400$/],
    ['follows no redirect', [302], 1, /status 302$/],
  ] as const)("%s, and logs only the server's name", async (_, statuses, tries, message) => {
    using hook = await receiver(...statuses);
    const { flush, results, log, tell } = notifierTo(hook.url);
    tell(drift);
    await flush();
    expect([results, hook.bodies.length]).toEqual([['failed'], tries]);
    expect(log.at(-1)).toMatch(message);
    expect(log.join()).not.toContain('s3cretpath');
  });

  const many = Array.from({ length: 2000 }, (_, index) => `Agent/${'a'.repeat(60)}-${index}`);
  it.each([
    ['in a string', { body: '{{resources}} '.repeat(50_000) }],
    ['in a list', { body: Array(50_000).fill('{{resources}}') }],
  ])('refuses a template that would expand to gigabytes, %s', async (_, template) => {
    using hook = await receiver(200);
    const { flush, results, log, tell } = notifierTo(hook.url, { template });
    tell({ drift: many.map((address) => ({ address, fields: ['name'], digest: '1' })) });
    await flush();
    expect([results, hook.bodies]).toEqual([['failed'], []]);
    expect(log.join()).toContain('too large');
  });

  it('drops large messages of a project, but not those of other projects', async () => {
    const deliveries = new Deliveries({ clock: systemClock, random: () => 0 });
    const results: string[] = [];
    const add = (project: string, path: string, mebibytes: number) =>
      deliveries.add({
        project,
        url: new Secret('url', `http://127.0.0.1:1/${path}`),
        shown: 'a receiver',
        header: undefined,
        body: ' '.repeat(mebibytes * 1024 * 1024),
        network: {},
        onResult: (result) => results.push(`${result} ${project}`),
      });
    for (let index = 0; index < 38; index++) add('hostile', String(index), 1);
    expect(results).toEqual(Array(6).fill('dropped hostile'));
    add('other', '0', 16);
    expect(results).toHaveLength(6);
    await deliveries.flush(0);
    expect(results).toContain('failed other');
    expect(results).toHaveLength(39);
  });

  it('delivers for one project while the same receiver fails for the messages of another', async () => {
    const server = createServer((request, response) => {
      request.on('data', (body) => response.writeHead(String(body) === 'malformed' ? 500 : 200).end());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = new Secret('url', `http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const deliveries = new Deliveries({ clock: systemClock, random: () => 0 });
    const add = (project: string, body: string) => {
      const { promise, resolve } = Promise.withResolvers<string>();
      deliveries.add({ project, url, shown: 'a receiver', header: undefined, body, network: {}, onResult: resolve });
      return promise;
    };
    for (let index = 0; index < 32; index++) void add('hostile', 'malformed');
    expect(await add('other', '{}')).toBe('delivered');
    await deliveries.flush(0);
    server.close();
  });

  it('drops messages beyond the queue limit, and ends in time', async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { flush, results, tell } = notifierTo(`http://127.0.0.1:${(silent.address() as AddressInfo).port}/`);
    for (let number = 0; number < 40; number++) tell({ ...failed, error: new Error(String(number)) });
    expect(results).toEqual(Array(8).fill('dropped'));
    await flush(0);
    expect(results.filter((result) => result === 'failed')).toHaveLength(32);
    silent.closeAllConnections();
    silent.close();
  });
});
