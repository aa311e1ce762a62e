import { isComplete, sameValue } from '../../engine/compare.ts';
import { leavesOf, ruleOf, shownAt } from '../../engine/field-rules.ts';
import type { Kind } from '../../kinds/kind.ts';
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

/** How well a record fits a manifest. */
export interface Evidence {
  /** Managed fields that the platform shows as the manifest has them. */
  readonly agrees: readonly LeafPath[];
  readonly differs: readonly LeafPath[];
}

/**
 * Compares records with one manifest, by what is shown: of what a record hides, by what its latest published version shows, unless the
 * draft has moved on since. What the manifest does not say yet, a secret that is not set or a reference to a record that is not known, says nothing.
 */
export function evidenceFor(
  kind: Kind,
  { spec }: Resource,
  idOf: (reference: Reference) => string | undefined,
): (found: FoundRecord) => Evidence {
  const wanted = [...leavesOf(kind, spec)].flatMap(([path, written]) => {
    const value = withReferences(written, idOf);
    return isKnown(value) ? [{ path, rule: ruleOf(kind, path), value: revealed(value) }] : [];
  });
  return ({ record, published }) => {
    const agrees: LeafPath[] = [];
    const differs: LeafPath[] = [];
    const version = published?.ahead ? undefined : published?.record;
    for (const { path, rule, value } of wanted) {
      const shown = firstShown(kind, [record, version], path);
      if (shown !== undefined) (sameValue(rule, value, shown) ? agrees : differs).push(path);
    }
    return { agrees: agrees.sort(), differs: differs.sort() };
  };
}

function firstShown(kind: Kind, records: readonly (object | undefined)[], path: LeafPath): unknown {
  for (const record of records) {
    const shown = shownAt(kind, record, path);
    if (shown !== undefined) return shown;
  }
  return undefined;
}

function isKnown(value: Value): boolean {
  if (!isComplete(value)) return false;
  for (const special of specials(value)) {
    if (special instanceof Unset || (special instanceof Secret && !special.isSet)) return false;
  }
  return true;
}
