import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import { type Fingerprints, isMasked, mask } from '../../state/fingerprint.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import { canonicalJson, isObject, type Json, jsonEqual, mapParts } from '../../values/json.ts';
import { type LeafPath, type Leaves, rootOf, valueAt } from '../../values/path.ts';
import { isTainted } from '../../values/value.ts';
import { isConfigObject, ruleOf, valueInRecord } from './field-rules.ts';

/** Returns the value that the platform returned right after the last apply; undefined if unknown. */
export function baselineOf(entry: ResourceEntry | undefined, path: LeafPath): Json | undefined {
  if (entry === undefined) return undefined;
  if (Object.hasOwn(entry.observed, path)) return entry.observed[path];
  return entry.unobserved.includes(path) ? undefined : recordedOf(entry, path);
}

export function recordedOf(entry: ResourceEntry | undefined, path: LeafPath): Json | undefined {
  return entry !== undefined && Object.hasOwn(entry.recorded, path) ? entry.recorded[path] : undefined;
}

/** True if the platform kept its own value when the recorded value was sent. */
export function wasIgnored(entry: ResourceEntry | undefined, path: LeafPath): boolean {
  return entry?.not_applied?.includes(path) === true;
}

/** True if the leaf was cleared on the platform: an earlier read returned it, and its config object is now returned without it. */
export function isCleared(
  kind: Kind,
  { entry, record }: { readonly entry: ResourceEntry | undefined; readonly record: ShownRecord },
  path: LeafPath,
): boolean {
  const root = rootOf(path);
  if (entry?.read?.includes(root) !== true || !isObject(record[root])) return false;
  const { hidden, writeOnly } = ruleOf(kind, path);
  if (hidden || writeOnly || valueAt(record, path) !== undefined) return false;
  return (baselineOf(entry, path) ?? null) !== null;
}

/** Returns the entry of an imported record before its first comparison. */
export function importedEntry(id: string): ResourceEntry {
  return { id, adopted: true, recorded: {}, observed: {}, unobserved: [] };
}

export interface EntryFacts {
  readonly kind: Kind;
  readonly record: ShownRecord;
  /** The leaves that count as applied, with all references resolved. */
  readonly settled: Leaves;
  /** Leaves that keep their recorded value. */
  readonly carried: Iterable<LeafPath>;
  /** Settled leaves whose observed value must not become the baseline, because others may have set it. */
  readonly driftIgnored: ReadonlySet<LeafPath>;
  /** Settled leaves for which the platform kept its own value. */
  readonly notApplied?: Iterable<LeafPath>;
  readonly previous: ResourceEntry | undefined;
  readonly adopted: boolean;
  readonly fingerprints: Fingerprints;
  /** The record as read after the last write; undefined if only the response to a write is known. */
  readonly read?: ShownRecord | undefined;
  /** Config objects that were resent, so that earlier reads of them are outdated. */
  readonly resent?: readonly string[];
  /** Returns the observed value of a leaf. By default, this is the value in the record. */
  readonly shown?: (path: LeafPath) => unknown;
}

/** Returns the state entry of a record after a write or a read. The fingerprints of `valuesToMask` must be prepared. */
export function stateEntryOf(facts: EntryFacts): ResourceEntry {
  const { kind, record, previous, fingerprints } = facts;
  const recorded: Record<LeafPath, Json> = {};
  const observed: Record<LeafPath, Json> = {};
  const unobserved: LeafPath[] = [];
  const shownBy = facts.shown ?? ((path: LeafPath) => valueInRecord(kind, record, path));
  const keepBaseline = (path: LeafPath): void => {
    const value = previous?.observed[path];
    if (value !== undefined) observed[path] = value;
    else if (previous?.unobserved.includes(path)) unobserved.push(path);
  };

  for (const path of facts.carried) {
    const value = recordedOf(previous, path);
    if (value === undefined) continue;
    recorded[path] = value;
    keepBaseline(path);
  }
  for (const [path, value] of facts.settled) {
    const masked = mask(value, fingerprints);
    recorded[path] = masked;
    const shown = facts.driftIgnored.has(path) ? undefined : shownBy(path);
    if (shown !== undefined) {
      const form = isTainted(value)
        ? { $fingerprint: fingerprints.of(toFingerprintText(shown)) }
        : mask(shown as Json, fingerprints);
      if (!jsonEqual(form, masked)) observed[path] = form;
    } else if (jsonEqual(recordedOf(previous, path), masked)) {
      keepBaseline(path);
    } else if (!facts.driftIgnored.has(path) && ruleOf(kind, path).writeOnly !== true) {
      unobserved.push(path);
    }
  }
  const notApplied = [...(facts.notApplied ?? [])].sort();
  const wasRead = (root: string): boolean => {
    if (!isObject(facts.read?.[root]))
      return previous?.read?.includes(root) === true && facts.resent?.includes(root) !== true;
    const leaves = Object.keys(recorded).filter((path) => rootOf(path) === root && !unobserved.includes(path));
    return leaves.every((path) => ruleOf(kind, path).writeOnly || valueAt(facts.read, path) !== undefined);
  };
  const roots = [...new Set(Object.keys(recorded).map(rootOf))].filter((root) => isConfigObject(kind, root));
  const read = roots.filter(wasRead).sort();
  const entry = {
    id: record.id,
    ...(facts.adopted && { adopted: true as const }),
    recorded,
    observed,
    unobserved: unobserved.sort(),
    ...(notApplied.length > 0 && { not_applied: notApplied }),
    ...(read.length > 0 && { read }),
  };
  // Usually nothing changed. Then keep the existing entry.
  return previous !== undefined && jsonEqual(entry, previous) ? previous : entry;
}

/** Yields the values that `stateEntryOf` and comparisons fingerprint: returned values of fields in which a secret is or was sent. */
export function* valuesToMask(
  kind: Kind,
  { leaves, record, entry }: { leaves: Leaves; record: ShownRecord; entry: ResourceEntry | undefined },
): Generator<string> {
  for (const [path, value] of leaves) {
    if (!isTainted(value) && !isMasked(baselineOf(entry, path))) continue;
    const shown = valueInRecord(kind, record, path);
    if (shown !== undefined) yield toFingerprintText(shown);
  }
}

/** True if the entry contains fingerprints of secrets. Values from the platform must then be compared by fingerprint. */
export function hasSecretFingerprints(entry: ResourceEntry | undefined): boolean {
  if (entry === undefined) return false;
  return Object.values(entry.recorded).some(isMasked) || Object.values(entry.observed).some(isMasked);
}

/** Converts a value from the platform to a string for fingerprinting. */
export function toFingerprintText(shown: unknown): string {
  return typeof shown === 'string' ? shown : canonicalJson(shown);
}

/** Returns the plain form of a value in the state; undefined if it is secret. */
export function plainOf(stored: Json | undefined): Json | undefined {
  return stored === undefined || isMasked(stored) ? undefined : unwrapLiterals(stored);
}

function unwrapLiterals(form: Json): Json {
  const isLiteral = isObject(form) && Object.hasOwn(form, '$literal');
  return mapParts<Json, Json>(isLiteral ? (form.$literal as Json) : form, unwrapLiterals);
}
