import * as promises from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { errorCode } from '../problems/error-code.ts';
import type { Files } from './files.ts';

interface MakingFolders {
  readonly mode?: number;
  readonly files?: Pick<Files, 'mkdir' | 'stat'>;
}

/**
 * Creates a folder with its parents, each with this mode; existing ones stay as they are. Node's recursive mkdir never ends in an existing
 * folder that cannot contain others, as in /proc: this fails with ENOENT there.
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

/** False if its parent has to be created first. */
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
