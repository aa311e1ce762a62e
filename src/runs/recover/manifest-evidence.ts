import { isComplete } from '../../engine/decide/compare.ts';
import { leavesOf, ruleOf, shownAt } from '../../engine/decide/field-rules.ts';
import { type Evidence, evidenceOf } from '../../engine/decide/match-evidence.ts';
import type { Kind } from '../../kinds/kind.ts';
import type { FieldRule } from '../../manifests/kind-schema.ts';
import type { Resource } from '../../manifests/resource.ts';
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

/** A field of a manifest whose value is known. */
export interface KnownLeaf {
  readonly path: LeafPath;
  readonly rule: FieldRule;
  readonly value: unknown;
}

/** What a manifest says; what it does not say yet, a secret that is not set or a reference to a record that is not known, is left out. */
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

/** Compares a record with a manifest, by what is shown. */
export function evidenceFor(kind: Kind, leaves: readonly KnownLeaf[], found: FoundRecord): Evidence {
  const expected = leaves.map(({ path, value }) => [path, value] as const);
  return evidenceOf(kind, expected, (path) => shownOf(kind, found, path));
}

/** What a record shows of a field; where it hides it, what its latest published version shows, unless the draft has moved on since. */
export function shownOf(kind: Kind, { record, published }: FoundRecord, path: LeafPath): unknown {
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
