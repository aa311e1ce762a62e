import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { createStateStore } from '../../src/state/backends/object-store/state-store.ts';
import { memoryStore, Shelf } from '../state/backends/memory-backend.ts';
import { Bench, manifest } from './bench.ts';
import { agent, ref, webhook } from './resources.ts';

const agentsNamed = (count: number) =>
  Array.from({ length: count }, (_, index) => agent(`a${index}`, { name: `A ${index}` }));

async function benchOn(gather: number, onWrite?: (shelf: Shelf, method: string) => void): Promise<[Bench, Shelf]> {
  const shelf = new Shelf();
  const bench = await Bench.open(
    {},
    {
      onRequest({ method }) {
        if (method !== 'GET') onWrite?.(shelf, method);
      },
      storeIn: (folder, now) => {
        const timing = { heartbeat: 60_000, takeoverAfter: () => 600_000, gather, poll: 20 };
        const user = { root: folder, host: 'here', user: 'ann', pid: 7, version: '0.0.0', now };
        return createStateStore(memoryStore(folder, now, timing, shelf), user);
      },
    },
  );
  return [bench, shelf];
}

it('apply stores the outcomes of requests with the intents of the next ones', async () => {
  const [bench, shelf] = await benchOn(90);
  await bench.apply(agentsNamed(64), { concurrency: 16, client: bench.connect({ concurrency: 16 }) });
  expect((await bench.state()).resources.size).toBe(64);
  expect(shelf.writes).toBeLessThanOrEqual(64 / 16 + 4);
});

it('apply sends no further requests after an outcome could not be stored', async () => {
  const [bench] = await benchOn(5, (shelf) => {
    shelf.held = { ...shelf.held, revision: 'of somebody else', lock: undefined };
  });
  const { results, halted } = await bench
    .apply(agentsNamed(8), { concurrency: 2 })
    .catch(() => ({ results: new Map(), halted: '' }));
  expect(bench.writes).toHaveLength(2);
  expect(halted).toContain('took the state lock');
  expect([...results.values()].filter(({ status }) => status === 'done')).toEqual([]);
});

it('apply does not send requests whose intent was stored before another run took over, and records this', async () => {
  const [bench, shelf] = await benchOn(5);
  // The run is suspended while its requests wait for the rate limit.
  const wait = vi.fn(async () => {
    bench.time += 600_000;
    shelf.held = { ...shelf.held, revision: 'of somebody else', lock: undefined };
  });
  const client = bench.connect({ requestsPerSecond: 1, wait });
  const { results, halted } = await bench
    .apply(agentsNamed(4), { concurrency: 4, client })
    .catch(() => ({ results: new Map(), halted: '' }));
  expect(wait).toHaveBeenCalled();
  expect(bench.writes.length).toBeLessThan(2);
  expect(halted).toContain('took the state lock');
  const pending = Buffer.from(shelf.held.journal).toString();
  const unsent = pending.split('"creating"').length - 1 - bench.writes.length;
  expect(unsent).toBeGreaterThan(0);
  expect([...results.values()].filter(({ status }) => status === 'done')).toHaveLength(bench.writes.length);
  const folder = join(dirname(bench.statePath), '.voxform', 'rescue');
  const [name = ''] = await readdir(folder);
  expect((await readFile(join(folder, name), 'utf8')).split('"not-done"')).toHaveLength(unsent + 1);
});

it('apply renews an old lock, and then sends the waiting requests', async () => {
  const [bench, shelf] = await benchOn(5);
  const wait = async () => {
    bench.time += 350_000;
  };
  const client = bench.connect({ requestsPerSecond: 1, wait });
  await bench.apply(agentsNamed(3), { concurrency: 3, client });
  expect(bench.writes).toHaveLength(3);
  expect((await bench.state()).resources.size).toBe(3);
  expect(shelf.held.lock).toBeUndefined();
});

it('a rescue file contains no secret', async () => {
  const [bench] = await benchOn(5, (shelf, method) => {
    if (method === 'PUT') shelf.held = { ...shelf.held, revision: 'of somebody else' };
  });
  const spec = (name: string) => manifest('Agent/a', { name, llm_config: { api_key: { $secret: 'KEY' } } });
  await bench.apply([spec('A')]);
  await bench.apply([spec('B')]).catch(() => undefined);
  const folder = join(dirname(bench.statePath), '.voxform', 'rescue');
  const [name = ''] = await readdir(folder);
  const content = await readFile(join(folder, name), 'utf8');
  expect(content).toContain('"llm_config.api_key"');
  expect(content).not.toContain('sk-first-secret');
});

it('apply sends a reference only after the id of its target is stored', async () => {
  const known: number[] = [];
  const [bench] = await benchOn(5, (shelf) =>
    known.push(Buffer.from(shelf.held.journal).toString().split('"saved"').length - 1),
  );
  await bench.apply([webhook('h'), agent('a', { webhook_id: ref('Webhook/h') })], { concurrency: 4 });
  expect(known).toEqual([0, 1]);
});
