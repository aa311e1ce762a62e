import { readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { makeFolders } from '../../src/files/files.ts';
import { statePath } from '../state/temporary-state.ts';

const scratch = async (): Promise<string> => dirname(dirname(await statePath()));

it('makeFolders creates missing folders with the given mode, and keeps existing ones', async () => {
  const root = await scratch();
  await makeFolders(join(root, 'a', 'b', 'c'), { mode: 0o700 });
  await makeFolders(join(root, 'a', 'b'), { mode: 0o755 });
  const modes = await Promise.all(['a', 'a/b', 'a/b/c'].map((name) => stat(join(root, name))));
  expect(modes.map(({ mode }) => (mode & 0o777).toString(8))).toEqual(['700', '700', '700']);
});

it('makeFolders accepts a link to a folder', async () => {
  const root = await scratch();
  await makeFolders(join(root, 'real'));
  await symlink('real', join(root, 'link'));
  await makeFolders(join(root, 'link', 'inside'));
  expect((await stat(join(root, 'real', 'inside'))).isDirectory()).toBe(true);
});

it('makeFolders creates folders of concurrent callers below missing parents', async () => {
  const root = await scratch();
  for (let round = 0; round < 50; round++) {
    const folders = Array.from({ length: 16 }, (_, index) => join(root, `parent-${round}`, 'a', 'b', String(index)));
    await Promise.all(folders.map((folder) => makeFolders(folder)));
    expect((await readdir(dirname(folders[0] ?? ''))).length).toBe(16);
  }
});

it.each([
  ['file/x', 'ENOTDIR', 'a parent is a file'],
  ['file', 'EEXIST', 'the path is a file'],
  ['dangling/x', 'EEXIST', 'a parent is a dangling link'],
])('makeFolders rejects %s with %s: %s', async (name, code) => {
  const root = await scratch();
  await writeFile(join(root, 'file'), '');
  await symlink('nowhere', join(root, 'dangling'));
  await expect(makeFolders(join(root, name))).rejects.toMatchObject({ code });
});

it.runIf(process.platform === 'linux').each(['/proc/voxform', '/proc/voxform/a/b'])(
  'makeFolders rejects %s, which cannot be created',
  async (folder) => {
    await expect(makeFolders(folder)).rejects.toMatchObject({ code: 'ENOENT' });
  },
);
