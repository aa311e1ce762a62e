import { z } from 'zod';
import { lockInfo } from '../../lock-info.ts';
import type { RemoteLock } from './remote-place.ts';

/** A lock in JSON, for places that keep it as text. What a later voxform adds to it stays. */
export const storedLock = z.looseObject({ ...lockInfo.shape, heard: z.iso.datetime({ offset: true }) });

/** Whole seconds since the holder was heard from, by its clock and this machine's; undefined without a lock. */
export function silenceOf(lock: RemoteLock | undefined, now: Date): number | undefined {
  return lock && Math.max(0, Math.round((now.getTime() - Date.parse(lock.heard)) / 1000));
}
