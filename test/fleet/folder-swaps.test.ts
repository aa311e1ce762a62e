/** @module-tag long */

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { symlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { FolderProjects } from '../../src/fleet/sources/folder-projects.ts';
import { UserError } from '../../src/problems/user-error.ts';
import { temporaryFolder } from '../cli/voxform-process.ts';

/** Replaces a file of the project repeatedly by a link, a pipe and a linked folder. */
const SWAPS = `
const { linkSync, renameSync, rmSync, symlinkSync } = require('node:fs');
const put = (from) => { linkSync(from, 'new'); renameSync('new', 'files/a.yaml'); };
for (;;) {
  for (const from of ['link', 'own', 'pipe', 'own']) put(from);
  renameSync('files', 'aside');
  symlinkSync('../victim', 'files');
  rmSync('files');
  renameSync('aside', 'files');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
}`;

it('copies no file of another project and waits for no pipe while files are being replaced', async () => {
  await using folder = await temporaryFolder({
    'projects/thief/own': 'own',
    'projects/thief/files/a.yaml': 'own',
    'projects/victim/a.yaml': 'secret',
  });
  const thief = path.join(folder.root, 'projects/thief');
  symlinkSync('../../victim/a.yaml', path.join(thief, 'link'));
  execFileSync('mkfifo', [path.join(thief, 'pipe')]);
  const swapping = spawn(process.execPath, ['--eval', SWAPS], { cwd: thief, stdio: 'inherit' });
  try {
    const copied: string[] = [];
    for (let nth = 0; nth < 60; nth++) {
      const options = {
        folder: path.join(folder.root, 'projects'),
        projects: ['*'],
        home: path.join(folder.root, `${nth}`),
      };
      const copy = await new FolderProjects(options)
        .checkout('thief', { version: 'none', commit: undefined })
        .catch((error) => {
          expect(error).toBeInstanceOf(UserError);
        });
      if (copy !== undefined)
        copied.push(await readFile(path.join(copy.folder, 'files/a.yaml'), 'utf8').catch(() => 'missing'));
    }
    expect(copied.length).toBeGreaterThan(0);
    expect(new Set(copied)).not.toContain('secret');
    expect(swapping.exitCode).toBeNull();
  } finally {
    const ended = once(swapping, 'exit');
    swapping.kill('SIGKILL');
    await ended;
  }
});
