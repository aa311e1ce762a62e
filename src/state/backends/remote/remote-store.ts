import { runsIn } from '../../run-history.ts';
import type { StateBackup, StateStore } from '../../store.ts';
import { backupOf, otherStateIn, storedIn, withNewer } from './remote-content.ts';
import { problemWith, RemoteLease } from './remote-lease.ts';
import { breakLock, type Locking, livingHolder, takeLock } from './remote-lock.ts';
import { persistently } from './write-surely.ts';

/** A state in a place that many machines share. */
export function createRemoteStore(locking: Locking): StateStore {
  const { place, user } = locking;
  const { location, setting } = place;
  const others = place.others?.bind(place);
  const at = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw problemWith(place, error);
    }
  };
  const look = () => persistently({ stop: undefined }, (signal) => place.read(signal));

  return {
    location,
    setting,
    read: () =>
      at(async () => {
        const held = await look();
        const stored = storedIn(held, place, user.parse);
        return { ...(await withNewer(stored, user.marks)), holder: livingHolder(held, place) };
      }),
    lock: (request) =>
      at(async () => new RemoteLease(place, user, request, await takeLock(locking, request))),
    unlock: (id) => at(() => breakLock(locking, id)),
    holder: () => at(async () => livingHolder(await look(), place)),
    history: () =>
      at(async () => runsIn(await persistently({ stop: undefined }, (signal) => place.history(signal)))),
    ...(others && {
      elsewhere: (workspaceId: string) =>
        at(async () => {
          const found = await persistently({ stop: undefined }, (signal) => others(workspaceId, signal));
          return found.map((each) => otherStateIn(each, workspaceId)).find((each) => each !== undefined);
        }),
    }),
    backups: () =>
      at(async () => {
        const found: StateBackup[] = [];
        const { state } = await look();
        if (state !== undefined) found.push(...backupOf({ source: location, bytes: state }, true));
        const earlier = await persistently({ stop: undefined }, (signal) => place.earlier(signal));
        return [...found, ...earlier.flatMap((each) => backupOf(each, false))];
      }),
  };
}
