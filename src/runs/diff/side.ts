import { isFingerprint } from '../../engine/decide/compare.ts';
import { leavesOf, ruleOf, shownAt } from '../../engine/decide/field-rules.ts';
import { lookUp } from '../../engine/decide/references.ts';
import { plainOf, recordedOf } from '../../engine/decide/state-entry.ts';
import type { PlanResult } from '../../engine/engine.ts';
import type { PlannedResource } from '../../engine/plan/plan-document.ts';
import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import { type LookupNames, namesInManifests } from '../../manifests/lookup-names.ts';
import { type Address, idKey, kindOf, type Resource } from '../../manifests/resource.ts';
import { type Fingerprints, isMasked, mask } from '../../state/fingerprint.ts';
import type { State } from '../../state/state.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import { type Json, jsonEqual, mapParts } from '../../values/json.ts';
import type { LeafPath } from '../../values/path.ts';
import {
  isTainted,
  type Reference,
  references,
  revealed,
  type Value,
  withReferences,
} from '../../values/value.ts';

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

/** A managed field of a record. May contain secrets: it must not be shown. */
export interface Held {
  /** The value with references as addresses; undefined if unknown. */
  readonly value: Json | undefined;
  /** False if the platform does not show it. */
  readonly verified: boolean;
  /** Replaces the value if the state has only its fingerprint. */
  readonly fingerprint: string | undefined;
  /** True if the value is or was secret. */
  readonly sensitive: boolean;
}

export interface HeldField {
  readonly kind: Kind;
  readonly path: LeafPath;
  /** The references of both manifests in this field. */
  readonly refs: readonly Reference[];
}

/** The value in the manifests; undefined if the field is not managed. */
export function desiredAt(
  member: Member,
  { kind, path }: Pick<HeldField, 'kind' | 'path'>,
): Value | undefined {
  return leavesOf(kind, member.resource.spec).get(path);
}

/** The value of the record as shown by the platform, else as last sent. */
export function heldAt(side: Side, member: Member, field: HeldField): Held {
  const { kind, path } = field;
  const rule = ruleOf(kind, path);
  const desired = desiredAt(member, field);
  const recorded = recordedOf(member.entry, path);
  const sensitive =
    rule.writeOnly === true || isMasked(recorded) || (desired !== undefined && isTainted(desired));
  const shown = shownAt(kind, member.record, path);
  if (shown !== undefined) {
    return {
      value: byAddress(shown as Json, side, field),
      verified: true,
      fingerprint: undefined,
      sensitive,
    };
  }
  const fingerprint = isFingerprint(recorded) ? recorded.$fingerprint : undefined;
  const sent = plainOf(recorded);
  const value = sent === undefined ? secretSent(side, { desired, recorded }) : byAddress(sent, side, field);
  return { value, verified: false, fingerprint, sensitive };
}

/** The secret of the manifest, if it was the last one sent. */
function secretSent(
  side: Side,
  { desired, recorded }: { desired: Value | undefined; recorded: Json | undefined },
): Json | undefined {
  if (desired === undefined || recorded === undefined) return undefined;
  const complete = withReferences(desired, (reference) => side.idOf(reference));
  if (references(complete).length > 0) return undefined;
  return jsonEqual(mask(complete, side.fingerprints), recorded) ? declaredValue(desired) : undefined;
}

/** The value in the manifests, with references as addresses and secrets revealed. It must not be shown. */
export function declaredValue(desired: Value): Json {
  return revealed(withReferences(desired, (reference) => reference.address));
}

/** The value with addresses instead of ids. */
function byAddress(value: Json, side: Side, { kind, path, refs }: HeldField): Json {
  const { refersTo } = ruleOf(kind, path);
  const named = new Map(refs.map((reference) => [side.idOf(reference), reference.address]));
  const translated = (text: string): string => {
    if (refersTo !== undefined) return side.addressOf(refersTo, text) ?? text;
    let result = text;
    for (const [id, address] of named) if (id !== undefined) result = result.replaceAll(id, address);
    return result;
  };
  return mapTexts(value, translated);
}

function mapTexts(value: Json, map: (text: string) => string): Json {
  if (typeof value === 'string') return map(value);
  return mapParts<Json, Json>(value, (part) => mapTexts(part, map));
}
