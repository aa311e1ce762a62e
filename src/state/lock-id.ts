import type { LockInfo } from './store.ts';

const SHORTEST = 8;

/** True for the id of the lock, and for its beginning. */
export function isLockId({ id }: Pick<LockInfo, 'id'>, given: string): boolean {
  return given === id || (given.length >= SHORTEST && id.startsWith(given));
}
