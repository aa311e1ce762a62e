import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { entriesOf, FileReads, linkTarget, realPathOf, statusOf, withOpen } from '../../src/files/input-files.ts';
import { attempt } from '../../src/problems/attempt.ts';

/** Far enough in the future that all files are old. */
const later = (): number => Date.now() + 60_000;

const move = (from: string, to: string) => (folder: string) =>
  renameSync(path.join(folder, from), path.join(folder, to));

it.each<{ reason: string; look: (folder: string) => unknown; change: (folder: string) => void }>([
  {
    reason: 'an opened file was replaced',
    look: (folder) => withOpen(path.join(folder, 'file'), () => undefined),
    change: move('other', 'file'),
  },
  {
    reason: 'a missing file was created',
    look: (folder) => attempt(() => withOpen(path.join(folder, 'missing'), () => undefined)),
    change: move('other', 'missing'),
  },
  {
    reason: 'a file was removed',
    look: (folder) => statusOf(path.join(folder, 'file')),
    change: move('file', 'moved'),
  },
  {
    reason: 'a folder has a new entry',
    look: (folder) => entriesOf(path.join(folder, 'folder')),
    change: move('file', 'folder/file'),
  },
  {
    reason: 'a link reaches the same file by another path',
    look: (folder) => realPathOf(path.join(folder, 'link')),
    change: (folder) => {
      renameSync(path.join(folder, 'file'), path.join(folder, 'folder/file'));
      rmSync(path.join(folder, 'link'));
      symlinkSync('folder/file', path.join(folder, 'link'));
    },
  },
  {
    reason: 'a missing path was created',
    look: (folder) => attempt(() => realPathOf(path.join(folder, 'missing'))),
    change: move('other', 'missing'),
  },
  {
    reason: 'a dangling link has another target',
    look: (folder) => linkTarget(path.join(folder, 'dangling')),
    change: (folder) => {
      rmSync(path.join(folder, 'dangling'));
      symlinkSync('nowhere-else', path.join(folder, 'dangling'));
    },
  },
])('FileReads notices that $reason', async ({ look, change }) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'voxform-seen-'));
  for (const file of ['file', 'other']) writeFileSync(path.join(folder, file), file);
  mkdirSync(path.join(folder, 'folder'));
  symlinkSync('file', path.join(folder, 'link'));
  symlinkSync('nowhere', path.join(folder, 'dangling'));
  const reads = new FileReads(later);
  const recent = new FileReads();
  await reads.during(async () => look(folder));
  await recent.during(async () => entriesOf(folder));
  expect([reads.isUnchanged(), recent.isUnchanged()]).toEqual([true, false]);
  change(folder);
  expect(reads.isUnchanged()).toBe(false);
  rmSync(folder, { recursive: true });
});

it('FileReads ignores files that are read outside the work', async () => {
  const reads = new FileReads(later);
  await reads.during(async () => undefined);
  entriesOf(tmpdir());
  expect(reads.isUnchanged()).toBe(true);
});
