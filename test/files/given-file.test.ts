import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { readGivenFile } from '../../src/files/given-file.ts';
import { temporaryFolder } from '../cli/voxform-process.ts';

describe('a file that a user names', () => {
  it('may be a file', async () => {
    await using folder = await temporaryFolder();
    const file = path.join(folder.root, 'a');
    await writeFile(file, 'text');
    expect((await readGivenFile(file)).toString()).toBe('text');
  });

  it('may be a pipe that a process writes to, now or later', async () => {
    await using folder = await temporaryFolder();
    const pipe = path.join(folder.root, 'pipe');
    execFileSync('mkfifo', [pipe]);
    // Opening for reading and writing does not wait for a reader.
    const held = await open(pipe, 'r+');
    const waiting = readGivenFile(pipe);
    const writer = spawn('sh', ['-c', 'head -c 200000 /dev/zero > "$0"', pipe]);
    await once(writer, 'close');
    await held.close();
    expect(await waiting).toHaveLength(200_000);
  });

  it.each([
    { reason: 'a pipe without a writer', code: 'EPIPE', make: (file: string) => execFileSync('mkfifo', [file]) },
    { reason: 'a folder', code: 'EISDIR', make: (file: string) => execFileSync('mkdir', [file]) },
    {
      reason: 'an endless device',
      code: 'ENXIO',
      make: (file: string) => execFileSync('ln', ['-s', '/dev/zero', file]),
    },
    {
      reason: 'a huge file',
      code: 'EFBIG',
      make: async (file: string) => {
        await writeFile(file, '');
        await truncate(file, 2 ** 32);
      },
    },
  ])('is refused if it is $reason', async ({ code, make }) => {
    await using folder = await temporaryFolder();
    const file = path.join(folder.root, 'a');
    await make(file);
    await expect(readGivenFile(file)).rejects.toMatchObject({ code });
  });
});
