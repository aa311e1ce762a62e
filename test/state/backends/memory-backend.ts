import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { StateBackend } from '../../../src/state/backends/backend.ts';
import { changed } from '../../../src/state/backends/object-store/change.ts';
import {
  type LockTiming,
  NO_CONTENT,
  type ObjectStore,
  type StoredContent,
  WriteConflict,
} from '../../../src/state/backends/object-store/object-store.ts';

/** The contents of a location in memory, and its next fault. */
export class Shelf {
  held: StoredContent = NO_CONTENT;
  history: string[] = [];
  writes = 0;
  reads = 0;
  /** Responds to no request. */
  isAway = false;
  /** Called at each write. `before` fails it, `after` executes it without a response, `never` does not respond. */
  fault: (() => 'before' | 'after' | 'never' | undefined) | undefined;
}

const shelves = new Map<string, Shelf>();

export function shelfNamed(name: string): Shelf {
  const shelf = shelves.get(name) ?? new Shelf();
  shelves.set(name, shelf);
  return shelf;
}

/** States in the memory of this process, by name. */
export const memory: StateBackend<{ readonly name?: string | undefined }, { readonly name: string }> = {
  settings: () => z.strictObject({ name: z.string().optional() }),
  description: 'Backend of the state: memory, for one process.',
  locationSetting: 'name',
  locate: ({ name }, { workspace, root }) => ({ name: name ?? `${root} ${workspace}` }),
  keyOf: ({ name }) => name,
  describe: ({ name }) => `memory:${name}`,
  open: ({ name }, user) => memoryStore(name, () => user.now()),
};

export function memoryStore(
  name: string,
  now: () => Date,
  timing: LockTiming = { heartbeat: 60_000, takeoverAfter: () => 600_000, gather: 0, poll: 20 },
  shelf: Shelf = shelfNamed(name),
): ObjectStore {
  return {
    location: `memory:${name}`,
    setting: 'state.name',
    timing,
    async read() {
      shelf.reads += 1;
      if (shelf.isAway) await Promise.withResolvers<never>().promise;
      const { lock } = shelf.held;
      const silent = lock && Math.round((now().getTime() - Date.parse(lock.heard)) / 1000);
      return { ...shelf.held, secondsSinceHeartbeat: silent };
    },
    async write(change, held, signal) {
      const fault = shelf.fault?.();
      if (fault === 'before') throw new Error('the connection was refused');
      if (fault === 'never')
        await new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        });
      if (shelf.held.revision !== held.revision) throw new WriteConflict();
      shelf.held = changed(shelf.held, change, randomUUID());
      shelf.writes += 1;
      if (change.converted !== undefined) shelf.history = [...change.converted.history];
      if (change.history !== undefined) shelf.history.push(change.history);
      if (fault === 'after') throw new Error('the connection was lost');
      return shelf.held;
    },
    history: async () => shelf.history,
    earlier: async () => [],
  };
}
