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

/** Simulates a run of a workspace with one file. */
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

test('keeps some loads if more workspaces run in turn than the cache can hold', async () => {
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
  // The cache holds ten of forty loads, reused in four of the five turns. Few of them are evicted.
  expect(again).toBeGreaterThan(25);
  expect(again).toBeLessThanOrEqual(40);
});

test('evicts loads of workspaces that no longer run', async () => {
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

test('gives two concurrent runs of a workspace a load each', async () => {
  const loads = new LoadCache();
  const first = await run(loads, 'clients:1');
  expect(loads.take('clients:1')).toBe(first);
  expect(loads.take('clients:1')).not.toBe(first);
});

test('does not keep a load that is larger than the cache', async () => {
  const loads = new LoadCache(BYTES - 1);
  const large = await run(loads, 'clients:1');
  expect(loads.take('clients:1')).not.toBe(large);
});

test('does not keep a load whose records are larger than the cache', async () => {
  const loads = new LoadCache(BYTES * 2);
  const load = loads.take('clients:1');
  await read(load);
  load.answers.set('/api/v1/agents/01A', { digest: '', record: { id: '01A', name: 'x'.repeat(BYTES * 2) } });
  loads.store('clients:1', load);
  expect(loads.take('clients:1')).not.toBe(load);
});

test('remembers compared drafts, even of loads that it does not keep', async () => {
  const loads = new LoadCache(BYTES - 1);
  const first = await run(loads, 'clients:1');
  first.comparedDrafts.set('agent', { inputs: 'a', unpublished: ['name'] });
  loads.store('clients:1', first);
  const second = loads.take('clients:1');
  expect(second).not.toBe(first);
  expect(second.comparedDrafts).toBe(first.comparedDrafts);
  expect(loads.take('clients:2').comparedDrafts.size).toBe(0);
});

test('has room for other workspaces after two concurrent runs of one', async () => {
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
