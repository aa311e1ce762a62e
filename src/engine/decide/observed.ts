import type { PublishedRecord, ShownRecord } from '../../kinds/kind.ts';
import type { Address } from '../../manifests/resource.ts';
import type { Orphan } from '../../state/state-document.ts';
import type { Evidence } from './compare.ts';

export interface Observed {
  readonly records: ReadonlyMap<Address, Observation>;
  /** All records of the kinds that were listed. */
  readonly lists: ReadonlyMap<string, readonly ShownRecord[]>;
  /** The ids of the records with each name, by lookup kind and name. */
  readonly lookups: ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;
  /** Records that may be the result of unknown creates, the most likely first. */
  readonly candidates: ReadonlyMap<Address, readonly Candidate[]>;
  /** Orphans that were reported missing and exist again. They are searched for only if a record is missing. */
  readonly returned: readonly Orphan[];
  /** Records that others refer to but that do not exist, by kind and id. */
  readonly missing?: ReadonlySet<string>;
}

/** A record that may be the result of an unknown create, with the evidence. */
export interface Candidate extends Evidence {
  readonly id: string;
  /** Clauses about the records that mention it. */
  readonly mentions: readonly string[];
}

export type Observation =
  | {
      readonly status: 'shown';
      readonly record: ShownRecord;
      readonly published?: PublishedRecord | undefined;
      /** Present if the recorded id was not found, but a record with the same natural key was. */
      readonly successor?: true;
    }
  /** The platform has no record with the recorded id. The next read may find it again. */
  | { readonly status: 'missing' }
  /** No id is known, and no listed record has the natural key. */
  | { readonly status: 'absent' }
  /** The record belongs to another workspace. It must not be written. */
  | { readonly status: 'foreign'; readonly workspaceId: string }
  /** The record was not read, because refresh is off. The state entry is used instead. */
  | { readonly status: 'remembered' };
