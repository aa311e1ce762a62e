import { lookUp } from '../../engine/decide/references.ts';
import type { PlanResult } from '../../engine/engine.ts';
import type { PlannedResource } from '../../engine/plan/plan-document.ts';
import type { ShownRecord } from '../../kinds/kind.ts';
import { type LookupNames, namesInManifests } from '../../manifests/lookup-names.ts';
import { type Address, idKey, kindOf, type Resource } from '../../manifests/resource.ts';
import type { Fingerprints } from '../../state/fingerprint.ts';
import type { State } from '../../state/state.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import type { Reference } from '../../values/value.ts';

/** One of the two workspaces. */
export interface Side {
  readonly name: string;
  readonly workspaceId: string;
  readonly baseUrl: string;
  /** The declared resources. */
  readonly members: ReadonlyMap<Address, Member>;
  readonly salt: string;
  readonly fingerprints: Fingerprints;
  /** The id of a reference; undefined if unknown. */
  idOf(reference: Reference): string | undefined;
  /** The address of a record; undefined if unknown. */
  addressOf(kind: string, id: string): Address | undefined;
}

/** A declared resource in one workspace. */
export interface Member {
  readonly resource: Resource;
  readonly planned: PlannedResource;
  readonly entry: ResourceEntry | undefined;
  readonly record: ShownRecord | undefined;
}

export interface SeenSide {
  readonly planned: PlanResult;
  readonly desired: readonly Resource[];
  readonly state: State;
  readonly lookupNames: LookupNames | undefined;
}

/** A side made from a plan that read all records. */
export function sideOf({ planned, desired, state, lookupNames }: SeenSide): Side {
  const { document, observed } = planned.plan;
  const actions = new Map(document.resources.map((resource) => [resource.address, resource]));
  const members = new Map<Address, Member>();
  const ids = new Map<Address, string>();
  for (const [address, { id }] of state.resources) ids.set(address, id);
  for (const resource of desired) {
    const action = actions.get(resource.address);
    if (action === undefined) continue;
    const seen = observed.records.get(resource.address);
    const record = seen?.status === 'shown' ? seen.record : undefined;
    const entry = state.resources.get(action.previous_address ?? resource.address);
    members.set(resource.address, { resource, planned: action, entry, record });
    if (record !== undefined) ids.set(resource.address, record.id);
  }
  const addresses = new Map<string, Address>();
  for (const [address, id] of ids) addresses.set(idKey(kindOf(address), id), address);
  for (const [kind, names] of observed.lookups) {
    for (const [name, found] of names) {
      const [inManifests] = namesInManifests(lookupNames, kind, name);
      if (inManifests === undefined) continue;
      for (const id of found) addresses.set(idKey(kind, id), `${kind}/${inManifests}`);
    }
  }
  return {
    name: document.workspace,
    workspaceId: document.workspace_id,
    baseUrl: document.base_url,
    members,
    salt: state.salt,
    fingerprints: planned.fingerprints,
    idOf: (reference) => lookUp(reference, observed.lookups) ?? ids.get(reference.address),
    addressOf: (kind, id) => addresses.get(idKey(kind, id)),
  };
}
