import { rename } from 'node:fs/promises';
import { expect, it, onTestFinished } from 'vitest';
import { startEmulator } from '../../src/emulator/start.ts';
import { type Files, nodeFiles } from '../../src/files/files.ts';
import { statePath, storeAt } from '../state/temporary-state.ts';
import { agent } from './resources.ts';
import { Workspace } from './workspace.ts';

const AT_ONCE = 8;
const agents = Array.from({ length: 3 * AT_ONCE }, (_, index) => agent(`a${index}`, { name: `A ${index}` }));

/** What is done to the disk. */
function countedFiles(): { readonly files: Files; readonly syncs: () => number; readonly placed: string[] } {
  let syncs = 0;
  const placed: string[] = [];
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
      placed.push(to);
      return rename(from, to);
    },
  } as Files;
  return { files, syncs: () => syncs, placed };
}

it('sends one request for each create and each look, and syncs what begins together once', async () => {
  const { files, syncs, placed } = countedFiles();
  let begun = 0;
  const together = Promise.withResolvers<number>();
  const emulator = await startEmulator({
    seed: 1,
    apiKey: 'the-api-key',
    async onRequest({ method }) {
      if (method !== 'POST') return undefined;
      begun += 1;
      if (begun === AT_ONCE) together.resolve(syncs());
      await together.promise;
      return undefined;
    },
  });
  const path = await statePath();
  const workspace = new Workspace(emulator, storeAt(path, { files }));
  onTestFinished(() => workspace.close());
  const methods = (): Record<string, number> => {
    const counts: Record<string, number> = {};
    for (const { method } of emulator.requests) counts[method] = (counts[method] ?? 0) + 1;
    emulator.clearRequests();
    return counts;
  };

  await workspace.apply(agents, { concurrency: AT_ONCE });
  expect(await together.promise, 'syncs before the first POSTs').toBe(1);
  expect(methods()).toEqual({ POST: agents.length });
  expect(syncs(), 'an intent and an outcome each, at most').toBeLessThanOrEqual(2 * agents.length);
  const written = placed.filter((each) => each === path);
  expect(written, 'once before anything refers to it, once at the end').toHaveLength(2);

  const before = syncs();
  await workspace.apply(agents, { concurrency: AT_ONCE });
  expect(methods()).toEqual({ GET: agents.length });
  expect([syncs(), placed.filter((each) => each === path).length]).toEqual([before, written.length]);
});
