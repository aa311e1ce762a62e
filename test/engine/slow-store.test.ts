import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { createRemoteStore } from '../../src/state/backends/remote/remote-store.ts';
import { memoryPlace, Shelf } from '../state/backends/memory-backend.ts';
import { Bench, manifest } from './bench.ts';
import { agent, ref, webhook } from './resources.ts';

const agentsNamed = (count: number) =>
  Array.from({ length: count }, (_, index) => agent(`a${index}`, { name: `A ${index}` }));

async function benchOn(gather: number, onPost?: (shelf: Shelf) => void): Promise<[Bench, Shelf]> {
  const shelf = new Shelf();
  const w = await Bench.open(
    {},
    {
      onRequest({ method }) {
        if (method === 'POST') onPost?.(shelf);
      },
      storeIn: (folder, now) => {
        const timing = { beat: 60_000, patience: 600_000, gather, poll: 20 };
        const place = memoryPlace(folder, now, timing, shelf);
        return createRemoteStore({
          place,
          user: { root: folder, host: 'here', user: 'ann', pid: 7, version: '0.0.0', now },
        });
      },
    },
  );
  return [w, shelf];
}

it('stores the outcomes of what was sent with the intents of what is sent next', async () => {
  const [w, shelf] = await benchOn(90);
  await w.apply(agentsNamed(64), { concurrency: 16, client: w.connect({ concurrency: 16 }) });
  expect((await w.state()).resources.size).toBe(64);
  expect(shelf.writes).toBeLessThanOrEqual(64 / 16 + 4);
});

it('sends nothing more once an outcome could not be stored', async () => {
  const [w] = await benchOn(5, (shelf) => {
    shelf.held = { ...shelf.held, revision: 'of somebody else', lock: undefined };
  });
  const { results, halted } = await w
    .apply(agentsNamed(8), { concurrency: 2 })
    .catch(() => ({ results: new Map(), halted: '' }));
  expect(w.writes).toHaveLength(2);
  expect(halted).toContain('took the state lock');
  expect([...results.values()].filter(({ status }) => status === 'done')).toEqual([]);
});

it('keeps no secret with the ids that could not be stored', async () => {
  const [w] = await benchOn(5, (shelf) => {
    shelf.held = { ...shelf.held, revision: 'of somebody else' };
  });
  const spec = { name: 'A', llm_config: { api_key: { $secret: 'KEY' } } };
  await w.apply([manifest('Agent/a', spec)]).catch(() => undefined);
  const folder = join(dirname(w.statePath), '.voxform', 'rescue');
  const [name = ''] = await readdir(folder);
  const kept = await readFile(join(folder, name), 'utf8');
  expect(kept).toContain('"llm_config.api_key"');
  expect(kept).not.toContain('sk-first-secret');
});

it('sends what refers to a record only once its id is stored', async () => {
  const known: number[] = [];
  const [w] = await benchOn(5, (shelf) =>
    known.push(Buffer.from(shelf.held.journal).toString().split('"saved"').length - 1),
  );
  await w.apply([webhook('h'), agent('a', { webhook_id: ref('Webhook/h') })], { concurrency: 4 });
  expect(known).toEqual([0, 1]);
});
