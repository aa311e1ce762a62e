import { createHmac } from 'node:crypto';
import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import type { FieldRule, KindSchema } from '../../manifests/kind-schema.ts';
import { canonicalJson, isObject, type Json, jsonEqual } from '../../values/json.ts';
import type { LeafPath, Leaves } from '../../values/path.ts';
import { hasReference, isTainted, revealSecrets, type Value } from '../../values/value.ts';
import { ruleOf } from './field-rules.ts';

/** The values of one managed leaf, and the rules for comparing them. */
export interface LeafState {
  readonly rule: FieldRule;
  /** D: the manifest's value, with references resolved as far as possible. */
  readonly desired: Value;
  /** D in the format of the state, with fingerprints instead of secrets. */
  readonly masked: Json;
  /** R: the value that was last sent, if any. */
  readonly recorded: Json | undefined;
  /** O: the value that the platform returns now; undefined if it does not return the field. */
  readonly observed: unknown;
  /** B: the value that the platform returned right after the last apply; undefined if unknown. */
  readonly baseline: Json | undefined;
  /** True if others may change the field. A difference then counts only if the manifest changed. */
  readonly ignoreDrift: boolean;
  /** True if the record is being imported, so that nothing is recorded yet. */
  readonly adopting: boolean;
  /** True if the platform kept its own value when the field was last sent. */
  readonly kept: boolean;
  /** True if the reference is unchanged, but its target has a new id. */
  readonly referentReplaced: boolean;
  /** The value in the published version, if the record does not contain the field. Set only during an import. */
  readonly published: unknown;
  /** Returns the fingerprint of a value that the platform returned in a secret field. */
  fingerprintOf(shown: unknown): string;
  /** Returns a value from the platform in the format of the state. */
  formOf(shown: unknown): Json;
}

export type Verdict =
  /**
   * `rendering`: the values differ because the platform returns the sent value in another form. `first look`: the values differ, but no
   * read followed the last write. `ignored`: the values differ, but others may change the field.
   */
  | {
      readonly inSync: true;
      readonly verified: boolean;
      readonly because: 'equal' | 'rendering' | 'first look' | 'ignored';
    }
  /** `kept`: the platform kept its own value. The difference is reported, but the field is not resent automatically. */
  | { readonly inSync: false; readonly verified: boolean; readonly cause: 'kept' }
  | { readonly inSync: false; readonly verified: boolean; readonly cause: 'manifest' | 'drift' | 'both' };

export function compareLeaf(leaf: LeafState): Verdict {
  if (leaf.observed === undefined) return compareHidden(leaf);
  if (sameAsShown(leaf, leaf.observed)) return { inSync: true, verified: true, because: 'equal' };

  const manifestChanged = leaf.recorded === undefined || !sameAsRecorded(leaf, leaf.recorded);
  if (leaf.ignoreDrift && (leaf.adopting || !manifestChanged)) {
    return { inSync: true, verified: true, because: 'ignored' };
  }
  const platformChanged = leaf.baseline !== undefined && !sameAsBaseline(leaf, leaf.observed, leaf.baseline);
  if (leaf.referentReplaced) return { inSync: false, verified: true, cause: 'drift' };
  if (manifestChanged) return { inSync: false, verified: true, cause: platformChanged ? 'both' : 'manifest' };
  if (platformChanged) return { inSync: false, verified: true, cause: 'drift' };
  if (leaf.kept) return { inSync: false, verified: true, cause: 'kept' };
  return {
    inSync: true,
    verified: true,
    because: leaf.baseline === undefined ? 'first look' : 'rendering',
  };
}

