import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Files, nodeFiles } from '../../../files/files.ts';
import { makeFolders } from '../../../files/make-folders.ts';
import type { StateStore } from '../../store.ts';
import type { StoreUser } from '../backend.ts';
import { targetOf } from './document-file.ts';
import { fileProblem } from './file-problem.ts';
import { LocalLease } from './lease.ts';
import { breakLock, type LockSettings, lockHolder, takeLock } from './lock.ts';
import type { LockTiming } from './lock-life.ts';
import { newerThan } from './newer-copies.ts';
import { readStored } from './read-stored.ts';
import { readRemains } from './remains.ts';

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
  const files = options.files ?? nodeFiles;
  const { marks } = options;
  const location = options.location ?? options.path;
  const failPoint = options.failPoint ?? (() => undefined);

  const place = async (verb: 'read' | 'write' | 'lock'): Promise<string> => {
    try {
      return await targetOf(files, options.path);
    } catch (error) {
      throw fileProblem(error, verb, location);
    }
  };
  const lockSettings = (path: string): LockSettings => ({
    ...options,
    files,
    location,
    path: `${path}.lock`,
  });

  return {
    location,
    setting: 'state.path',

    async read() {
      const path = await place('read');
      for (let attempt = 1; ; attempt++) {
        try {
          const { stored, journalFile } = await readStored(files, path);
          const hasJournal = journalFile.size > 0;
          const newer =
            stored.document && (await newerThan(stored.document, { files, path, marks, hasJournal }));
          // Or what has been read is already the state before someone else's commit.
          if (newer === undefined || attempt === 3) return { ...stored, newer };
        } catch (error) {
          // Without the lock, what looks damaged may be the middle of someone else's commit.
          if (attempt === 3) throw fileProblem(error, 'read', location);
        }
        await delay(20);
      }
    },

    async remains() {
      const path = await place('read');
      try {
        return await readRemains(files, path);
      } catch (error) {
        throw fileProblem(error, 'read', location);
      }
    },

    async lock(request) {
      const path = await place('lock');
      try {
        await makeFolders(dirname(path), { files, mode: 0o700 });
        const settings = lockSettings(path);
        const info = await takeLock(settings, request);
        return new LocalLease({ files, path, location, info, lock: settings, request, marks, failPoint });
      } catch (error) {
        throw fileProblem(error, 'lock', location);
      }
    },

    async holder() {
      const path = await place('read');
      try {
        return await lockHolder(lockSettings(path));
      } catch (error) {
        throw fileProblem(error, 'read', location);
      }
    },

    async unlock(id) {
      const path = await place('lock');
      try {
        return await breakLock(lockSettings(path), id);
      } catch (error) {
        throw fileProblem(error, 'lock', location);
      }
    },
  };
}
