import { z } from 'zod';
import type { Immutable } from '../values/json.ts';
import { orphan, pendingCreate, resourceEntry } from './state-document.ts';

/*
 * What happens between two writes of the document, one line each. `state/fold.ts` says what each means.
 */

const journalEvent = z.discriminatedUnion('type', [
  /** A create is about to be sent. Without a `saved` or `not-done` after it, it is pending. */
  z.strictObject({ type: z.literal('creating'), address: z.string(), pending: pendingCreate }),
  /** An update of these paths is about to be sent. Without a `saved` or `not-done` after it, their recorded values are unknown. */
  z.strictObject({ type: z.literal('updating'), address: z.string(), paths: z.array(z.string()) }),
  /** The write certainly did not happen: what stood before it stands. */
  z.strictObject({ type: z.literal('not-done'), address: z.string() }),
  /**
   * The resource stands so now; ends a `creating` or `updating`, adopts, or corrects the bookkeeping. Another id than before
   * means that the platform called the earlier record gone, unless `orphan` says what became of it.
   */
  z.strictObject({
    type: z.literal('saved'),
    address: z.string(),
    entry: resourceEntry,
    orphan: orphan.optional(),
  }),
  /** Released from management. */
  z.strictObject({ type: z.literal('forgotten'), address: z.string(), orphan: orphan.optional() }),
  /** Nothing is left to do about an orphan. */
  z.strictObject({ type: z.literal('closed'), orphan }),
  z.strictObject({ type: z.literal('renamed'), from: z.string(), to: z.string() }),
  /** A person found out that a pending create did not happen. */
  z.strictObject({ type: z.literal('resolved'), address: z.string() }),
]);

export type JournalEvent = Immutable<z.infer<typeof journalEvent>>;

export const journalEntry = z.strictObject({
  lineage: z.string(),
  /** The serial of the document that the event comes after. */
  serial: z.int(),
  /** From 1, without gaps. */
  sequence: z.int(),
  at: z.string().describe('ISO 8601.'),
  event: journalEvent,
});

export type JournalEntry = Immutable<z.infer<typeof journalEntry>>;
