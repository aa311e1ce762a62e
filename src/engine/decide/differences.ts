import { createHash } from 'node:crypto';
import type { Kind, PublishedRecord, ShownRecord } from '../../kinds/kind.ts';
import type { FieldRule } from '../../manifests/kind-schema.ts';
import { type Address, idKey } from '../../manifests/resource.ts';
import { type Fingerprints, isMasked, mask } from '../../state/fingerprint.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import { canonicalJson, type Json, mapParts } from '../../values/json.ts';
import { isUnder, type LeafPath, type Leaves, valueAt } from '../../values/path.ts';
import { isSymbolic, isTainted, Reference, type Value } from '../../values/value.ts';
import type { PlannedChange } from '../plan/plan-document.ts';
import { compareLeaf, isComplete, isFingerprint, sameValue, type Verdict } from './compare.ts';
import { ruleOf, valueInRecord } from './field-rules.ts';
import { baselineOf, isCleared, plainOf, recordedOf, toFingerprintText, wasIgnored } from './state-entry.ts';

export interface CompareInput {
  readonly kind: Kind;
  readonly leaves: Leaves;
  readonly entry: ResourceEntry | undefined;
  /** Undefined if the state entry is used instead. */
  readonly record: ShownRecord | undefined;
  readonly published: PublishedRecord | undefined;
  readonly adopting: boolean;
  readonly ignoreDrift: readonly LeafPath[];
  /** True to resend fields whose last update the platform ignored. */
  readonly retryIgnored: boolean;
  readonly fingerprints: Fingerprints;
  readonly owners: Owners;
}

export interface Differences {
  readonly changes: readonly PlannedChange[];
  /** Fields whose last update the platform ignored, with the value that it kept; undefined if that value is secret. */
  readonly notApplied: ReadonlyMap<LeafPath, Json | undefined>;
  /** Fields that count as in sync although the platform returns another value. The platform or a person may have changed the value. */
  readonly unclear: readonly LeafPath[];
  /** Fields that the platform does not return and that are in sync according to the state. */
  readonly unverified: readonly LeafPath[];
  /** Fields that count as applied, with their desired values. */
  readonly settled: Leaves;
  /** Settled fields whose value on the platform differs, as `ignore_drift` allows. */
  readonly driftIgnored: ReadonlySet<LeafPath>;
  /** Fields that need no change, but whose desired value is not known yet. They are not recorded. */
  readonly open: readonly LeafPath[];
  /** Recorded fields that are no longer in the manifest. */
  readonly released: readonly LeafPath[];
}

/** Compares all managed leaves of an existing record. */
export function differencesOf(facts: CompareInput): Differences {
  const result = {
    changes: [] as PlannedChange[],
    notApplied: new Map<LeafPath, Json | undefined>(),
    unclear: [] as LeafPath[],
    unverified: [] as LeafPath[],
    settled: new Map<LeafPath, Value>(),
    driftIgnored: new Set<LeafPath>(),
    open: [] as LeafPath[],
  };
  const compare = compareFields(facts);
  for (const path of [...facts.leaves.keys()].sort()) {
    const desired = facts.leaves.get(path) as Value;
    const { verdict, referents } = compare(path, desired);
    if (!verdict.inSync && (verdict.cause !== 'kept' || facts.retryIgnored)) {
      const change = changeOf(facts, path, verdict);
      result.changes.push(referents.length === 0 ? change : { ...change, referents });
      continue;
    }
    if (!verdict.inSync) result.notApplied.set(path, keptValue(facts, path, desired));
    else if (!verdict.verified) result.unverified.push(path);
    if (!isComplete(desired)) {
      result.open.push(path);
      continue;
    }
    result.settled.set(path, desired);
    if (verdict.inSync && verdict.because === 'ignored') result.driftIgnored.add(path);
    if (verdict.inSync && verdict.because === 'first look') result.unclear.push(path);
  }
  const released = Object.keys(facts.entry?.recorded ?? {}).filter((path) => !facts.leaves.has(path));
  return { ...result, released: released.sort() };
}

function compareFields(facts: CompareInput) {
  const { kind, entry, fingerprints, published, owners, adopting } = facts;
  const helpers = {
    fingerprintOf: (shown: unknown): string => fingerprints.of(toFingerprintText(shown)),
    formOf: (shown: unknown): Json => mask(shown as Json, fingerprints),
  };
  return (path: LeafPath, desired: Value) => {
    const rule = ruleOf(kind, path);
    const recorded = recordedOf(entry, path);
    const referents = replacedReferents(rule, { desired, recorded }, owners);
    const verdict = compareLeaf({
      ...helpers,
      rule,
      referentReplaced: referents.length > 0,
      desired,
      masked: isComplete(desired) ? mask(desired, fingerprints) : null,
      recorded,
      observed: observedAt(facts, path),
      baseline: baselineOf(entry, path),
      ignoreDrift: facts.ignoreDrift.some((prefix) => isUnder(path, prefix)),
      adopting,
      kept: wasIgnored(entry, path),
      published: published && valueInRecord(kind, published.record, path),
    });
    return { verdict, referents };
  };
}

