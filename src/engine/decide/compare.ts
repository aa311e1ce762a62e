import type { FieldRule } from '../../manifests/kind-schema.ts';
import { canonicalJson, isObject, type Json, jsonEqual } from '../../values/json.ts';
import { hasReference, revealed, type Value } from '../../values/value.ts';

/** Everything that is known of one managed leaf. */
export interface LeafState {
  readonly rule: FieldRule;
  /** D: the manifest's value, its references turned into ids as far as they exist. */
  readonly desired: Value;
  /** D as the state would hold it: secrets as fingerprints. */
  readonly masked: Json;
  /** R: what was last sent; undefined where nothing was. */
  readonly recorded: Json | undefined;
  /** O: what the platform shows now; undefined where it does not show the field. */
  readonly observed: unknown;
  /** B: what it showed right after the last apply; undefined where that is not known. */
  readonly baseline: Json | undefined;
  /** Others may move it: only a change of the manifest counts. */
  readonly ignoreDrift: boolean;
  /** The record is being adopted: nothing is recorded yet. */
  readonly adopting: boolean;
  /** When it was last sent, the platform kept the value that it had. */
  readonly kept: boolean;
  /** It refers to what it did, whose record is another one by now: nobody changed the manifest. */
  readonly referentMoved: boolean;
  /** What a published version shows of a field that the record itself does not; only while adopting. */
  readonly published: unknown;
  /** The fingerprint of a value that is shown although it ought to be secret. */
  fingerprintOf(shown: unknown): string;
  /** A shown value as the state would hold it. */
  formOf(shown: unknown): Json;
}

export type Verdict =
  /**
   * `rendering`: the values differ, and the platform's is its own form of what was sent. `first look`: they differ, and nobody saw
   * what the platform made of what was sent. `ignored`: they differ, and may.
   */
  | {
      readonly inSync: true;
      readonly verified: boolean;
      readonly because: 'equal' | 'rendering' | 'first look' | 'ignored';
    }
  /** `kept`: sent before, and the platform kept its own value: to be said, and not to be sent again by itself. */
  | { readonly inSync: false; readonly verified: boolean; readonly cause: 'kept' }
  | { readonly inSync: false; readonly verified: boolean; readonly cause: 'manifest' | 'drift' | 'both' };

export function compareLeaf(leaf: LeafState): Verdict {
  if (leaf.observed === undefined) return compareHidden(leaf);
  if (sameAsShown(leaf, leaf.observed)) return { inSync: true, verified: true, because: 'equal' };

  const manifestMoved = leaf.recorded === undefined || !sameAsRecorded(leaf, leaf.recorded);
  if (leaf.ignoreDrift && (leaf.adopting || !manifestMoved)) {
    return { inSync: true, verified: true, because: 'ignored' };
  }
  const platformMoved = leaf.baseline !== undefined && !sameAsBaseline(leaf, leaf.observed, leaf.baseline);
  if (leaf.referentMoved) return { inSync: false, verified: true, cause: 'drift' };
  if (manifestMoved) return { inSync: false, verified: true, cause: platformMoved ? 'both' : 'manifest' };
  if (platformMoved) return { inSync: false, verified: true, cause: 'drift' };
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
        (leaf.adopting && leaf.ignoreDrift)
      : sameAsRecorded(leaf, leaf.recorded);
  if (same && leaf.kept && !leaf.ignoreDrift) return { inSync: false, verified: false, cause: 'kept' };
  return same
    ? { inSync: true, verified: false, because: 'equal' }
    : { inSync: false, verified: false, cause: leaf.referentMoved ? 'drift' : 'manifest' };
}

function sameAsShown(leaf: LeafState, shown: unknown): boolean {
  if (!isComplete(leaf.desired)) return false;
  return sameValue(leaf.rule, revealed(leaf.desired), shown);
}

function sameAsRecorded(leaf: LeafState, recorded: Json): boolean {
  if (!isComplete(leaf.desired)) return false;
  return sameValue(leaf.rule, leaf.masked, recorded);
}

function sameAsBaseline(leaf: LeafState, shown: unknown, baseline: Json): boolean {
  if (isFingerprint(baseline)) return leaf.fingerprintOf(shown) === baseline.$fingerprint;
  return sameValue(leaf.rule, leaf.formOf(shown), baseline);
}

/** Equality after the field's normalising: sets without order, and what the kind says. */
export function sameValue(rule: FieldRule, a: unknown, b: unknown): boolean {
  return jsonEqual(normalised(rule, a), normalised(rule, b));
}

/** True where every reference in the value has become an id. */
export function isComplete(value: Value): boolean {
  return !hasReference(value);
}

export function isFingerprint(value: unknown): value is { readonly $fingerprint: string } {
  return isObject(value) && typeof value.$fingerprint === 'string';
}

/** The form in which values of a field are compared. */
export function normalised(rule: FieldRule, value: unknown): unknown {
  if (rule.set && Array.isArray(value))
    return [...new Set(value.map((item) => canonicalJson(item as Json)))].sort();
  if (rule.normalise && (typeof value === 'string' || typeof value === 'number'))
    return rule.normalise(value);
  return value;
}
