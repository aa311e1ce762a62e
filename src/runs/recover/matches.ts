import { type Evidence, evidenceOf, isComplete, MAX_OFFERED, normalised } from '../../engine/decide/compare.ts';
import { leavesOf, ruleOf, valueInRecord } from '../../engine/decide/field-rules.ts';
import { uniqueIds } from '../../engine/decide/references.ts';
import { kindNamed } from '../../kinds/index.ts';
import type { Kind } from '../../kinds/kind.ts';
import type { Address, Resource } from '../../manifests/resource.ts';
import { compareText } from '../../problems/compare-text.ts';
import { canonicalJson, type Json } from '../../values/json.ts';
import type { LeafPath } from '../../values/path.ts';
import {
  type Reference,
  revealSecrets,
  Secret,
  symbolicLeaves,
  Unset,
  type Value,
  withReferences,
} from '../../values/value.ts';
import type { Discovery, FoundRecord } from '../discover.ts';

/** A record that may belong to a manifest. */
export interface MatchCandidate extends Evidence {
  readonly id: string;
  /** True if no field that the platform returns differs. */
  readonly isExact: boolean;
  /** Clauses with further evidence. */
  readonly clauses: readonly string[];
}

/** The candidates for one manifest. */
export interface Match {
  readonly resource: Resource;
  /** Most likely first. */
  readonly candidates: readonly MatchCandidate[];
  /** The exact candidate from the backups, or else the only exact candidate; undefined if a person must decide. */
  readonly certain: MatchCandidate | undefined;
}

/** Returns the field of the natural key by which every plan finds the record; undefined if only the id identifies the record. */
export function keyFieldOf({ resource: { kind, spec } }: Match): string | undefined {
  return kindNamed(kind).naturalKey?.(spec)?.field;
}

interface MatchInput {
  /** Manifests without a record. */
  readonly manifests: readonly Resource[];
  readonly discovery: Discovery;
  /** The ids of managed and released records, by kind. */
  readonly inUse: ReadonlyMap<string, ReadonlySet<string>>;
  /** The record of each address according to the backups. */
  readonly remembered: ReadonlyMap<Address, BackupRecord>;
}

export interface BackupRecord {
  readonly id: string;
  /** The backup or file that names the record. */
  readonly source: string;
}

/** Matches manifests with records by the fields that the platform returns. */
export function matchesFor(input: MatchInput): Match[] {
  const lookups = new Map([...input.discovery.lookups].map(([kind, records]) => [kind, uniqueIds(records)]));
  const idOf = ({ kind, target }: Reference): string | undefined => lookups.get(kind)?.get(target);
  const matches = new Map<Address, Match>();
  for (const [name, wanted] of Map.groupBy(input.manifests, ({ kind }) => kind)) {
    const inUse = input.inUse.get(name);
    const manifests = new UnmatchedManifests({
      kind: kindNamed(name),
      pool: (input.discovery.records.get(name) ?? []).filter(({ record }) => !inUse?.has(record.id)),
      wanted,
      remembered: input.remembered,
      idOf,
    });
    for (const match of matchesOfKind(manifests, input.remembered)) matches.set(match.resource.address, match);
  }
  return input.manifests.flatMap(({ address }) => matches.get(address) ?? []);
}

function matchesOfKind(manifests: UnmatchedManifests, remembered: MatchInput['remembered']): Match[] {
  const certain = certainMatches(manifests);
  const manifestOf = new Map([...certain].map(([manifest, index]) => [index, manifest]));
  return manifests.all.map((manifest) => {
    const best: CandidateScore[] = [];
    manifests.visit(manifest, (score) => {
      const owner = manifestOf.get(score.index);
      if (owner === undefined || owner === manifest) keepBest(best, score, manifests);
    });
    const candidates = best.flatMap((score) => {
      const found = manifests.pool[score.index];
      return found === undefined ? [] : [candidateOf(manifest, { score, found, manifests, remembered })];
    });
    // A certain candidate is also the most likely candidate, because it is in the backups or is the only exact one.
    return { resource: manifest.resource, candidates, certain: certain.has(manifest) ? candidates[0] : undefined };
  });
}

