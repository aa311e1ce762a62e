import { normalised } from '../../engine/decide/compare.ts';
import { ruleOf } from '../../engine/decide/field-rules.ts';
import type { Kind } from '../../kinds/kind.ts';
import { canonicalJson, type Json } from '../../values/json.ts';
import type { LeafPath } from '../../values/path.ts';
import type { FoundRecord } from '../discover.ts';
import { type KnownLeaf, shownOf } from './manifest-evidence.ts';

/** For each record of a pool, in its order: how many fields of a manifest it shows, and how many of those agree. */
interface Counts {
  readonly shown: Uint16Array;
  readonly agrees: Uint16Array;
}

interface ShownValues {
  /** Records that show something. */
  readonly all: readonly number[];
  readonly byText: ReadonlyMap<string, readonly number[]>;
}

/**
 * Compares many manifests with many records by looking values up: each value of a record is brought into its canonical form once, not
 * once for every manifest.
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

  /** The counts for one manifest, until the next call. */
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
