import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../operator/messages.ts';
import { RepeatFilter, type WatchLog } from '../operator/watch-log.ts';
import { UserError } from '../problems/user-error.ts';
import { isTemporary } from '../state/backends/postgres/problems.ts';

/** The pause after the first attempt, and the maximum pause. The pause doubles after each attempt. */
const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 15_000;

/**
 * Retries the work while the database is unreachable, and logs each new problem. Returns undefined if the signal is aborted.
 * @throws errors that are not temporary.
 */
export async function retryUntilReachable<T>(
  work: () => Promise<T>,
  log: WatchLog,
  signal: AbortSignal,
): Promise<T | undefined> {
  const reported = new RepeatFilter();
  for (let wait = FIRST_PAUSE_MS; !signal.aborted; wait = Math.min(2 * wait, MAX_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof UserError) || !isTemporary(error.cause)) throw error;
      for (const problem of reported.update('', [messageOf(error)]).added)
        log.entry('warning', `waiting for the database: ${problem}`, { event: 'database' });
    }
    await pause(wait, undefined, { signal }).catch(() => undefined);
  }
  return undefined;
}
