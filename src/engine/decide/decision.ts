import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import type { Address } from '../../manifests/resource.ts';
import type { NextStep } from '../../problems/next-step.ts';
import type { Fingerprints } from '../../state/fingerprint.ts';
import type { State } from '../../state/state.ts';
import type { Orphan, ResourceEntry } from '../../state/state-document.ts';
import type { Json, JsonObject } from '../../values/json.ts';
import type { Leaves } from '../../values/path.ts';
import { isTainted, toForms } from '../../values/value.ts';
import type { Action } from '../plan/plan-actions.ts';
import type { PlannedChange, PlannedResource, Remark } from '../plan/plan-document.ts';
import type { Binding, Bound } from './bind.ts';
import type { KnownRecords, NamedRecord } from './known-records.ts';
import type { Candidate, Observation, Observed } from './observed.ts';

/** Facts about one resource before any read. */
export interface OwnFacts {
  readonly binding: Binding;
  readonly kind: Kind;
  readonly mayReplace: boolean;
  /** True to resend fields whose last update the platform ignored. */
  readonly retryIgnored: boolean;
  /** True if a new record may replace a missing one. */
  readonly mayRecreate: boolean;
  readonly fingerprints: Fingerprints;
  readonly salt: string;
}

/** Facts about one resource when its action is decided. */
export interface Facts extends OwnFacts {
  readonly observation: Observation;
  /** The managed leaves, with references resolved as far as possible. */
  readonly leaves: Leaves;
  /** The next steps for references that cannot be resolved yet. */
  readonly missing: readonly NextStep[];
  /** Addresses that the resource refers to, whose id is known but whose record is missing. */
  readonly gone: ReadonlySet<Address>;
  /** Other records with the natural key of the manifest. */
  readonly sameKey: readonly ShownRecord[];
  /** Another address that already manages the observed record. */
  readonly holder: Address | undefined;
  /** Another address that already manages the first record of `sameKey`, unless this run releases that record. */
  readonly sameKeyHolder: Address | undefined;
  /** Another address with an unknown create of the same natural key. */
  readonly concurrentCreate: Address | undefined;
  /** Records that may be the result of an unknown create. */
  readonly candidates: readonly Candidate[];
  /** Former records of the address that were reported missing and exist again. */
  readonly returned: readonly Orphan[];
  readonly records: KnownRecords;
}

export interface Decision {
  readonly planned: PlannedResource;
  /** The id of the record after the apply, if it is known. */
  readonly id: string | undefined;
  /** The new state entry, from an import or a read. Undefined if a write follows, or if there is nothing to record. */
  readonly settled: ResourceEntry | undefined;
  readonly warnings: readonly Remark[];
  /** Records that an update would refer to, but that this run did not read. */
  readonly unchecked?: readonly NamedRecord[];
}

/** Returns the decision for a resource whose references cannot be resolved yet. */
export function waitFor(facts: Facts, steps: readonly NextStep[], changes: readonly PlannedChange[] = []): Decision {
  return decisionWithoutWrite(facts, 'manual', {
    reason: 'waits for a record that it refers to',
    changes,
    steps: [...steps],
  });
}

export function decisionWithoutWrite(facts: Facts, action: Action, details: PlannedDetails): Decision {
  return {
    planned: toPlannedResource(facts, action, details),
    id: facts.binding.entry?.id,
    settled: undefined,
    warnings: [],
  };
}

type PlannedDetails = Partial<PlannedResource> & { readonly reason: string };

export function toPlannedResource({ binding }: Facts, action: Action, details: PlannedDetails): PlannedResource {
  const { resource, previousAddress, entry } = binding;
  return {
    address: resource.address,
    kind: resource.kind,
    action,
    id: entry?.id ?? null,
    source: resource.source,
    changes: [],
    depends_on: [],
    ...(previousAddress !== undefined && { previous_address: previousAddress }),
    ...(resource.ignoreDrift.length > 0 && action !== 'noop' && { ignore_drift: [...resource.ignoreDrift] }),
    ...details,
  };
}

export function formsOf(leaves: Leaves): Record<string, Json> {
  return Object.fromEntries([...leaves].map(([path, value]) => [path, toForms(value)]));
}

/** Returns the dashboard step that creates a record of a kind without a create endpoint. */
export function creationStep({ kind, leaves }: Facts): NextStep {
  const instruction = kind.manualCreateStep?.(plainLeaves(leaves)) ?? 'Create it in the dashboard.';
  return { action: 'dashboard', instruction };
}

/** Returns the leaves without secrets, for messages about the record. */
export function plainLeaves(leaves: Leaves): JsonObject {
  return Object.fromEntries(
    [...leaves].filter(([, value]) => !isTainted(value)).map(([path, value]) => [path, toForms(value)]),
  );
}

export interface RunFacts extends Pick<Bound, 'allowReplace' | 'allowRecreate'> {
  readonly state: State;
  /** Prepared for all secrets of the resources and for the values of `valuesToMask`. */
  readonly fingerprints: Fingerprints;
  /** True to resend fields whose last update the platform ignored. */
  readonly retryIgnored?: boolean;
}

export interface DecideInput extends Bound, RunFacts {
  readonly observed: Observed;
  /** Decisions made before all reads were done. */
  readonly decided?: ReadonlyMap<Address, Decision>;
}
