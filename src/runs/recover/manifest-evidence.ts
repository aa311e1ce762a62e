import { type Evidence, evidenceOf, isComplete, normalised } from '../../engine/decide/compare.ts';
import { leavesOf, ruleOf, shownAt } from '../../engine/decide/field-rules.ts';
import type { Kind } from '../../kinds/kind.ts';
import type { Resource } from '../../manifests/resource.ts';
import { canonicalJson, type Json } from '../../values/json.ts';
import type { LeafPath } from '../../values/path.ts';
import { type Reference, revealed, Secret, specials, Unset, type Value, withReferences } from '../../values/value.ts';
import type { FoundRecord } from '../discover.ts';

/** A field of a manifest with a known value. */
export interface KnownLeaf {
  readonly path: LeafPath;
  readonly value: unknown;
}

/** The known values of a manifest: without unset secrets and unresolved references. */
export function knownLeaves(
  kind: Kind,
  { spec }: Resource,
  idOf: (reference: Reference) => string | undefined,
): KnownLeaf[] {
  return [...leavesOf(kind, spec)].flatMap(([path, written]) => {
    const value = withReferences(written, idOf);
    return isKnown(value) ? [{ path, value: revealed(value) }] : [];
  });
}

/** Compares the shown fields of a record with a manifest. */
export function evidenceFor(kind: Kind, leaves: readonly KnownLeaf[], found: FoundRecord): Evidence {
  const expected = leaves.map(({ path, value }) => [path, value] as const);
  return evidenceOf(kind, expected, (path) => shownOf(kind, found, path));
}

/** The shown value of a field. For a hidden field, the latest published version counts unless the draft has changed since. */
function shownOf(kind: Kind, { record, published }: FoundRecord, path: LeafPath): unknown {
  const own = shownAt(kind, record, path);
  return own === undefined && published?.ahead === false ? shownAt(kind, published.record, path) : own;
}

function isKnown(value: Value): boolean {
  if (!isComplete(value)) return false;
  for (const special of specials(value)) {
    if (special instanceof Unset || (special instanceof Secret && !special.isSet)) return false;
  }
  return true;
}

/** The fields of many records as numbers, equal where the values are: each value is made canonical once. */
export class ShownFields {
  readonly #kind: Kind;
  readonly #pool: readonly FoundRecord[];
  readonly #numbers = new Map<string, number>();
  readonly #columns = new Map<LeafPath, Int32Array>();

  constructor(kind: Kind, pool: readonly FoundRecord[]) {
    this.#kind = kind;
    this.#pool = pool;
  }

  /** The number of a value. */
  numberOf(path: LeafPath, value: unknown): number {
    const text = canonicalJson(normalised(ruleOf(this.#kind, path), value) as Json);
    const number = this.#numbers.get(text) ?? this.#numbers.size + 1;
    this.#numbers.set(text, number);
    return number;
  }

  /** The number of the field for each record; 0 if it is not shown. */
  at(path: LeafPath): Int32Array {
    const known = this.#columns.get(path);
    if (known !== undefined) return known;
    const column = Int32Array.from(this.#pool, (found) => {
      const value = shownOf(this.#kind, found, path);
      return value === undefined ? 0 : this.numberOf(path, value);
    });
    this.#columns.set(path, column);
    return column;
  }
}
