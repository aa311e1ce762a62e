import { createHmac } from 'node:crypto';
import { z } from 'zod';

/** What is kept of a provider key: enough to tell whether a text is that key, never the key. */
export const keyMarker = z.strictObject({ salt: z.string(), digest: z.string() }).readonly();
export type KeyMarker = z.infer<typeof keyMarker>;

export function markKey(key: string, salt: string): KeyMarker {
  return { salt, digest: createHmac('sha256', salt).update(key).digest('hex') };
}

export function isMarkedKey(marker: KeyMarker, key: string): boolean {
  return markKey(key, marker.salt).digest === marker.digest;
}
