import type { Kind } from '../../kinds/kind.ts';
import type { Address, Resource } from '../../manifests/resource.ts';
import type { Reference } from '../../values/value.ts';
import type { FoundRecord } from '../discover.ts';
import { evidenceFor, type KnownLeaf, knownLeaves, ShownFields } from './manifest-evidence.ts';

/** A manifest without a record. */
export interface UnmatchedManifest {
  readonly resource: Resource;
  readonly leaves: readonly KnownLeaf[];
  /** Records in the pool that it names by id or natural key, as indices; undefined if its fields must identify the record. */
  readonly named: readonly number[] | undefined;
  /** The index of the record that the backups have for it. */
  readonly remembered: number | undefined;
}

/** How well a record of the pool matches a manifest. */
export interface CandidateScore {
  /** The record's index in the pool. */
  readonly index: number;
  /** The number of fields. */
  readonly agrees: number;
  readonly differs: number;
  readonly isRemembered: boolean;
  /** No shown field differs. */
  readonly isExact: boolean;
}

interface UnmatchedInput {
  readonly kind: Kind;
  /** Unmanaged records. */
  readonly pool: readonly FoundRecord[];
  readonly wanted: readonly Resource[];
  readonly remembered: ReadonlyMap<Address, { readonly id: string }>;
  idOf(reference: Reference): string | undefined;
}

/** The manifests of one kind without records, and the unmanaged records. */
export class UnmatchedManifests {
  readonly kind: Kind;
  readonly pool: readonly FoundRecord[];
  readonly all: readonly UnmatchedManifest[];
  readonly #fields: ShownFields;
  /** Indices of records that a manifest names by id. No other manifest may get them. */
  readonly #claimed: ReadonlySet<number>;

  constructor({ kind, pool, wanted, remembered, idOf }: UnmatchedInput) {
    this.kind = kind;
    this.pool = pool;
    this.#fields = new ShownFields(kind, pool);
    const places = new Map(pool.map(({ record }, index) => [record.id, index]));
    const byKey = Map.groupBy(pool.keys(), (index) => {
      const record = pool[index]?.record;
      return record === undefined ? undefined : kind.naturalKeyOf?.(record);
    });
    const claims = Map.groupBy(
      wanted.filter(({ id }) => id !== undefined),
      ({ id }) => id,
    );
    this.#claimed = new Set([...claims.keys()].flatMap((id) => places.get(id ?? '') ?? []));
    const placesOf = ({ id, spec }: Resource): readonly number[] | undefined => {
      if (id !== undefined) return claims.get(id)?.length === 1 ? at(places.get(id)) : [];
      const key = kind.naturalKey?.(spec)?.key;
      return key === undefined
        ? undefined
        : (byKey.get(key) ?? []).filter((index) => !this.#claimed.has(index));
    };
    this.all = wanted.map((resource) => ({
      resource,
      leaves: knownLeaves(kind, resource, idOf),
      named: placesOf(resource),
      remembered: places.get(remembered.get(resource.address)?.id ?? ''),
    }));
  }

  /** Calls `see` for every record that more speaks for than against, in the order of the pool. */
  visit(manifest: UnmatchedManifest, see: (score: CandidateScore) => void): void {
    if (manifest.named !== undefined) {
      for (const index of manifest.named) see(this.#named(manifest, index));
      return;
    }
    const wanted = manifest.leaves.map(({ path, value }) => ({
      number: this.#fields.numberOf(path, value),
      shown: this.#fields.at(path),
    }));
    for (let index = 0; index < this.pool.length; index++) {
      let agrees = 0;
      let differs = 0;
      for (const { number, shown } of wanted) {
        if (shown[index] === number) agrees++;
        else if (shown[index] !== 0) differs++;
      }
      const isRemembered = index === manifest.remembered;
      if ((agrees > differs || isRemembered) && !this.#claimed.has(index))
        see({ index, agrees, differs, isRemembered, isExact: agrees > 0 && differs === 0 });
    }
  }

  #named({ leaves, remembered }: UnmatchedManifest, index: number): CandidateScore {
    const found = this.pool[index];
    const evidence = found === undefined ? undefined : evidenceFor(this.kind, leaves, found);
    return {
      index,
      agrees: evidence?.agrees.length ?? 0,
      differs: evidence?.differs.length ?? 0,
      isRemembered: index === remembered,
      isExact: true,
    };
  }
}

function at(index: number | undefined): readonly number[] {
  return index === undefined ? [] : [index];
}
