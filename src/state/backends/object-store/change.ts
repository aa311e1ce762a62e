import { type Change, type ObjectStore, type StoredContent, WriteConflict } from './object-store.ts';
import type { Retries } from './retries.ts';

/**
 * Stores a change. Before each retry, checks whether an earlier attempt stored the change.
 * @returns the stored content.
 * @throws WriteConflict if another run wrote first. After any other error, it is unknown whether the change was stored.
 */
export async function writeChange(
  { store, retries }: { readonly store: ObjectStore; readonly retries: Retries },
  change: Change,
  base: StoredContent,
): Promise<StoredContent> {
  return retries.write(async (signal, attempt) => {
    if (attempt > 1) {
      const now = await store.read(signal);
      if (now.write === change.write) return now;
      if (now.revision !== base.revision) throw new WriteConflict();
    }
    try {
      return await store.write(change, base, signal);
    } catch (error) {
      if (!(error instanceof WriteConflict)) throw error;
      // An earlier attempt of this write may have arrived late and caused the conflict.
      const now = await store.read(signal);
      if (now.write !== change.write) throw error;
      return now;
    }
  });
}

export function changed(base: StoredContent, { write, state, journal, lock }: Change, revision: string): StoredContent {
  return {
    revision,
    write,
    state: state === undefined ? base.state : (state ?? undefined),
    journal:
      journal === undefined ? base.journal : journal === null ? new Uint8Array() : appendTo(base.journal, journal),
    isBehind: journal !== null && base.isBehind,
    lock: lock === undefined ? base.lock : (lock ?? undefined),
    secondsSinceHeartbeat: lock === undefined ? base.secondsSinceHeartbeat : 0,
    files: base.files,
  };
}

/** The number of used bytes in the buffer of a journal. */
const usedBytes = new WeakMap<ArrayBufferLike, number>();

/** Appends to the journal in a buffer with spare capacity, because copying the complete journal each time would become expensive. */
function appendTo(journal: Uint8Array, more: Uint8Array): Uint8Array {
  const length = journal.length + more.length;
  const hasRoom = usedBytes.get(journal.buffer) === journal.length && journal.buffer.byteLength >= length;
  const buffer = hasRoom ? journal.buffer : new ArrayBuffer(length * 2);
  const all = new Uint8Array(buffer, 0, length);
  if (!hasRoom) all.set(journal);
  all.set(more, journal.length);
  usedBytes.set(buffer, length);
  return all;
}
