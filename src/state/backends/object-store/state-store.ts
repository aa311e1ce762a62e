import { setTimeout as delay } from 'node:timers/promises';
import { freeBuffer } from '../../../files/files.ts';
import { parseRuns } from '../../run-history.ts';
import { decryptLines, noSeal } from '../../seal.ts';
import type { StateBackup, StateStore } from '../../store.ts';
import type { StoreUser } from '../backend.ts';
import { Lease, problemWith } from './lease.ts';
import { breakLock, type LockContext, livingHolder, readLockContent, takeLock } from './lock.ts';
import type { ObjectStore } from './object-store.ts';
import { noRetries, RemoteRetries } from './retries.ts';
import { backupOf, decryptContent, otherStateIn, parseContent, withNewer } from './stored-content.ts';

/** Files are not read atomically: a state that looks damaged or old may be in the middle of another run's commit. */
const MAX_FILE_READS = 3;
const READ_INTERVAL_MS = 20;

/** Implements a state store on top of an object store. */
export function createStateStore(store: ObjectStore, user: StoreUser): StateStore {
  const { location, setting, local } = store;
  const { seal = noSeal } = user;
  const retries = local === undefined ? new RemoteRetries({ location, ...user }) : noRetries;
  const locking: LockContext = { store, user, retries };
  const others = store.others?.bind(store);
  const at = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw problemWith(store, error);
    }
  };
  const readOnce = async (stop?: AbortSignal) => {
    const raw = await retries.read((signal) => store.read(signal), stop);
    try {
      const content = await decryptContent(parseContent(raw, location, user.parse), location, seal);
      const stored = await withNewer(content, { store, user, content: raw });
      return { ...stored, holder: livingHolder(raw, store) };
    } finally {
      if (local !== undefined && raw.state !== undefined) freeBuffer(raw.state);
    }
  };

  return {
    location,
    setting,
    read: (stop) =>
      at(async () => {
        for (let attempt = local === undefined ? MAX_FILE_READS : 1; attempt < MAX_FILE_READS; attempt++) {
          const stored = await readOnce(stop).catch(() => undefined);
          if (stored !== undefined && stored.newer === undefined) return stored;
          await delay(READ_INTERVAL_MS);
        }
        return await readOnce(stop);
      }),
    lock: (request) => at(async () => new Lease(locking, request, await takeLock(locking, request))),
    unlock: (id) => at(() => breakLock(locking, id)),
    holder: () => at(async () => livingHolder(await readLockContent(locking), store)),
    history: () =>
      at(async () => parseRuns(await decryptLines(await retries.read((signal) => store.history(signal)), seal))),
    opened: (entry) => at(async () => seal.decryptEntry(entry, location)),
    ...(others && {
      findOther: (workspaceId: string) =>
        at(async () => {
          const found = await retries.read((signal) => others(workspaceId, signal));
          return found.map((each) => otherStateIn(each, workspaceId)).find((each) => each !== undefined);
        }),
    }),
    backups: () =>
      at(async () => {
        if (local !== undefined) return await local.backups();
        const found: StateBackup[] = [];
        const { state } = await retries.read((signal) => store.read(signal));
        if (state !== undefined)
          found.push(...(await backupOf({ source: location, bytes: state }, { seal, isCurrent: true })));
        for (const each of await retries.read(async (signal) => store.earlier?.(signal) ?? []))
          found.push(...(await backupOf(each, { seal, isCurrent: false })));
        return found;
      }),
  };
}
