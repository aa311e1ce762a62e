import type { Reaching } from './reaching.ts';
import { Overtaken, type RemoteChange, type RemoteContent, type RemotePlace } from './remote-place.ts';

/**
 * Stores a change, and finds out whether it was stored where the answer was lost.
 * @returns what the place holds then.
 * @throws Overtaken where somebody else wrote first. Anything else: it could not be told in time whether it was stored.
 */
export async function writeSurely(
  { place, reaching }: { readonly place: RemotePlace; readonly reaching: Reaching },
  change: RemoteChange,
  held: RemoteContent,
): Promise<RemoteContent> {
  return reaching.write(async (signal, attempt) => {
    if (attempt > 1) {
      const now = await place.read(signal);
      if (now.write === change.write) return now;
      if (now.revision !== held.revision) throw new Overtaken();
    }
    try {
      return changed(held, change, await place.write(change, held, signal));
    } catch (error) {
      if (!(error instanceof Overtaken)) throw error;
      // By an earlier attempt of this very write, perhaps, which was on its way for long.
      const now = await place.read(signal);
      if (now.write !== change.write) throw error;
      return now;
    }
  });
}

/** What is there after the change. */
export function changed(
  held: RemoteContent,
  { write, state, journal, lock }: RemoteChange,
  revision: string,
): RemoteContent {
  return {
    revision,
    write,
    state: state === undefined ? held.state : (state ?? undefined),
    journal:
      journal === undefined
        ? held.journal
        : journal === null
          ? new Uint8Array()
          : appended(held.journal, journal),
    lock: lock === undefined ? held.lock : (lock ?? undefined),
    silentSeconds: lock === undefined ? held.silentSeconds : 0,
  };
}

/** How much of the memory behind a journal is in use. */
const used = new WeakMap<ArrayBufferLike, number>();

/** The journal with more behind it, in memory with room for what comes next: to copy all of it each time would cost more the longer it gets. */
function appended(journal: Uint8Array, more: Uint8Array): Uint8Array {
  const length = journal.length + more.length;
  const hasRoom = used.get(journal.buffer) === journal.length && journal.buffer.byteLength >= length;
  const memory = hasRoom ? journal.buffer : new ArrayBuffer(length * 2);
  const whole = new Uint8Array(memory, 0, length);
  if (!hasRoom) whole.set(journal);
  whole.set(more, journal.length);
  used.set(memory, length);
  return whole;
}
