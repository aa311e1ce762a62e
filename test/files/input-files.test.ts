import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { entriesOf, FileReads, linkTarget, realPathOf, statusOf, withOpen } from '../../src/files/input-files.ts';
import { attempt } from '../../src/problems/attempt.ts';

/** So far ahead that every file has been as it is for long. */
const later = (): number => Date.now() + 60_000;

const move = (from: string, to: string) => (folder: string) =>
  renameSync(path.join(folder, from), path.join(folder, to));

it.each<{ reason: string; look: (folder: string) => unknown; change: (folder: string) => void }>([
  {
    reason: 'a file that was opened is another one',
    look: (folder) => withOpen(path.join(folder, 'file'), () => undefined),
    change: move('other', 'file'),
  },
  {
    reason: 'a file that was missing is there',
    look: (folder) => attempt(() => withOpen(path.join(folder, 'missing'), () => undefined)),
    change: move('other', 'missing'),
  },
  {
    reason: 'a file that was there is missing',
    look: (folder) => statusOf(path.join(folder, 'file')),
    change: move('file', 'moved'),
  },
  {
    reason: 'a folder has another entry',
    look: (folder) => entriesOf(path.join(folder, 'folder')),
    change: move('file', 'folder/file'),
  },
  {
    reason: 'a link leads to the same file by another way',
    look: (folder) => realPathOf(path.join(folder, 'link')),
    change: (folder) => {
      renameSync(path.join(folder, 'file'), path.join(folder, 'folder/file'));
      rmSync(path.join(folder, 'link'));
      symlinkSync('folder/file', path.join(folder, 'link'));
    },
  },
  {
    reason: 'what had no real path has one',
    look: (folder) => attempt(() => realPathOf(path.join(folder, 'missing'))),
    change: move('other', 'missing'),
  },
  {
    reason: 'a link that leads to nothing leads elsewhere',
    look: (folder) => linkTarget(path.join(folder, 'dangling')),
    change: (folder) => {
      rmSync(path.join(folder, 'dangling'));
      symlinkSync('nowhere-else', path.join(folder, 'dangling'));
    },
  },
])('notices that $reason', async ({ look, change }) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'voxform-seen-'));
  for (const file of ['file', 'other']) writeFileSync(path.join(folder, file), file);
  mkdirSync(path.join(folder, 'folder'));
  symlinkSync('file', path.join(folder, 'link'));
  symlinkSync('nowhere', path.join(folder, 'dangling'));
  const seen = new FileReads(later);
  const recent = new FileReads();
  await seen.during(async () => look(folder));
  await recent.during(async () => entriesOf(folder));
  expect([seen.isUnchanged(), recent.isUnchanged()]).toEqual([true, false]);
  change(folder);
  expect(seen.isUnchanged()).toBe(false);
  rmSync(folder, { recursive: true });
});

it('notes nothing outside of the work', async () => {
  const seen = new FileReads(later);
  await seen.during(async () => undefined);
  entriesOf(tmpdir());
  expect(seen.isUnchanged()).toBe(true);
});
