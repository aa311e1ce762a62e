import type { PublishedRecord, ShownRecord } from '../../kinds/kind.ts';

export type Observation =
  | {
      readonly status: 'shown';
      readonly record: ShownRecord;
      readonly published?: PublishedRecord | undefined;
      /** Present when it was found by its natural key, because the record with the id that is remembered is not there. */
      readonly successor?: true;
    }
  /** The platform says that it has no record with the id that is remembered. It may be back with the next read. */
  | { readonly status: 'missing' }
  /** No id is known, and the platform's lists hold nothing of that natural key. */
  | { readonly status: 'absent' }
  /** The record with the id that is remembered belongs to another workspace, into which nothing is written. */
  | { readonly status: 'foreign'; readonly workspaceId: string }
  /** Not read, because the caller wanted no refresh: memory stands in for it. */
  | { readonly status: 'remembered' };
