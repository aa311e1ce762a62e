import type { PublishedRecord, ShownRecord } from '../../kinds/kind.ts';
import type { Address } from '../../manifests/resource.ts';
import type { Orphan } from '../../state/state-document.ts';
import type { Evidence } from './match-evidence.ts';

/** What the platform showed, at one time, of everything a plan is about. */
export interface Observed {
  readonly records: ReadonlyMap<Address, Observation>;
  /** All records of the kinds that were listed. */
  readonly lists: ReadonlyMap<string, readonly ShownRecord[]>;
  /** By lookup kind, then by name: the ids of that name. */
  readonly lookups: ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;
  /** Records that may be those of unknown creates, the likeliest first. */
  readonly candidates: ReadonlyMap<Address, readonly Candidate[]>;
  /** Orphans that the platform had called gone and shows again; looked for where a record is missing. */
  readonly returned: readonly Orphan[];
  /** By kind and id: records that other records mention and that a look at each of them did not find. */
  readonly missing?: ReadonlySet<string>;
}

/** A record that may be the one that an unknown create made, with what speaks for it. */
export interface Candidate extends Evidence {
  readonly id: string;
  /** Clauses that say which records mention it. */
  readonly mentions: readonly string[];
}

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
