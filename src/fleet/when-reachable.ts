import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../operator/messages.ts';
import { RepeatFilter, type WatchLog } from '../operator/watch-log.ts';
import { UserError } from '../problems/user-error.ts';
import { isTemporary } from '../state/backends/postgres/problems.ts';

/** Milliseconds between two attempts. */
const PAUSE = 1000;
const LONGEST = 15_000;

/**
 * Retries work while the database is unreachable, and logs that. Undefined if the signal aborts.
 * @throws permanent errors.
 */
export async function whenReachable<T>(
  work: () => Promise<T>,
  { log, signal }: { readonly log: WatchLog; readonly signal: AbortSignal },
): Promise<T | undefined> {
  const reported = new RepeatFilter();
  for (let wait = PAUSE; !signal.aborted; wait = Math.min(2 * wait, LONGEST)) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof UserError) || !isTemporary(error.cause)) throw error;
      for (const problem of reported.changes('', [messageOf(error)]).added)
        log.entry('warning', `waiting for the database: ${problem}`, { event: 'database' });
    }
    await pause(wait, undefined, { signal }).catch(() => undefined);
  }
  return undefined;
}