function compareHidden(leaf: LeafState): Verdict {
  const same =
    leaf.recorded === undefined
      ? (leaf.published !== undefined && sameAsShown(leaf, leaf.published)) ||
        (leaf.adopting && leaf.ignoreDrift) ||
        // The platform may omit a field without a value. Setting null would require a new record.
        (leaf.desired === null && leaf.rule.immutable === true)
      : sameAsRecorded(leaf, leaf.recorded);
  if (same && leaf.kept && !leaf.ignoreDrift) return { inSync: false, verified: false, cause: 'kept' };
  return same
    ? { inSync: true, verified: false, because: 'equal' }
    : { inSync: false, verified: false, cause: leaf.referentReplaced ? 'drift' : 'manifest' };
}

function sameAsShown(leaf: LeafState, shown: unknown): boolean {
  if (!isComplete(leaf.desired)) return false;
  return sameValue(leaf.rule, revealSecrets(leaf.desired), shown);
}

function sameAsRecorded(leaf: LeafState, recorded: Json): boolean {
  if (!isComplete(leaf.desired)) return false;
  return sameValue(leaf.rule, leaf.masked, recorded);
}

function sameAsBaseline(leaf: LeafState, shown: unknown, baseline: Json): boolean {
  if (isFingerprint(baseline)) return leaf.fingerprintOf(shown) === baseline.$fingerprint;
  return sameValue(leaf.rule, leaf.formOf(shown), baseline);
}

/** Compares two values after normalizing them. The order of sets does not matter, and the kind may define a further rule. */
export function sameValue(rule: FieldRule, a: unknown, b: unknown): boolean {
  return jsonEqual(normalised(rule, a), normalised(rule, b));
}

/** True if the value contains no unresolved reference. */
export function isComplete(value: Value): boolean {
  return !hasReference(value);
}

export function isFingerprint(value: unknown): value is { readonly $fingerprint: string } {
  return isObject(value) && typeof value.$fingerprint === 'string';
}

/** Returns the normalized form of a value, which is used for comparisons. */
export function normalised(rule: FieldRule, value: unknown): unknown {
  if (rule.set && Array.isArray(value)) return [...new Set(value.map((item) => canonicalJson(item)))].sort();
  if (rule.normalise && (typeof value === 'string' || typeof value === 'number')) return rule.normalise(value);
  return value;
}

/** Returns a keyed digest of all manageable fields except secrets. Equal digests mean equal values; sets have no order. */
export function digestOf(
  kind: Kind,
  { record, leaves, salt }: { record: ShownRecord; leaves: Leaves; salt: string },
): string {
  const secret = new Set([...leaves].filter(([, value]) => isTainted(value)).map(([path]) => path));
  const strip = (value: unknown, path: LeafPath): unknown => {
    if (secret.has(path) || ruleOf(kind, path).writeOnly) return undefined;
    if (!isObject(value)) return normalised(ruleOf(kind, path), value);
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, strip(item, `${path}.${key}`)]));
  };
  const fields = Object.keys(kind.spec.shape).map((root) => [root, strip(record[root], root) ?? null]);
  return createHmac('sha256', salt)
    .update(canonicalJson([record.id, fields]))
    .digest('base64url');
}

/** The fields of a record that match the expected values, and the fields that differ. */
export interface Evidence {
  readonly agrees: readonly LeafPath[];
  readonly differs: readonly LeafPath[];
}

/** The maximum number of candidates that are offered for one resource. */
export const MAX_OFFERED = 3;

/** Compares the values of a record with expected values. Ignores fields that the platform does not return. */
export function evidenceOf(
  kind: KindSchema,
  expected: Iterable<readonly [LeafPath, unknown]>,
  shownAt: (path: LeafPath) => unknown,
): Evidence {
  const agrees: LeafPath[] = [];
  const differs: LeafPath[] = [];
  for (const [path, value] of expected) {
    const shown = shownAt(path);
    if (shown !== undefined) (sameValue(ruleOf(kind, path), value, shown) ? agrees : differs).push(path);
  }
  return { agrees: agrees.sort(), differs: differs.sort() };
}

/** Returns the number of matching fields minus the number of differing fields. A result above zero indicates a likely match. */
export function likelihood({ agrees, differs }: Evidence): number {
  return agrees.length - differs.length;
}
