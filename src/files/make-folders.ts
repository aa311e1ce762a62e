import * as promises from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { errorCode } from '../problems/error-code.ts';
import type { Files } from './files.ts';

interface MakingFolders {
  readonly mode?: number;
  readonly files?: Pick<Files, 'mkdir' | 'stat'>;
}

/**
 * Makes a folder with those above it, each with this mode; one that is there already is left as it is. Node's own
 * recursive mkdir never ends where a folder exists and can have none inside, as in /proc: this fails with ENOENT there.
 */
export async function makeFolders(folder: string, making: MakingFolders = {}): Promise<void> {
  const { mode = 0o777, files = promises } = making;
  const inside: string[] = [];
  let next: string | undefined = resolve(folder);
  while (next !== undefined) {
    const made = await makeOne(next, { mode, files });
    if (made) next = inside.pop();
    else {
      inside.push(next);
      next = dirname(next);
    }
  }
}

/** False where the folder above has to be made first. */
async function makeOne(folder: string, { mode, files }: Required<MakingFolders>): Promise<boolean> {
  try {
    await files.mkdir(folder, { mode });
    return true;
  } catch (error) {
    if (await isFolderIn(folder, files)) return true;
    if (errorCode(error) !== 'ENOENT' || (await isFolderIn(dirname(folder), files))) throw error;
    return false;
  }
}

async function isFolderIn(path: string, files: Pick<Files, 'stat'>): Promise<boolean> {
  try {
    return (await files.stat(path)).isDirectory();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errorCode(error) ?? '')) return false;
    throw error;
  }
}
