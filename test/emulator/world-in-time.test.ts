import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadWorldData } from '../../src/emulator/data-file.ts';
import { mergePatch } from '../../src/emulator/emulated.ts';
import { IdsAndClock } from '../../src/emulator/ids-and-clock.ts';
import { DEFAULT_WORKSPACE_ID, type EmulatorOptions, startEmulator } from '../../src/emulator/start-emulator.ts';
import { UserError } from '../../src/problems/user-error.ts';
import { call, newAgent } from './call.ts';

const KEY = 'sk-a-provider-key-0123456789';

/** Makes some writes of every type; returns the world and the text of all responses. */
async function play(options: EmulatorOptions) {
  await using emulator = await startEmulator(options);
  const id = await newAgent(emulator, { name: 'A', llm_config: { api_key: KEY } });
  const texts = [
    await call(emulator, ['PUT', `/api/v1/agents/${id}`, { name: 'B', llm_config: { model: 'm', api_key: KEY } }]),
    await call(emulator, ['POST', '/api/v1/numbers', { number: '1' }]),
    await call(emulator, ['POST', '/api/v1/webhooks', { url: 'https://example.com' }]),
  ].map(({ text }) => text);
  emulator.dashboard.publishAgent(id);
  emulator.dashboard.inviteUser({ email: 'ada@example.com' });
  emulator.dashboard.addKnowledgeBase({ name: 'FAQ' });
  emulator.dashboard.recordCall({ agent_id: id });
  emulator.dashboard.addInvoice();
  emulator.dashboard.addApiKey({ name: 'ci' });
  return { data: emulator.world.toData(), texts, requests: emulator.requests };
}

describe('a seed', () => {
  it('makes two runs equal, and other seeds differ', async () => {
    const [first, second, other] = [await play({ seed: 5 }), await play({ seed: 5 }), await play({ seed: 6 })];
    expect(second).toEqual(first);
    expect(other.data.records.agents[0]?.id).not.toBe(first.data.records.agents[0]?.id);
  });

  it('advances the clock one second per write, but not on reads', async () => {
    await using emulator = await startEmulator({ seed: 1 });
    const id = await newAgent(emulator);
    await call(emulator, ['GET', `/api/v1/agents/${id}`]);
    const updated = await call(emulator, ['PUT', `/api/v1/agents/${id}`, {}]);
    expect([updated.at('data.created_at'), updated.at('data.updated_at')]).toEqual([
      '2026-01-01T00:00:01+00:00',
      '2026-01-01T00:00:02+00:00',
    ]);
  });

  it.each([undefined, 1])('creates unique ids in ascending order (seed %s)', (seed) => {
    const sequence = new IdsAndClock(seed);
    const ids = Array.from({ length: 1000 }, () => sequence.newId());
    expect(new Set(ids).size).toBe(1000);
    expect([...ids].sort()).toEqual(ids);
    for (const id of [...ids, DEFAULT_WORKSPACE_ID]) expect(id).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/);
  });

  it('is optional: two runs without one differ', async () => {
    const [first, second] = [await play({}), await play({})];
    expect(second.data.records.agents[0]?.id).not.toBe(first.data.records.agents[0]?.id);
  });
});

describe('a data file', () => {
  let folder: string;
  let path: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'emulator-'));
    path = join(folder, 'world.json');
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('restores the same world and continues the sequence', async () => {
    const { data } = await play({ seed: 5, dataFile: path });
    await using emulator = await startEmulator({ seed: 5, dataFile: path });
    expect(emulator.world.toData()).toEqual(data);
    const id = await newAgent(emulator);
    expect(data.records.agents.map((agent) => agent.id)).not.toContain(id);
    expect(emulator.world.agents.get(id)?.created_at).toBe('2026-01-01T00:00:11+00:00');
    const [first] = data.records.agents;
    expect(emulator.dashboard.holdsApiKey(String(first?.id), KEY)).toBe(true);
  });

  it('is private to its owner, contains no provider key, and is the only file', async () => {
    const { data, texts, requests } = await play({ dataFile: path });
    expect(await readdir(folder)).toEqual(['world.json']);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(JSON.stringify([await readFile(path, 'utf8'), data, texts, requests])).not.toContain(KEY);
  });

  it('is written while the emulator runs', async () => {
    await using emulator = await startEmulator({ dataFile: path });
    const id = await newAgent(emulator);
    const storedIds = async () => (await loadWorldData(path))?.records.agents.map((agent) => agent.id);
    await expect.poll(storedIds).toEqual([id]);
  });

  it('is reported at startup if it cannot be written', async () => {
    const dataFile = join(folder, 'nowhere', 'world.json');
    await expect(startEmulator({ dataFile })).rejects.toMatchObject({
      message: expect.stringMatching(/nowhere\/world\.json: the folder does not exist$/),
      hint: expect.stringContaining('--data'),
    });
  });

  it('is reported on close if it can no longer be written', async () => {
    const inner = join(folder, 'inner');
    await mkdir(inner);
    const emulator = await startEmulator({ dataFile: join(inner, 'world.json') });
    await rm(inner, { recursive: true });
    await newAgent(emulator);
    await expect(emulator.close()).rejects.toThrow(UserError);
  });

  it.each([
    ['{"format_version":1', 'a truncated file'],
    ['[]', 'another shape'],
    ['{"format_version":2}', 'another format'],
    ['{"format_version":3}', 'a newer format'],
    ['', 'an empty file'],
  ])('is refused with %j and left unchanged: %s', async (text) => {
    await writeFile(path, text);
    await expect(startEmulator({ dataFile: path })).rejects.toMatchObject({
      message: expect.stringMatching(/ is not an emulator data file: \w/),
      hint: expect.any(String),
    });
    expect(await readFile(path, 'utf8')).toBe(text);
  });

  it('is refused if it is a folder, with a hint to the flag', async () => {
    await expect(startEmulator({ dataFile: folder })).rejects.toMatchObject({
      message: expect.stringMatching(/cannot read the emulator data file .*: EISDIR/),
      hint: expect.stringContaining('--data'),
    });
  });

  it('is refused if it belongs to another workspace', async () => {
    await play({ dataFile: path, workspaceId: 'ONE' });
    await expect(startEmulator({ dataFile: path, workspaceId: 'TWO' })).rejects.toThrow(/belongs to workspace ONE/);
    await using emulator = await startEmulator({ dataFile: path });
    expect(emulator.workspaceId).toBe('ONE');
  });
});

describe('startEmulator', () => {
  it('reports a port in use', async () => {
    await using emulator = await startEmulator();
    await expect(startEmulator({ port: emulator.port })).rejects.toThrow(UserError);
  });

  it('uses the given workspace id, or a default one', async () => {
    await using told = await startEmulator({ workspaceId: 'MINE' });
    await using own = await startEmulator();
    expect([told.workspaceId, own.workspaceId]).toEqual(['MINE', DEFAULT_WORKSPACE_ID]);
    expect((await call(told, ['GET', '/api/v1/workspaces/MINE/users'])).status).toBe(200);
  });
});

describe('mergePatch', () => {
  it.each([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b', b: 1 }, { a: null }, { b: 1 }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 1 }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    [{ a: 1 }, { a: undefined }, { a: 1 }],
  ])('returns for %j and %j the result %j', (value, patch, result) => {
    const before = JSON.stringify(value);
    expect(mergePatch(value, patch)).toEqual(result);
    expect(JSON.stringify(value)).toBe(before);
  });
});
