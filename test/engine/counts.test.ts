import { rename } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { type Files, nodeFiles } from '../../src/files/files.ts';
import { Bench } from './bench.ts';
import { agent, number, ref, webhook } from './resources.ts';

const AT_ONCE = 8;
const agents = Array.from({ length: 3 * AT_ONCE }, (_, index) => agent(`a${index}`, { name: `A ${index}` }));

/** Returns file functions that count syncs and record renames. */
function countedFiles(): { readonly files: Files; readonly syncs: () => number; readonly renamedTo: string[] } {
  let syncs = 0;
  const renamedTo: string[] = [];
  const open: Files['open'] = async (...given) => {
    const handle = await nodeFiles.open(...given);
    const datasync = handle.datasync.bind(handle);
    handle.datasync = () => {
      syncs += 1;
      return datasync();
    };
    return handle;
  };
  const files = {
    ...nodeFiles,
    open,
    rename: (from: string, to: string) => {
      renamedTo.push(to);
      return rename(from, to);
    },
  } as Files;
  return { files, syncs: () => syncs, renamedTo };
}

it('apply sends one request per create and read, and syncs concurrent creates once', async () => {
  const { files, syncs, renamedTo } = countedFiles();
  let started = 0;
  const together = Promise.withResolvers<number>();
  async function onRequest({ method }: { readonly method: string }): Promise<undefined> {
    if (method !== 'POST') return;
    started += 1;
    if (started === AT_ONCE) together.resolve(syncs());
    await together.promise;
  }
  const bench = await Bench.open({}, { files, onRequest });
  const methods = (): Record<string, number> => {
    const counts: Record<string, number> = {};
    for (const { method } of bench.requests()) counts[method] = (counts[method] ?? 0) + 1;
    return counts;
  };

  await bench.apply(agents, { concurrency: AT_ONCE });
  expect(await together.promise, 'syncs before the first POSTs').toBe(1);
  expect(methods()).toEqual({ POST: agents.length });
  expect(syncs(), 'at most an intent and an outcome per create').toBeLessThanOrEqual(2 * agents.length);
  const written = renamedTo.filter((each) => each === bench.statePath);
  expect(written, 'once before the first reference to it, once at the end').toHaveLength(2);

  const before = syncs();
  await bench.apply(agents, { concurrency: AT_ONCE });
  expect(methods()).toEqual({ GET: agents.length });
  expect([syncs(), renamedTo.filter((each) => each === bench.statePath).length]).toEqual([before, written.length]);
});

it('plan reads each record once, and each page of the lists that manifests use', async () => {
  const bench = await Bench.open();
  bench.emulator.dashboard.addKnowledgeBase({ name: 'FAQ' });
  const answering = { llm_config: { knowledge_base_ids: [ref('KnowledgeBase/FAQ')] } };
  const desired = [
    ...agents.slice(0, 5).map(({ name }) => agent(name, answering)),
    ...Array.from({ length: 101 }, (_, index) => number(`n${index}`, { number: `+4930${1000 + index}` })),
    webhook('h'),
  ];
  await bench.plan(desired);
  const reads = bench.requests().length;
  await bench.apply(desired);
  expect(bench.writes).toHaveLength(107);
  expect(bench.requests()).toHaveLength(107 + reads);

  await bench.plan(desired);
  const paths = bench.requests().map(({ method, path }) => `${method} ${path}`);
  expect(paths).toHaveLength(5 + 1 + 2 + 1);
  expect(new Set(paths).size).toBe(paths.length);
  expect(paths.join()).not.toContain('/users');
});
