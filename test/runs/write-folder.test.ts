import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { UserError } from '../../src/problems/user-error.ts';
import { writeFolder } from '../../src/runs/export/write-folder.ts';

const LAST = { moveLast: 'voxform.yaml' };
const REPLACE = { ...LAST, replace: true };

async function folder(): Promise<string> {
  const root = await mkdtemp(path.join(tmpdir(), 'voxform-write-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  return root;
}

const FILES = [
  { path: 'voxform.yaml', text: 'version: 1\n' },
  { path: 'manifests/agents/a.yaml', text: 'a\n' },
];

/** Returns all files below a folder, including hidden ones. */
async function tree(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .sort();
}

describe('writeFolder', () => {
  it.each([
    ['a missing folder', 'out', async () => undefined],
    ['a folder in a missing folder', 'a/b/out', async () => undefined],
    ['an empty folder', 'out', (target: string) => mkdir(target)],
  ])('writes into %s', async (_, name, prepare) => {
    const root = await folder();
    const target = path.join(root, name);
    await prepare(target);
    expect(await writeFolder(target, FILES, LAST)).toEqual({ written: FILES.map((file) => file.path), replaced: [] });
    expect(await tree(root)).toEqual([`${name}/manifests/agents/a.yaml`, `${name}/voxform.yaml`]);
    expect(await readFile(path.join(target, 'voxform.yaml'), 'utf8')).toBe('version: 1\n');
  });

  it('explains why a folder cannot be written', async () => {
    const target = path.join(await folder(), 'n'.repeat(250));
    await expect(writeFolder(target, FILES, LAST)).rejects.toThrow(
      `cannot write to the folder ${target}: its name is too long`,
    );
  });

  it.runIf(process.platform === 'linux')('fails for a folder that can never be created', async () => {
    await expect(writeFolder('/proc/voxform', FILES, LAST)).rejects.toThrow('cannot create a folder there');
  });

  it.each([
    ['contains a file', (target: string) => mkdir(target).then(() => writeFile(path.join(target, 'x'), 'mine'))],
    ['contains a hidden folder', (target: string) => mkdir(path.join(target, '.git'), { recursive: true })],
    ['is a file', (target: string) => writeFile(target, 'mine')],
    ['is below a file', (target: string) => writeFile(path.dirname(target), '').catch(() => writeFile(target, ''))],
  ])('refuses a folder that %s, and does not change it', async (_, prepare) => {
    const root = await folder();
    const target = path.join(root, 'out');
    await prepare(target);
    const before = await tree(root);
    await expect(writeFolder(target, FILES, LAST)).rejects.toThrow(UserError);
    expect(await tree(root)).toEqual(before);
  });

  it.each([
    ['new', false],
    ['empty', true],
  ])('leaves no files after a failure in a %s folder', async (_, exists) => {
    const root = await folder();
    const target = path.join(root, 'out');
    if (exists) await mkdir(target);
    const files = function* () {
      yield* FILES;
      throw new Error('no more');
    };
    await expect(writeFolder(target, files(), LAST)).rejects.toThrow('no more');
    expect(await readdir(root)).toEqual(exists ? ['out'] : []);
    if (exists) expect(await readdir(target)).toEqual([]);
  });

  it('never overwrites one of its own files', async () => {
    const root = await folder();
    const target = path.join(root, 'out');
    await expect(writeFolder(target, [...FILES, ...FILES], LAST)).rejects.toThrow(UserError);
    expect(await readdir(root)).toEqual([]);
  });
});

describe('writeFolder with replace', () => {
  it('replaces files of the same names, including links, and keeps the others', async () => {
    const root = await folder();
    const target = path.join(root, 'out');
    await mkdir(path.join(target, 'manifests/agents'), { recursive: true });
    await writeFile(path.join(root, 'elsewhere.yaml'), 'mine');
    await symlink(path.join(root, 'elsewhere.yaml'), path.join(target, 'manifests/agents/a.yaml'));
    await writeFile(path.join(target, 'manifests/agents/b.yaml'), 'mine');
    const { replaced } = await writeFolder(target, FILES, REPLACE);
    expect(replaced).toEqual(['manifests/agents/a.yaml']);
    expect(await tree(target)).toEqual(['manifests/agents/a.yaml', 'manifests/agents/b.yaml', 'voxform.yaml']);
    expect(await readdir(target)).toEqual(['manifests', 'voxform.yaml']);
    expect(await readFile(path.join(target, 'manifests/agents/a.yaml'), 'utf8')).toBe('a\n');
    expect(await readFile(path.join(root, 'elsewhere.yaml'), 'utf8')).toBe('mine');
    const again = await writeFolder(target, FILES, REPLACE);
    expect(again.replaced).toEqual(['manifests/agents/a.yaml', 'voxform.yaml']);
  });

  it.each([
    ['a link in place of a folder', (at: string, root: string) => symlink(root, at), 'agents'],
    ['a file in place of a folder', (at: string) => writeFile(at, 'mine'), 'agents'],
    ['a folder in place of a file', (at: string) => mkdir(at, { recursive: true }), 'agents/a.yaml'],
  ])('changes nothing in a folder with %s', async (_, prepare, at) => {
    const root = await folder();
    const target = path.join(root, 'out');
    await mkdir(path.join(target, 'manifests'), { recursive: true });
    await writeFile(path.join(target, 'voxform.yaml'), 'mine');
    await prepare(path.join(target, 'manifests', at), path.join(root, 'other'));
    const before = await readdir(root, { recursive: true });
    await expect(writeFolder(target, FILES, REPLACE)).rejects.toThrow(UserError);
    expect(await readdir(root, { recursive: true })).toEqual(before);
    expect(await readFile(path.join(target, 'voxform.yaml'), 'utf8')).toBe('mine');
  });
});
