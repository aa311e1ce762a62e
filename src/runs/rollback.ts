import { sameValue } from '../engine/decide/compare.ts';
import { leavesOf, ruleOf, shownAt } from '../engine/decide/field-rules.ts';
import type { Kind, ShownRecord } from '../kinds/kind.ts';
import type { Address, Resource } from '../manifests/resource.ts';
import type { WantedValue } from '../project/write-back/edit-plan.ts';
import type { Json } from '../values/json.ts';
import { isTainted, references, revealed, withReferences } from '../values/value.ts';
import type { NotAcceptable } from './accept.ts';

interface RollingBack {
  readonly kind: Kind;
  readonly resource: Resource;
  /** The record as it was published. */
  readonly version: ShownRecord;
  /** Ids of what a `$ref` can name. */
  readonly records: ReadonlyMap<Address, string>;
}

/** What the manifest must say so that the next plan brings a published version back: managed fields alone, and only those that differ. */
export function valuesOfVersion({ kind, resource, version, records }: RollingBack): {
  readonly wanted: readonly WantedValue[];
  readonly refused: readonly NotAcceptable[];
} {
  const { address } = resource;
  const wanted: WantedValue[] = [];
  const refused: NotAcceptable[] = [];
  for (const [path, value] of leavesOf(kind, resource.spec)) {
    const rule = ruleOf(kind, path);
    if (rule.writeOnly) continue;
    const shown = shownAt(kind, version, path);
    if (shown === undefined) {
      refused.push({ address, path, why: 'the version does not show it; left unchanged' });
      continue;
    }
    const desired = withReferences(value, (reference) => records.get(reference.address));
    const isKnown = references(desired).next().done === true;
    if (isKnown && sameValue(rule, revealed(desired), shown)) continue;
    if (isTainted(value)) {
      refused.push({ address, path, why: 'its value is a secret' });
    } else wanted.push({ address, path, value: shown as Json });
  }
  return { wanted, refused };
}
