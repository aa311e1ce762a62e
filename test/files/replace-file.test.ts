import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { draftPathFor, removeDrafts, replaceFile } from '../../src/files/replace-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'voxform-drafts-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const DRAFTS = path.join(import.meta.dirname, '../../src/files/replace-file.ts');

/** Creates a draft of each type for `a.yaml`, and kills itself. */
const VICTIM = `
const { draftPathFor, writeDraftFor } = await import(${JSON.stringify(DRAFTS)});
const { mkdirSync } = await import('node:fs');
await writeDraftFor(process.argv[1], 'a');
mkdirSync(draftPathFor(process.argv[1], 'folder') + '/b', { recursive: true });
process.kill(process.pid, 'SIGKILL');
`;

async function leaveDrafts(): Promise<string[]> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', VICTIM, path.join(folder, 'a.yaml')]);
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
  return readdirSync(folder).sort();
}

it('removeDrafts removes the drafts of a killed process, separately by type, and only for the named files', async () => {
  const [file, inFolder] = await leaveDrafts();
  expect([file, inFolder]).toEqual([
    expect.stringMatching(/^\.a\.yaml\.[\da-f]{8}\.tmp$/),
    expect.stringMatching(/^\.a\.yaml\.voxform-export-[\da-f]{8}$/),
  ]);
  await removeDrafts([path.join(folder, 'b.yaml')]);
  await removeDrafts([path.join(folder, 'b.yaml')], 'folder');
  expect(readdirSync(folder)).toHaveLength(2);
  await removeDrafts([path.join(folder, 'a.yaml')]);
  expect(readdirSync(folder)).toEqual([inFolder]);
  await removeDrafts([path.join(folder, 'a.yaml')], 'folder');
  expect(readdirSync(folder)).toEqual([]);
});

it('removeDrafts keeps the draft of a running process for a minute', async () => {
  const target = path.join(folder, 'a.yaml');
  const draft = draftPathFor(target);
  writeFileSync(draft, '');
  await removeDrafts([target]);
  expect(readdirSync(folder)).toEqual([path.basename(draft)]);
  const then = new Date(Date.now() - 61_000);
  utimesSync(draft, then, then);
  await removeDrafts([target]);
  expect(readdirSync(folder)).toEqual([]);
});

it('removeDrafts ignores files of the user, and a missing folder', async () => {
  const names = [
    'a.yaml',
    '.a.yaml.tmp',
    '.a.yaml.ffffff.tmp',
    '.a.yaml.FFFFFFFF.tmp',
    '.a.yaml.ffffffff.tmp~',
    'a.yaml.ffffffff.tmp',
    '.xa.yaml.ffffffff.tmp',
    '.a.yamlx.ffffffff.tmp',
  ];
  for (const name of names) writeFileSync(path.join(folder, name), '');
  mkdirSync(path.join(folder, '.a.yaml.fffffffe.tmp'));
  symlinkSync('a.yaml', path.join(folder, '.a.yaml.fffffffd.tmp'));
  const listed = readdirSync(folder);
  await removeDrafts([path.join(folder, 'a.yaml'), path.join(folder, 'none', 'a.yaml')]);
  expect(readdirSync(folder)).toEqual(listed);
});

it('replaceFile writes a file with the given mode, from a string or from parts', async () => {
  const target = path.join(folder, 'a.yaml');
  await replaceFile(target, 'one');
  expect([readFileSync(target, 'utf8'), statSync(target).mode & 0o777]).toEqual(['one', 0o600]);
  await replaceFile(target, [Buffer.from('tw'), Buffer.from('o')], { mode: 0o640 });
  expect([readFileSync(target, 'utf8'), statSync(target).mode & 0o777]).toEqual(['two', 0o640]);
  expect(readdirSync(folder)).toEqual(['a.yaml']);
});

it('replaceFile leaves no draft if the file cannot be replaced', async () => {
  const target = path.join(folder, 'a.yaml');
  mkdirSync(path.join(target, 'inside'), { recursive: true });
  await expect(replaceFile(target, 'text')).rejects.toThrow();
  expect(readdirSync(folder)).toEqual(['a.yaml']);
});

it('replaceFile writes to a given draft name without following a link of that name', async () => {
  const [target, draft, other] = [
    path.join(folder, 'a.yaml'),
    path.join(folder, 'a.yaml.tmp'),
    path.join(folder, 'b.yaml'),
  ] as const;
  writeFileSync(other, 'theirs');
  symlinkSync('b.yaml', draft);
  await replaceFile(target, 'ours', { draft });
  expect([readFileSync(target, 'utf8'), readFileSync(other, 'utf8')]).toEqual(['ours', 'theirs']);
  expect(readdirSync(folder).sort()).toEqual(['a.yaml', 'b.yaml']);
});
