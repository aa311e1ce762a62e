import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { UserError } from '../../../src/problems/user-error.ts';
import type { StateBackend } from '../../../src/state/backends/backend.ts';
import { fold } from '../../../src/state/fold.ts';
import type { JournalEntry } from '../../../src/state/journal.ts';
import { LostLock } from '../../../src/state/lost-lock.ts';
import { type MovedMark, MovedState } from '../../../src/state/moved-state.ts';
import type { StateDocument } from '../../../src/state/state-document.ts';
import type { LockInfo, StateLease, StateStore, StoredState } from '../../../src/state/store.ts';

interface LookupIndex {
  document?: StateDocument | undefined;
  mark?: MovedMark | undefined;
  journal: JournalEntry[];
  lock?: LockInfo | undefined;
}

const shelves = new Map<string, LookupIndex>();

/** States in the memory of this process, by name. */
export const memory: StateBackend<{ readonly name?: string | undefined }, { readonly name: string }> = {
  settings: z.strictObject({ name: z.string().optional() }),
  description: 'Backend of the state: memory, for one process.',
  placeSetting: 'name',
  placeWord: 'name',
  place: ({ name }, { workspace, root }) => ({ name: name ?? `${root} ${workspace}` }),
  keyOf: ({ name }) => name,
  locationOf: ({ name }) => `memory:${name}`,
  fileOf: () => undefined,
  open({ name }, { user, host, pid, version, now }): StateStore {
    const location = `memory:${name}`;
    const shelf = shelves.get(name) ?? { journal: [] };
    shelves.set(name, shelf);
    const read = async (): Promise<StoredState> => {
      if (shelf.mark !== undefined) throw new MovedState(location, shelf.mark);
      return { document: shelf.document, journal: [...shelf.journal] };
    };
    const heldBy = ({ who, operation, id }: LockInfo): string => `${who} for ${operation}, lock ${id}`;
    return {
      location,
      setting: 'state.name',
      read,
      async lock({ operation }) {
        if (shelf.lock !== undefined)
          throw new UserError(`the state ${location} is locked by ${heldBy(shelf.lock)}`, { hint: 'Wait.' });
        const info: LockInfo = {
          id: randomUUID(),
          operation,
          who: `${user}@${host}`,
          host,
          pid,
          since: now().toISOString(),
          voxform_version: version,
        };
        shelf.lock = info;
        return leaseOf({ shelf, info, location, read });
      },
      backups: async () => {
        if (shelf.document === undefined) return [];
        const { resources, pending, orphans, workspaceId } = fold(shelf.document, shelf.journal);
        return [{ resources, pending, orphans, workspaceId, source: location, isInForce: true }];
      },
      holder: async () => shelf.lock && { ...shelf.lock, silentSeconds: undefined },
      async unlock(id) {
        const { lock } = shelf;
        if (lock?.id !== id) throw new UserError(`${id} is not the id of the lock of ${location}`);
        shelf.lock = undefined;
        return lock;
      },
    };
  },
};

interface LeaseParts {
  readonly shelf: LookupIndex;
  readonly info: LockInfo;
  readonly location: string;
  read(): Promise<StoredState>;
}

function leaseOf({ shelf, info, location, read }: LeaseParts): StateLease {
  let isReleased = false;
  const assertHeld = (): void => {
    if (isReleased) throw new Error('the lock of the state was given back already');
    if (shelf.lock?.id !== info.id) throw new LostLock(location);
  };
  const assertSerial = (expected: number | undefined): void => {
    if (shelf.document?.serial !== expected) throw new UserError(`the state ${location} changed meanwhile`);
  };
  return {
    info,
    read,
    async append(entry) {
      assertHeld();
      shelf.journal.push(entry);
    },
    async commit(document, expectedSerial) {
      assertHeld();
      if (shelf.mark !== undefined && shelf.mark.lineage !== document.lineage)
        throw new MovedState(location, shelf.mark);
      assertSerial(expectedSerial);
      Object.assign(shelf, { document, mark: undefined, journal: [] });
    },
    quarantine: () => Promise.resolve(undefined),
    async leaveMark(mark) {
      assertHeld();
      assertSerial(mark.serial);
      Object.assign(shelf, { document: undefined, mark });
    },
    async release() {
      isReleased = true;
      if (shelf.lock?.id === info.id) shelf.lock = undefined;
    },
  };
}
