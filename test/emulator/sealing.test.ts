import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openKey } from '../../src/emulator/sealing.ts';
import { type Emulator, startEmulator } from '../../src/emulator/start.ts';
import { UserError } from '../../src/problems/user-error.ts';
import { call } from './call.ts';

const PAYLOAD = 'kept-as-it-was-sent-9f3a';

let folder: string;
let dataFile: string;
let keyFile: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'voxform-sealing-'));
  dataFile = path.join(folder, 'world.json');
  keyFile = `${dataFile}.key`;
});
afterEach(() => rm(folder, { recursive: true }));

async function newHook(emulator: Emulator): Promise<void> {
  await call(emulator, [
    'POST',
    '/api/v1/webhooks',
    { url: 'https://example.com', payload: { auth: PAYLOAD } },
  ]);
}

async function filled(): Promise<void> {
  await using emulator = await startEmulator({ dataFile });
  await newHook(emulator);
}

async function payloads(): Promise<unknown[]> {
  await using emulator = await startEmulator({ dataFile });
  return [...emulator.world.webhooks.values()].map((hook) => hook.payload);
}

async function everyByte(): Promise<Record<string, string>> {
  const names = (await readdir(folder)).sort();
  const bytes = await Promise.all(names.map((name) => readFile(path.join(folder, name), 'latin1')));
  return Object.fromEntries(names.map((name, index) => [name, bytes[index] ?? '']));
}

describe('a sealed data file', () => {
  it('is not made in a folder that is not there', async () => {
    const missing = path.join(folder, 'no', 'world.json');
    await expect(startEmulator({ dataFile: missing })).rejects.toMatchObject({
      message: expect.stringMatching(/no\/world\.json\.key: no such folder$/),
      hint: expect.stringContaining('--data'),
    });
  });

  it('brings everything back and holds nothing of it that can be read', async () => {
    await filled();
    expect(await payloads()).toEqual([{ auth: PAYLOAD }]);
    const text = JSON.stringify(await everyByte());
    expect(text).not.toContain(PAYLOAD);
    expect(text).not.toContain('example.com');
  });

  it('has a key of its own, which stays and which only its owner can read', async () => {
    await filled();
    const first = await readFile(keyFile, 'utf8');
    await filled();
    expect(await readFile(keyFile, 'utf8')).toBe(first);
    expect((await stat(keyFile)).mode & 0o777).toBe(0o600);
    expect(Object.keys(await everyByte())).toEqual(['world.json', 'world.json.key']);
    await rm(dataFile);
    await rm(keyFile);
    await filled();
    expect(await readFile(keyFile, 'utf8')).not.toBe(first);
  });

  it('looks different each time', async () => {
    await filled();
    const before = await readFile(dataFile, 'utf8');
    await payloads();
    expect(await readFile(dataFile, 'utf8')).not.toBe(before);
  });

  it('is made of a plain one, as it was once written, and nothing of that stays', async () => {
    const data = await worldData();
    await writeFile(dataFile, JSON.stringify({ format_version: 1, ...data }, null, 1));
    expect(await payloads()).toEqual([{ auth: PAYLOAD }]);
    expect(JSON.stringify(await everyByte())).not.toContain(PAYLOAD);
  });

  it('has one key, however many emulators start on it at once', async () => {
    const keys = await Promise.all(Array.from({ length: 8 }, () => openKey(dataFile)));
    expect(new Set(keys.map((key) => key.toString('hex'))).size).toBe(1);
    expect(Object.keys(await everyByte())).toEqual(['world.json.key']);
  });
});

async function worldData() {
  await using emulator = await startEmulator();
  await newHook(emulator);
  return emulator.world.toData();
}

const sealedWith = (change: (sealed: Record<string, string>) => unknown) => async () => {
  const sealed = JSON.parse(await readFile(dataFile, 'utf8')) as Record<string, string>;
  await writeFile(dataFile, JSON.stringify(change(sealed)));
};

function flipped(base64: string): string {
  const bytes = Buffer.from(base64, 'base64');
  bytes[0] = (bytes[0] ?? 0) ^ 1;
  return bytes.toString('base64');
}

describe('a data file whose seal cannot be opened is refused and left as it is', () => {
  it.each([
    { reason: 'the key is gone', spoil: () => rm(keyFile), says: /the key of .* is missing/ },
    {
      reason: 'it is another key',
      spoil: () => writeFile(keyFile, `${Buffer.alloc(32, 7).toString('base64')}\n`),
      says: /sealed with another key/,
    },
    {
      reason: 'the key is cut off',
      spoil: async () => writeFile(keyFile, (await readFile(keyFile, 'utf8')).slice(0, 20)),
      says: /is not the key/,
    },
    { reason: 'the key is empty', spoil: () => writeFile(keyFile, ''), says: /is not the key/ },
    {
      reason: 'one bit of the content was changed',
      spoil: sealedWith((sealed) => ({ ...sealed, content: flipped(sealed.content ?? '') })),
      says: /its signature does not match/,
    },
    {
      reason: 'the content was cut off',
      spoil: sealedWith((sealed) => ({ ...sealed, content: sealed.content?.slice(0, 400) })),
      says: /its signature does not match/,
    },
    {
      reason: 'the tag was changed',
      spoil: sealedWith((sealed) => ({ ...sealed, tag: flipped(sealed.tag ?? '') })),
      says: /its signature does not match/,
    },
    {
      reason: 'the tag was cut off',
      spoil: sealedWith((sealed) => ({ ...sealed, tag: Buffer.alloc(4).toString('base64') })),
      says: /its signature does not match/,
    },
    {
      reason: 'the nonce was changed',
      spoil: sealedWith((sealed) => ({ ...sealed, nonce: flipped(sealed.nonce ?? '') })),
      says: /its signature does not match/,
    },
    {
      reason: 'the nonce is missing',
      spoil: sealedWith(({ nonce: _, ...sealed }) => sealed),
      says: /nonce/,
    },
    {
      reason: 'the nonce is empty',
      spoil: sealedWith((sealed) => ({ ...sealed, nonce: '' })),
      says: /its signature does not match/,
    },
  ])('$reason', async ({ spoil, says }) => {
    await filled();
    await spoil();
    const before = await everyByte();
    const error = await startEmulator({ dataFile }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UserError);
    expect((error as UserError).message).toMatch(says);
    expect((error as UserError).hint).toMatch(/to start with an empty workspace\.$/);
    expect(await everyByte()).toEqual(before);
  });
});
