import { basename, dirname, join } from 'node:path';
import { unlinkIfThere } from '../../../files/files.ts';
import { readIfThere } from './file-problem.ts';
import { parseLock, readLock } from './lock-file.ts';
import { isAbandoned, type Judging } from './lock-heartbeat.ts';

const ID = /^(?:tmp|claim)-[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/**
 * Removes what killed processes left beside the state: its draft, which only the holder of the lock writes, and files of the
 * lock whose writers are dead. To be called by the holder of the lock.
 */
export async function removeLeftovers(
  judging: Judging,
  { path, lockPath, id }: { readonly path: string; readonly lockPath: string; readonly id: string },
): Promise<void> {
  const { files } = judging;
  const own = await readLock(files, lockPath);
  if (own?.id !== id) return;
  const prefix = `${basename(lockPath)}.`;
  for (const name of await files.readdir(dirname(path))) {
    if (name === `${basename(path)}.tmp`) await unlinkIfThere(files, `${path}.tmp`);
    const kind = name.startsWith(prefix) ? name.slice(prefix.length) : '';
    // A claim on our own lock is in force until whoever made it is judged by the next one to claim it.
    if (!ID.test(kind) || kind === `claim-${id}`) continue;
    const file = join(dirname(path), name);
    const bytes = await readIfThere(files, file);
    if (bytes === undefined) continue;
    if (await isAbandoned(judging, { file, writer: parseLock(bytes), own })) await unlinkIfThere(files, file);
  }
}
