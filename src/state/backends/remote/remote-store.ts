import { runsIn } from '../../run-history.ts';
import type { StateBackup, StateStore } from '../../store.ts';
import { Reaching } from './reaching.ts';
import { backupOf, otherStateIn, storedIn, withNewer } from './remote-content.ts';
import { problemWith, RemoteLease } from './remote-lease.ts';
import { breakLock, type Locking, livingHolder, takeLock } from './remote-lock.ts';

/** A state in a place that many machines share. */
export function createRemoteStore({ place, user }: Omit<Locking, 'reaching'>): StateStore {
  const { location, setting } = place;
  const reaching = new Reaching({ location, stop: user.stop, warn: user.warn });
  const locking: Locking = { place, user, reaching };
  const others = place.others?.bind(place);
  const at = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw problemWith(place, error);
    }
  };
  const look = (until?: AbortSignal) => reaching.read((signal) => place.read(signal), until);

  return {
    location,
    setting,
    read: (until) =>
      at(async () => {
        const held = await look(until);
        const stored = storedIn(held, place, user.parse);
        return { ...(await withNewer(stored, user.marks)), holder: livingHolder(held, place) };
      }),
    lock: (request) => at(async () => new RemoteLease(locking, request, await takeLock(locking, request))),
    unlock: (id) => at(() => breakLock(locking, id)),
    holder: () => at(async () => livingHolder(await look(), place)),
    history: () => at(async () => runsIn(await reaching.read((signal) => place.history(signal)))),
    ...(others && {
      elsewhere: (workspaceId: string) =>
        at(async () => {
          const found = await reaching.read((signal) => others(workspaceId, signal));
          return found.map((each) => otherStateIn(each, workspaceId)).find((each) => each !== undefined);
        }),
    }),
    backups: () =>
      at(async () => {
        const found: StateBackup[] = [];
        const { state } = await look();
        if (state !== undefined) found.push(...backupOf({ source: location, bytes: state }, true));
        const earlier = await reaching.read((signal) => place.earlier(signal));
        return [...found, ...earlier.flatMap((each) => backupOf(each, false))];
      }),
  };
}
