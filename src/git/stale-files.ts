import { readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';

/** Maximum age in milliseconds. voxform ends each git process sooner. */
const LONGEST_USE = 300_000;

/** Folders to which git writes when it fetches into a bare repository. */
const FOLDERS = ['.', 'objects', 'objects/pack', 'refs/voxform', 'refs/voxform/kept'];

/**
 * Removes locks and partial packs that a killed git has left in our own bare repository; git would refuse to fetch until they are removed.
 * Other processes may use the repository, so only the age of a file shows that no process owns it.
 */
export async function removeStaleFiles(repository: string): Promise<void> {
  const oldest = Date.now() - LONGEST_USE;
  for (const folder of FOLDERS) {
    const names = await readdir(path.join(repository, folder)).catch(() => []);
    for (const name of names.filter((each) => /\.lock$|^\.?tmp[_-]/.test(each))) {
      const file = path.join(repository, folder, name);
      const found = await stat(file).catch(() => undefined);
      if (found !== undefined && found.mtimeMs < oldest) await rm(file, { recursive: true, force: true });
    }
  }
}
