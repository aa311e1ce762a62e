import type { RunEnding } from './history.ts';
import { endingAfter } from './run-ending.ts';
import { openSession, type SessionOptions, type StateSession } from './session.ts';
import type { LockRequest, StateLease, StateStore } from './store.ts';

/** Does work in a session and closes it whatever comes of it. Why the work failed is in the history. */
export async function inSession<T>(
  store: StateStore,
  options: SessionOptions,
  work: (session: StateSession) => Promise<T>,
): Promise<T> {
  const session = await openSession(store, options);
  try {
    return await work(session);
  } catch (error) {
    session.note(endingAfter(error, { signal: options.lock.signal, changed: session.changed }));
    throw error;
  } finally {
    await session.close();
  }
}

/** Does work with the lease and releases it whatever comes of it. Why the work failed is in the history. */
export async function withLease<T>(
  store: StateStore,
  request: LockRequest,
  work: (lease: StateLease) => Promise<T>,
): Promise<T> {
  const lease = await store.lock(request);
  let outcome: RunEnding | undefined;
  try {
    return await work(lease);
  } catch (error) {
    outcome = endingAfter(error, { signal: request.signal, changed: false });
    throw error;
  } finally {
    await lease.release({ outcome });
  }
}
