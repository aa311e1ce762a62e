import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Files, nodeFiles } from '../../../files/files.ts';
import { makeFolders } from '../../../files/make-folders.ts';
import { beginningLine, runsIn, unlockLine } from '../../run-history.ts';
import type { StateStore } from '../../store.ts';
import type { StoreUser } from '../backend.ts';
import { readBackups } from './backups.ts';
import { targetOf } from './document-file.ts';
import { onFiles } from './file-problem.ts';
import { addToHistory, readHistory } from './history-file.ts';
import { LocalLease } from './lease.ts';
import { breakLock, type LockSettings, lockHolder, takeLock } from './lock.ts';
import type { LockTiming } from './lock-heartbeat.ts';
import { readWithNewer } from './read-stored.ts';

export interface LocalStoreOptions extends Omit<StoreUser, 'root'> {
  /** Of the document. The journal, the lock and the backups are beside it, or beside what it links to. */
  readonly path: string;
  /** How messages call the state; the path where absent. */
  readonly location?: string | undefined;
  /** Whether a process of this host still runs; asks the system where absent. */
  isAlive?: ((pid: number) => boolean) | undefined;
  /** How often a holder gives a sign of life, and how long one may be silent. */
  readonly lockTiming?: LockTiming | undefined;
  /** The file system; node's where absent. */
  readonly files?: Files | undefined;
}

/** A state in files of this machine. */
export function createLocalStore(options: LocalStoreOptions): StateStore {
  const { files = nodeFiles, location = options.path, failPoint = () => undefined, marks, parse } = options;

  const at = <T>(verb: 'read' | 'lock', work: (path: string, lock: LockSettings) => Promise<T>): Promise<T> =>
    onFiles(verb, location, async () => {
      const path = await targetOf(files, options.path);
      return work(path, { ...options, files, location, path: `${path}.lock` });
    });

  return {
    location,
    setting: 'state.path',

    read: () =>
      at('read', async (path, lock) => {
        for (let attempt = 1; ; attempt++) {
          try {
            const stored = await readWithNewer({ files, path, marks, parse });
            // Or what has been read is already the state before someone else's commit.
            if (stored.newer === undefined || attempt === 3)
              return { ...stored, holder: await lockHolder(lock) };
          } catch (error) {
            // Without the lock, what looks damaged may be the middle of someone else's commit.
            if (attempt === 3) throw error;
          }
          await delay(20);
        }
      }),

    backups: () => at('read', (path) => readBackups(files, path)),

    lock: (request) =>
      at('lock', async (path, lock) => {
        await makeFolders(dirname(path), { files, mode: 0o700 });
        const info = await takeLock(lock, request);
        if (!request.isStep) await addToHistory(files, path, beginningLine(info, await request.commit));
        const { redact } = options;
        return new LocalLease({ files, path, location, info, lock, request, marks, failPoint, redact });
      }),

    history: () => at('read', async (path) => runsIn(await readHistory(files, path))),
    holder: () => at('read', (_, lock) => lockHolder(lock)),
    unlock: (id) =>
      at('lock', async (path, lock) => {
        const ended = await breakLock(lock, id);
        await addToHistory(files, path, unlockLine(ended, `${lock.user}@${lock.host}`));
        return ended;
      }),
  };
}
