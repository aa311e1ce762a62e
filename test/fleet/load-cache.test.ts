import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withOpen } from '../../src/files/input-files.ts';
import { LoadCache } from '../../src/fleet/load-cache.ts';
import { SecretReader } from '../../src/manifests/secret-reader.ts';
import type { LastLoad, LoadedFiles } from '../../src/operator/last-load.ts';

const BYTES = 1000;
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'load-cache-'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A run of a workspace with one file. */
async function run(loads: LoadCache, address: string): Promise<LastLoad> {
  const load = loads.take(address);
  await read(load);
  loads.store(address, load);
  return load;
}

async function read(load: LastLoad): Promise<void> {
  await load.load('key', async () => {
    const file = path.join(folder, 'manifest.yaml');
    writeFileSync(file, 'x'.repeat(BYTES));
    withOpen(file, () => undefined);
    return { workspace: { secrets: new SecretReader([]) } } as unknown as LoadedFiles;
  });
}

test('keeps loads where there are more workspaces than room, though they run in turn', async () => {
  const loads = new LoadCache(BYTES * 10);
  const last = new Map<string, LastLoad>();
  let again = 0;
  for (let turn = 0; turn < 5; turn++) {
    for (let workspace = 0; workspace < 40; workspace++) {
      const address = `clients:${workspace}`;
      const load = await run(loads, address);
      if (load === last.get(address)) again++;
      last.set(address, load);
    }
  }
  // Ten of forty have room, in four of the five turns; few of them gave way to others.
  expect(again).toBeGreaterThan(25);
  expect(again).toBeLessThanOrEqual(40);
});

test('lets those that no longer run give way', async () => {
  const loads = new LoadCache(BYTES * 2);
  for (const address of ['gone:1', 'gone:2']) await run(loads, address);
  let again = 0;
  for (let turn = 0; turn < 100; turn++) {
    const before = loads.take('clients:1');
    loads.store('clients:1', before);
    if ((await run(loads, 'clients:1')) === before && before.bytes > 0) again++;
  }
  expect(again).toBeGreaterThan(50);
});

test('gives two runs of a workspace at a time a load each', async () => {
  const loads = new LoadCache();
  const first = await run(loads, 'clients:1');
  expect(loads.take('clients:1')).toBe(first);
  expect(loads.take('clients:1')).not.toBe(first);
});

test('keeps the others where one is larger than all the room', async () => {
  const loads = new LoadCache(BYTES - 1);
  const large = await run(loads, 'clients:1');
  expect(loads.take('clients:1')).not.toBe(large);
});

test('remembers the drafts that were compared, also of loads that it does not keep', async () => {
  const loads = new LoadCache(BYTES - 1);
  const first = await run(loads, 'clients:1');
  first.comparedDrafts.set('agent', { inputs: 'a', unpublished: ['name'] });
  loads.store('clients:1', first);
  const second = loads.take('clients:1');
  expect(second).not.toBe(first);
  expect(second.comparedDrafts).toBe(first.comparedDrafts);
  expect(loads.take('clients:2').comparedDrafts.size).toBe(0);
});

test('has room for others after two runs of one workspace at a time', async () => {
  const loads = new LoadCache(BYTES * 2);
  for (let turn = 0; turn < 5; turn++) {
    const [one, other] = [loads.take('clients:1'), loads.take('clients:1')];
    for (const load of [one, other]) {
      await read(load);
      loads.store('clients:1', load);
    }
  }
  const second = await run(loads, 'clients:2');
  expect(loads.take('clients:2')).toBe(second);
});
