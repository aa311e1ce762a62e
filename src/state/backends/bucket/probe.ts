import { randomUUID } from 'node:crypto';
import { UserError } from '../../../problems/user-error.ts';
import { WriteConflict } from '../object-store/object-store.ts';
import type { Bucket, PutCondition } from './bucket.ts';

/**
 * Checks with an object of its own that the store honours conditions: without them, two runs could both hold the lock.
 * @returns true if the store compares tags only without quotes.
 * @throws UserError if the store ignores a condition.
 */
export async function probe(bucket: Bucket, location: string, signal: AbortSignal): Promise<boolean> {
  const name = `${randomUUID()}.probe`;
  let count = 0;
  /** @returns the new tag; undefined if the condition does not hold. */
  const put = async (condition: PutCondition): Promise<string | undefined> => {
    count += 1;
    try {
      return await bucket.put(name, Buffer.from(`${name} ${count}`), signal, condition);
    } catch (error) {
      if (error instanceof WriteConflict) return undefined;
      throw error;
    }
  };
  const refused = (header: string): UserError =>
    new UserError(`the store of ${location} ignores the condition ${header} of a write`, {
      hint: 'Two runs could both hold the lock there. Use Amazon S3, or another store with conditional writes.',
    });
  try {
    const first = await put({ isAbsent: true });
    if (first === undefined) throw new Error('a new object could not be stored');
    if ((await put({ isAbsent: true })) !== undefined) throw refused('If-None-Match');
    const other = '0123456789abcdef0123456789abcdef';
    if ((await put({ tag: other })) !== undefined) throw refused('If-Match');
    if ((await put({ tag: first })) !== undefined) return false;
    if ((await put({ tag: other, isBare: true })) !== undefined) throw refused('If-Match');
    if ((await put({ tag: first, isBare: true })) !== undefined) return true;
    throw new UserError(`the store of ${location} refuses the condition If-Match with the tag of its object`, {
      hint: 'Use Amazon S3, or another store with conditional writes.',
    });
  } finally {
    await bucket.remove(name, signal).catch(() => undefined);
  }
}
