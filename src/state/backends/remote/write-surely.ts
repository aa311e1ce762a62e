import { setTimeout as delay } from 'node:timers/promises';
import { UserError } from '../../../problems/user-error.ts';
import { Overtaken, type RemoteChange, type RemoteContent, type RemotePlace } from './remote-place.ts';

/** For how long a place that does not answer is tried. */
const TRIED_MILLISECONDS = 60_000;
/** The same once the run was interrupted: somebody waits for it to end. */
const TRIED_AT_THE_END_MILLISECONDS = 10_000;

const PAUSE = { least: 100, most: 5_000 };

interface Trying {
  /** Once aborted, the end is near. */
  readonly stop: AbortSignal | undefined;
}

/**
 * Stores a change, and finds out whether it was stored where the answer was lost.
 * @returns what the place holds then.
 * @throws Overtaken where somebody else wrote first. Anything else: it could not be told in time whether it was stored.
 */
export async function writeSurely(
  place: RemotePlace,
  change: RemoteChange,
  held: RemoteContent,
  trying: Trying,
): Promise<RemoteContent> {
  return persistently(trying, async (signal, attempt) => {
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

/**
 * Does what may fail for a while, again and again with longer pauses, until it is done, refused for good, or time is up.
 * Each attempt is ended when its time is up.
 */
export async function persistently<T>(
  { stop }: Trying,
  work: (signal: AbortSignal, attempt: number) => Promise<T>,
): Promise<T> {
  const began = performance.now();
  const ending = new AbortController();
  const end = (): void => ending.abort(new Error('it did not answer in time'));
  let timer = setTimeout(end, stop?.aborted ? TRIED_AT_THE_END_MILLISECONDS : TRIED_MILLISECONDS);
  const hurry = (): void => {
    clearTimeout(timer);
    timer = setTimeout(end, TRIED_AT_THE_END_MILLISECONDS);
  };
  stop?.addEventListener('abort', hurry, { once: true });
  try {
    let pause = PAUSE.least;
    for (let attempt = 1; ; attempt++) {
      try {
        return await work(ending.signal, attempt);
      } catch (error) {
        if (error instanceof UserError || error instanceof Overtaken || ending.signal.aborted) throw error;
        const left = TRIED_MILLISECONDS - (performance.now() - began);
        if (left <= pause) throw error;
        await delay(pause * (0.5 + Math.random()), undefined, { signal: ending.signal }).catch(() => {
          throw error;
        });
        pause = Math.min(pause * 2, PAUSE.most);
      }
    }
  } finally {
    clearTimeout(timer);
    stop?.removeEventListener('abort', hurry);
  }
}