/** Returns the index of the certain record of each manifest. Exact records in the backups take precedence over unique exact records. */
function certainMatches(manifests: UnmatchedManifests): Map<UnmatchedManifest, number> {
  const certain = new Map<UnmatchedManifest, number>();
  const assigned = new Set<number>();
  for (const manifest of manifests.all) {
    if (manifest.remembered === undefined || assigned.has(manifest.remembered)) continue;
    manifests.visit(manifest, ({ index, isRemembered, isExact }) => {
      if (!isRemembered || !isExact) return;
      certain.set(manifest, index);
      assigned.add(index);
    });
  }
  const fits = uniqueFits(
    manifests,
    manifests.all.filter((manifest) => !certain.has(manifest)),
    assigned,
  );
  const undecided = manifests.all.filter((manifest) => !certain.has(manifest) && !fits.has(manifest));
  const best = bestAgreement(manifests, undecided);
  for (const [manifest, { index, agrees }] of fits) {
    // The record may belong to another manifest with which more of its fields agree, and may have drifted from it.
    if (manifest.named !== undefined || agrees >= (best.get(index) ?? 0)) certain.set(manifest, index);
  }
  return certain;
}

/** Returns the manifests that have a single exact record, if this record is not exact for any other manifest. */
function uniqueFits(
  manifests: UnmatchedManifests,
  unsettled: readonly UnmatchedManifest[],
  assigned: ReadonlySet<number>,
): Map<UnmatchedManifest, CandidateScore> {
  const fits = new Map<UnmatchedManifest, CandidateScore>();
  const claims = new Map<number, number>();
  for (const manifest of unsettled) {
    let exact = 0;
    manifests.visit(manifest, (score) => {
      if (!score.isExact || assigned.has(score.index)) return;
      exact++;
      claims.set(score.index, (claims.get(score.index) ?? 0) + 1);
      fits.set(manifest, score);
    });
    if (exact !== 1) fits.delete(manifest);
  }
  return new Map([...fits].filter(([, { index }]) => claims.get(index) === 1));
}

/** Returns the maximum number of fields in which a manifest agrees with a record, by index of the record. */
function bestAgreement(manifests: UnmatchedManifests, undecided: readonly UnmatchedManifest[]): Map<number, number> {
  const best = new Map<number, number>();
  for (const manifest of undecided) {
    manifests.visit(manifest, ({ index, agrees }) => {
      best.set(index, Math.max(agrees, best.get(index) ?? 0));
    });
  }
  return best;
}

function keepBest(best: CandidateScore[], score: CandidateScore, { pool }: UnmatchedManifests): void {
  const last = best.at(MAX_OFFERED - 1);
  if (last !== undefined && compareScores(last, score, pool) < 0) return;
  best.push(score);
  best.sort((a, b) => compareScores(a, b, pool));
  best.splice(MAX_OFFERED);
}

function compareScores(a: CandidateScore, b: CandidateScore, pool: UnmatchedManifests['pool']): number {
  return (
    Number(b.isRemembered) - Number(a.isRemembered) ||
    Number(b.isExact) - Number(a.isExact) ||
    score(b) - score(a) ||
    compareText(pool[a.index]?.record.id ?? '', pool[b.index]?.record.id ?? '')
  );
}

function score({ agrees, differs }: CandidateScore): number {
  return agrees - differs;
}

interface CandidateInput {
  readonly score: CandidateScore;
  readonly found: FoundRecord;
  readonly manifests: UnmatchedManifests;
  readonly remembered: MatchInput['remembered'];
}

function candidateOf(
  { resource, leaves, named }: UnmatchedManifest,
  { score, found, manifests: { kind }, remembered }: CandidateInput,
): MatchCandidate {
  const hasKey = named !== undefined && resource.id === undefined;
  const source = score.isRemembered ? remembered.get(resource.address)?.source : undefined;
  return {
    id: found.record.id,
    ...evidenceFor(kind, leaves, found),
    isExact: score.isExact,
    clauses: [
      ...(resource.id !== undefined ? ['named by metadata.id'] : []),
      ...(hasKey ? [`same ${kind.naturalKey?.(resource.spec)?.field} as the manifest`] : []),
      ...(source !== undefined ? [`${backupClause(source)} under this address`] : []),
      ...found.mentions.filter((clause) => source === undefined || clause !== backupClause(source)),
    ],
  };
}

/** Returns a clause about a backup that contains the id. */
export function backupClause(backup: string): string {
  return `recorded in ${backup}`;
}

/** A manifest without a record. */
interface UnmatchedManifest {
  readonly resource: Resource;
  readonly leaves: readonly KnownLeaf[];
  /** Indices of the records that the manifest names by id or natural key; undefined if the manifest is matched by its fields. */
  readonly named: readonly number[] | undefined;
  /** The index of the record that the backups have for this address. */
  readonly remembered: number | undefined;
}

/** The comparison of a manifest with a record in the pool. */
interface CandidateScore {
  /** The record's index in the pool. */
  readonly index: number;
  /** The number of fields that agree. */
  readonly agrees: number;
  readonly differs: number;
  readonly isRemembered: boolean;
  /** True if no field that the platform returns differs. */
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
class UnmatchedManifests {
  readonly kind: Kind;
  readonly pool: readonly FoundRecord[];
  readonly all: readonly UnmatchedManifest[];
  readonly #fields: ShownFields;
  /** Indices of records that a manifest names by id, and that no other manifest may get. */
  readonly #claimed: ReadonlySet<number>;

