import { isComplete, normalised } from '../../engine/decide/compare.ts';
import { leavesOf, ruleOf, shownAt } from '../../engine/decide/field-rules.ts';
import { type Evidence, evidenceOf } from '../../engine/decide/match-evidence.ts';
import type { Kind } from '../../kinds/kind.ts';
import type { FieldRule } from '../../manifests/kind-schema.ts';
import type { Resource } from '../../manifests/resource.ts';
import { canonicalJson, type Json } from '../../values/json.ts';
import type { LeafPath } from '../../values/path.ts';
import {
  type Reference,
  revealed,
  Secret,
  specials,
  Unset,
  type Value,
  withReferences,
} from '../../values/value.ts';
import type { FoundRecord } from '../discover.ts';

/** A field of a manifest with a known value. */
export interface KnownLeaf {
  readonly path: LeafPath;
  readonly rule: FieldRule;
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
    return isKnown(value) ? [{ path, rule: ruleOf(kind, path), value: revealed(value) }] : [];
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

/** For each record of a pool, in order: how many fields of a manifest it shows, and how many of them agree. */
interface Counts {
  readonly shown: Uint16Array;
  readonly agrees: Uint16Array;
}

interface ShownValues {
  /** Records that show at least one field. */
  readonly all: readonly number[];
  readonly byText: ReadonlyMap<string, readonly number[]>;
}

/**
 * Compares many manifests with many records through an index of values: each value of a record is made canonical once, not once per
 * manifest.
 */
export class Agreement {
  readonly #kind: Kind;
  readonly #pool: readonly FoundRecord[];
  readonly #values = new Map<LeafPath, ShownValues>();
  readonly #counts: Counts;

  constructor(kind: Kind, pool: readonly FoundRecord[]) {
    this.#kind = kind;
    this.#pool = pool;
    this.#counts = { shown: new Uint16Array(pool.length), agrees: new Uint16Array(pool.length) };
  }

  /** The counts for one manifest, valid until the next call. */
  with(leaves: readonly KnownLeaf[]): Counts {
    const { shown, agrees } = this.#counts;
    shown.fill(0);
    agrees.fill(0);
    for (const { path, rule, value } of leaves) {
      const values = this.#valuesAt(path);
      const alike = values.byText.get(textOf(normalised(rule, value))) ?? [];
      for (const index of values.all) shown[index] = (shown[index] ?? 0) + 1;
      for (const index of alike) agrees[index] = (agrees[index] ?? 0) + 1;
    }
    return this.#counts;
  }

  #valuesAt(path: LeafPath): ShownValues {
    const known = this.#values.get(path);
    if (known !== undefined) return known;
    const rule = ruleOf(this.#kind, path);
    const all: number[] = [];
    const byText = new Map<string, number[]>();
    for (const [index, found] of this.#pool.entries()) {
      const value = shownOf(this.#kind, found, path);
      if (value === undefined) continue;
      all.push(index);
      const text = textOf(normalised(rule, value));
      const alike = byText.get(text);
      if (alike === undefined) byText.set(text, [index]);
      else alike.push(index);
    }
    const values = { all, byText };
    this.#values.set(path, values);
    return values;
  }
}

function textOf(value: unknown): string {
  return canonicalJson(value as Json);
}
