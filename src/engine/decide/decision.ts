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
import type { KnownRecords } from './known-records.ts';
import type { Candidate, Observation, Observed } from './observed.ts';
import type { NamedRecord } from './omitted-ids.ts';

/** What is known of one resource before anything was read. */
export interface OwnFacts {
  readonly binding: Binding;
  readonly kind: Kind;
  readonly mayReplace: boolean;
  /** What the platform did not apply is to be sent again. */
  readonly retryIgnored: boolean;
  /** Another record may take the place of one that is missing. */
  readonly mayRecreate: boolean;
  readonly fingerprints: Fingerprints;
  readonly salt: string;
}

/** What is known of one resource when its action is decided. */
export interface Facts extends OwnFacts {
  readonly observation: Observation;
  /** The managed leaves, with references turned into ids as far as they are known. */
  readonly leaves: Leaves;
  /** A step for each reference to something that only a person can bring about. */
  readonly missing: readonly NextStep[];
  /** What it refers to and has an id, but no record on the platform. */
  readonly gone: ReadonlySet<Address>;
  /** The records with the natural key that the manifest now has, except the remembered one. */
  readonly namesakes: readonly ShownRecord[];
  /** Another address that already holds the observed record. */
  readonly holder: Address | undefined;
  /** Another declared resource that already holds the first of the namesakes. */
  readonly namesakeHolder: Address | undefined;
  /** Another address whose unknown create was to have the same natural key. */
  readonly contender: Address | undefined;
  /** Records that may be the one of an unknown create. */
  readonly candidates: readonly Candidate[];
  /** Records that the address had before, and that the platform shows again after it had called them gone. */
  readonly returned: readonly Orphan[];
  readonly records: KnownRecords;
}

export interface Decision {
  readonly planned: PlannedResource;
  /** The record's id once applied, where it is known already. */
  readonly id: string | undefined;
  /** The state's entry if nothing is written: what an adoption, or mere bookkeeping, puts down. */
  readonly settled: ResourceEntry | undefined;
  readonly warnings: readonly Remark[];
  /** Records that an update would reference and that this run did not read. */
  readonly unchecked?: readonly NamedRecord[];
}

/** What a resource waits for when something that only a person can bring about is missing. */
export function waiting(
  facts: Facts,
  steps: readonly NextStep[],
  changes: readonly PlannedChange[] = [],
): Decision {
  return without(facts, 'manual', { reason: 'waits for a record it refers to', changes, steps: [...steps] });
}

/** Nothing is written. */
export function without(facts: Facts, action: Action, details: PlannedDetails): Decision {
  return {
    planned: plannedAs(facts, action, details),
    id: facts.binding.entry?.id,
    settled: undefined,
    warnings: [],
  };
}

type PlannedDetails = Partial<PlannedResource> & { readonly reason: string };

export function plannedAs({ binding }: Facts, action: Action, details: PlannedDetails): PlannedResource {
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

/** How a person makes a record of a kind that the API does not create. */
export function creationStep({ kind, leaves }: Facts): NextStep {
  const instruction = kind.manualCreateStep?.(plainLeaves(leaves)) ?? 'Create it in the dashboard.';
  return { action: 'dashboard', instruction };
}

/** The leaves that can be said aloud, for a sentence that names the record. */
export function plainLeaves(leaves: Leaves): JsonObject {
  return Object.fromEntries(
    [...leaves].filter(([, value]) => !isTainted(value)).map(([path, value]) => [path, toForms(value)]),
  );
}

export interface RunFacts extends Pick<Bound, 'allowReplace' | 'allowRecreate'> {
  readonly state: State;
  /** Prepared for every secret of the resources and for what `textsToMask` gives. */
  readonly fingerprints: Fingerprints;
  /** What the platform did not apply is to be sent again. */
  readonly retryIgnored?: boolean;
}

export interface Deciding extends Bound, RunFacts {
  readonly observed: Observed;
  /** What could be decided before everything was observed. */
  readonly decided?: ReadonlyMap<Address, Decision>;
}