  constructor({ kind, pool, wanted, remembered, idOf }: UnmatchedInput) {
    this.kind = kind;
    this.pool = pool;
    this.#fields = new ShownFields(kind, pool);
    const indices = new Map(pool.map(({ record }, index) => [record.id, index]));
    const byKey = Map.groupBy(pool.keys(), (index) => {
      const record = pool[index]?.record;
      return record === undefined ? undefined : kind.naturalKeyOf?.(record);
    });
    const claims = Map.groupBy(
      wanted.filter(({ id }) => id !== undefined),
      ({ id }) => id,
    );
    this.#claimed = new Set([...claims.keys()].flatMap((id) => indices.get(id ?? '') ?? []));
    const namedIndices = ({ id, spec }: Resource): readonly number[] | undefined => {
      if (id !== undefined) return claims.get(id)?.length === 1 ? at(indices.get(id)) : [];
      const key = kind.naturalKey?.(spec)?.key;
      return key === undefined ? undefined : (byKey.get(key) ?? []).filter((index) => !this.#claimed.has(index));
    };
    this.all = wanted.map((resource) => ({
      resource,
      leaves: knownLeaves(kind, resource, idOf),
      named: namedIndices(resource),
      remembered: indices.get(remembered.get(resource.address)?.id ?? ''),
    }));
  }

  /** Visits the records that the manifest names. For a manifest without `named`, visits the record in the backups and similar records. */
  visit(manifest: UnmatchedManifest, visitScore: (score: CandidateScore) => void): void {
    if (manifest.named !== undefined) {
      for (const index of manifest.named) visitScore(this.#named(manifest, index));
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
        visitScore({ index, agrees, differs, isRemembered, isExact: agrees > 0 && differs === 0 });
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

/** A field of a manifest with a known value. */
interface KnownLeaf {
  readonly path: LeafPath;
  readonly value: unknown;
}

/** Returns the known values of a manifest, without unset secrets and unresolved references. */
function knownLeaves(kind: Kind, { spec }: Resource, idOf: (reference: Reference) => string | undefined): KnownLeaf[] {
  return [...leavesOf(kind, spec)].flatMap(([path, written]) => {
    const value = withReferences(written, idOf);
    return isKnown(value) ? [{ path, value: revealSecrets(value) }] : [];
  });
}

/** Compares the fields that the platform returns with those of a manifest. */
function evidenceFor(kind: Kind, leaves: readonly KnownLeaf[], found: FoundRecord): Evidence {
  const expected = leaves.map(({ path, value }) => [path, value] as const);
  return evidenceOf(kind, expected, (path) => shownOf(kind, found, path));
}

/** Returns the value in the draft, or else in the latest published version, unless the draft has changed since. */
function shownOf(kind: Kind, { record, published }: FoundRecord, path: LeafPath): unknown {
  const own = valueInRecord(kind, record, path);
  return own === undefined && published?.ahead === false ? valueInRecord(kind, published.record, path) : own;
}

function isKnown(value: Value): boolean {
  if (!isComplete(value)) return false;
  for (const leaf of symbolicLeaves(value)) {
    if (leaf instanceof Unset || (leaf instanceof Secret && !leaf.isSet)) return false;
  }
  return true;
}

/** Assigns numbers to field values, with equal numbers for equal values, so that each value is normalized only once. */
class ShownFields {
  readonly #kind: Kind;
  readonly #pool: readonly FoundRecord[];
  readonly #numbers = new Map<string, number>();
  readonly #columns = new Map<LeafPath, Int32Array>();

  constructor(kind: Kind, pool: readonly FoundRecord[]) {
    this.#kind = kind;
    this.#pool = pool;
  }

  numberOf(path: LeafPath, value: unknown): number {
    const text = canonicalJson(normalised(ruleOf(this.#kind, path), value) as Json);
    const number = this.#numbers.get(text) ?? this.#numbers.size + 1;
    this.#numbers.set(text, number);
    return number;
  }

  /** Returns the number of the field for each record; 0 if the platform does not return it. */
  at(path: LeafPath): Int32Array {
    const cached = this.#columns.get(path);
    if (cached !== undefined) return cached;
    const column = Int32Array.from(this.#pool, (found) => {
      const value = shownOf(this.#kind, found, path);
      return value === undefined ? 0 : this.numberOf(path, value);
    });
    this.#columns.set(path, column);
    return column;
  }
}