/** Returns the value that the platform kept instead of the sent one; undefined if it is secret. */
function keptValue(facts: CompareInput, path: LeafPath, desired: Value): Json | undefined {
  const isSecret = isTainted(desired) || isMasked(recordedOf(facts.entry, path));
  return isSecret ? undefined : (observedAt(facts, path) as Json | undefined);
}

/** Returns the platform's value of a field, or its baseline without a read; null for a cleared field if reads omit empty fields. */
function observedAt({ kind, record, entry }: CompareInput, path: LeafPath): unknown {
  if (record !== undefined) return isCleared(kind, { entry, record }, path) ? null : valueInRecord(kind, record, path);
  return plainOf(baselineOf(entry, path));
}

function changeOf(facts: CompareInput, path: LeafPath, verdict: Verdict & { inSync: false }): PlannedChange {
  const { kind, entry, fingerprints } = facts;
  const desired = facts.leaves.get(path) as Value;
  const rule = ruleOf(kind, path);
  const recorded = recordedOf(entry, path);
  const common = {
    path,
    cause: verdict.cause === 'kept' ? ('manifest' as const) : verdict.cause,
    verified: verdict.verified && facts.record !== undefined,
    ...(verdict.cause === 'kept' && { not_applied: true as const }),
    ...(rule.manual && { manual: true as const }),
  };
  if (isTainted(desired) || rule.writeOnly || isMasked(recorded)) {
    const shown = observedAt(facts, path);
    const hasOtherValue =
      shown !== undefined && isTainted(desired) && (verdict.cause !== 'manifest' || recorded === undefined);
    const before = hasOtherValue ? fingerprints.of(toFingerprintText(shown)) : fingerprintIn(recorded);
    const after = isComplete(desired) ? fingerprintIn(mask(desired, fingerprints)) : undefined;
    return {
      ...common,
      sensitive: true,
      fingerprints: { ...(before !== undefined && { before }), ...(after !== undefined && { after }) },
    };
  }
  const shown = [observedAt(facts, path), valueAt(facts.published?.record, path), plainOf(recorded)].find(
    (value) => value !== undefined,
  );
  return {
    ...common,
    sensitive: false,
    ...(shown !== undefined && { before: shown as Json }),
    after: toPlanForm(desired),
  };
}

/** Returns the changes of a create: all leaves that it sends, and all leaves that a person must set afterwards. */
export function creationOf(kind: Kind, leaves: Leaves, fingerprints: Fingerprints): PlannedChange[] {
  return [...leaves.keys()].sort().map((path) => {
    const desired = leaves.get(path) as Value;
    const rule = ruleOf(kind, path);
    const common = {
      path,
      cause: 'manifest' as const,
      verified: true,
      // A new record has no value yet, so null needs no manual step.
      ...(rule.notAtCreate && desired !== null && { manual: true as const }),
    };
    if (!isTainted(desired) && !rule.writeOnly) return { ...common, sensitive: false, after: toPlanForm(desired) };
    const after = isComplete(desired) ? fingerprintIn(mask(desired, fingerprints)) : undefined;
    return { ...common, sensitive: true, ...(after !== undefined && { fingerprints: { after } }) };
  });
}

/** Converts a value to the format of a plan, in which an address represents the id of a record that does not exist yet. */
function toPlanForm(value: Value): Json {
  if (value instanceof Reference) return { unknown_until_apply: value.address };
  if (isSymbolic(value)) return '(known after apply)';
  return mapParts<Value, Json>(value, toPlanForm);
}

/**
 * Returns the fingerprint of a masked value. If the value is not a single secret, returns a digest of the whole value, which detects
 * every change. Guessing a secret from the digest takes as long as guessing it from its fingerprint.
 */
function fingerprintIn(masked: Json | undefined): string | undefined {
  if (masked === undefined || !isMasked(masked)) return undefined;
  if (isFingerprint(masked)) return masked.$fingerprint;
  return createHash('sha256').update(canonicalJson(masked)).digest('base64url');
}

/** The current or former address of each record, by kind and id. */
type Owners = ReadonlyMap<string, Address>;

/** Returns the targets that have a new record although the references are unchanged. Returns none if the manifest changed. */
function replacedReferents(
  rule: FieldRule,
  { desired, recorded }: { readonly desired: Value; readonly recorded: Json | undefined },
  owners: Owners,
): readonly Address[] {
  const { refersTo } = rule;
  if (refersTo === undefined || recorded === undefined) return [];
  const addressOf = (item: Value): Value =>
    item instanceof Reference
      ? item.address
      : typeof item === 'string'
        ? (owners.get(idKey(refersTo, item)) ?? item)
        : item;
  const named = (value: Value): Value => (Array.isArray(value) ? value.map(addressOf) : addressOf(value));
  if (!sameValue(rule, named(desired), named(recorded))) return [];
  const before = new Set(Array.isArray(recorded) ? recorded : [recorded]);
  const replaced = (Array.isArray(desired) ? desired : [desired]).filter(
    (item) => item !== null && (typeof item !== 'string' || !before.has(item)),
  );
  return [...new Set(replaced.map((item) => String(addressOf(item))))].sort();
}
