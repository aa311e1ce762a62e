import type { ShownRecord } from '../../kinds/kind.ts';
import type { Address } from '../../manifests/resource.ts';
import type { Orphan } from '../../state/state-document.ts';
import type { Evidence } from './match-evidence.ts';
import type { Observation } from './observation.ts';

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
