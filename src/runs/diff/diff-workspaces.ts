import { isFingerprint, sameValue } from '../../engine/decide/compare.ts';
import { leavesOf, ruleOf, valueInRecord } from '../../engine/decide/field-rules.ts';
import { lookUp } from '../../engine/decide/references.ts';
import { plainOf, recordedOf } from '../../engine/decide/state-entry.ts';
import type { PlanResult } from '../../engine/engine.ts';
import type { PlannedResource } from '../../engine/plan/plan-document.ts';
import { kindNamed } from '../../kinds/index.ts';
import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import { type FieldRule, type LookupNames, namesInManifests } from '../../manifests/kind-schema.ts';
import { type Address, idKey, kindOf, type Resource } from '../../manifests/resource.ts';
import { type Fingerprints, isMasked, mask } from '../../state/fingerprint.ts';
import type { State } from '../../state/state.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import { type Json, jsonEqual, mapParts } from '../../values/json.ts';
import { isUnder, type LeafPath } from '../../values/path.ts';
import {
  isTainted,
  type Reference,
  references,
  revealSecrets,
  type Value,
  withReferences,
} from '../../values/value.ts';
import { VERSION } from '../../version.ts';
import {
  DIFF_FORMAT_VERSION,
  type DiffDocument,
  type FieldDifference,
  type ResourceDifference,
  type SideValue,
} from './document.ts';

/** Compares two workspaces at every address that one of them declares. Performs no I/O. Takes about 50 ms for each shared secret. */
export async function diffWorkspaces(one: DiffInput, other: DiffInput): Promise<DiffDocument> {
  const [first, second] = [sideOf(one), sideOf(other)];
  const addresses = [...new Set([...first.members.keys(), ...second.members.keys()])].sort();
  const resources = await Promise.all(addresses.map((address) => compareAt(address, first, second)));
  const count = (verdict: ResourceDifference['verdict']): number =>
    resources.filter((resource) => resource.verdict === verdict).length;
  const fields = resources.flatMap((resource) => resource.fields);
  return {
    format_version: DIFF_FORMAT_VERSION,
    voxform_version: VERSION,
    first: workspaceOf(first),
    second: workspaceOf(second),
    summary: {
      same: count('same'),
      different: count('different'),
      only_first: count('only_first'),
      only_second: count('only_second'),
      neither: count('neither'),
      undeclared: resources.filter(({ declared }) => !declared).length,
      unknown: fields.filter(({ verdict }) => verdict === 'unknown').length,
    },
    resources,
  };
}

function workspaceOf({ name, workspaceId, baseUrl }: Side): DiffDocument['first'] {
  return { name, workspace_id: workspaceId, base_url: baseUrl };
}

async function compareAt(address: Address, first: Side, second: Side): Promise<ResourceDifference> {
  const [a, b] = [first.members.get(address), second.members.get(address)];
  const { kind, source } = (a ?? (b as Member)).resource;
  const common = { address, kind, source, first: a?.record?.id ?? null, second: b?.record?.id ?? null };
  if (a?.record !== undefined && b?.record !== undefined) {
    const compared = await Promise.all(
      [...fieldsOf(kindNamed(kind), [a, b])].map((field) => compareField(field, { first, second, a, b })),
    );
    const fields = compared.flatMap(({ difference }) => (difference === undefined ? [] : [difference]));
    const unverified = compared.flatMap(({ unverified: path }) => (path === undefined ? [] : [path]));
    const different = fields.filter(({ verdict }) => verdict === 'different');
    return {
      ...common,
      verdict: different.length > 0 ? 'different' : 'same',
      declared: different.every(({ declared }) => declared),
      fields,
      ...(unverified.length > 0 && { unverified }),
    };
  }
  const missing = [
    ...(a?.record === undefined ? [{ name: first.name, member: a }] : []),
    ...(b?.record === undefined ? [{ name: second.name, member: b }] : []),
  ];
  const verdict = missing.length === 2 ? 'neither' : a?.record === undefined ? 'only_second' : 'only_first';
  return {
    ...common,
    verdict,
    declared: verdict === 'neither' || missing.every(({ member }) => member === undefined),
    reason: missing.map(({ name, member }) => missingReason(name, member)).join('; '),
    fields: [],
  };
}

function missingReason(name: string, member: Member | undefined): string {
  return member === undefined
    ? `skipped in ${name}`
    : `declared in ${name}, but without a record: ${member.planned.reason}`;
}

/** Yields the fields that at least one of the manifests manages, sorted by path. */
function* fieldsOf(kind: Kind, members: readonly Member[]): Generator<ComparedField> {
  const leaves = members.map(({ resource }) => leavesOf(kind, resource.spec));
  const paths = new Set<LeafPath>(leaves.flatMap((each) => [...each.keys()]));
  for (const path of [...paths].sort()) {
    const refs = leaves.flatMap((each) => references(each.get(path) ?? null));
    yield { kind, path, refs };
  }
}

interface ComparedMembers {
  readonly first: Side;
  readonly second: Side;
  readonly a: Member;
  readonly b: Member;
}

/** Returns the difference, or the path if the values are equal but not verified. */
async function compareField(
  field: ComparedField,
  { first, second, a, b }: ComparedMembers,
): Promise<{ readonly difference?: FieldDifference; readonly unverified?: LeafPath }> {
  const { path } = field;
  const [left, right] = [fieldValueAt(first, a, field), fieldValueAt(second, b, field)];
  const same = await areSame(field, { first, second, left, right });
  if (same === true) return left.verified && right.verified ? {} : { unverified: path };
  const sensitive = left.sensitive || right.sensitive;
  const statuses = [statusAt(a, field), statusAt(b, field)] as const;
  return {
    difference: {
      path,
      verdict: same === undefined ? 'unknown' : 'different',
      declared: isDeclared(statuses, [desiredAt(a, field), desiredAt(b, field)], ruleOf(field.kind, path)),
      sensitive,
      first: sideValue(left, statuses[0], sensitive),
      second: sideValue(right, statuses[1], sensitive),
    },
  };
}

/** Compares the values of a field. Returns undefined if they cannot be compared. */
async function areSame(
  { kind, path }: ComparedField,
  {
    first,
    second,
    left,
    right,
  }: Pick<ComparedMembers, 'first' | 'second'> & { readonly left: FieldValue; readonly right: FieldValue },
): Promise<boolean | undefined> {
  if (left.value !== undefined && right.value !== undefined) {
    return sameValue(ruleOf(kind, path), left.value, right.value);
  }
  // For one of the sides, only the fingerprint of a secret may be known.
  for (const [side, known, other] of [
    [second, left, right],
    [first, right, left],
  ] as const) {
    if (typeof known.value !== 'string' || other.fingerprint === undefined) continue;
    await side.fingerprints.prepare([known.value]);
    return side.fingerprints.of(known.value) === other.fingerprint;
  }
  // Fingerprints with different keys cannot be compared.
  if (left.fingerprint === undefined || right.fingerprint === undefined || first.salt !== second.salt) return undefined;
  return left.fingerprint === right.fingerprint;
}

function statusAt(member: Member, field: ComparedField): SideValue['standing'] {
  const { path } = field;
  const { resource, planned } = member;
  if (desiredAt(member, field) === undefined) return 'unmanaged';
  const change = planned.changes.find((each) => each.path === path);
  if (change !== undefined) return change.cause === 'manifest' ? 'pending' : 'drifted';
  return resource.ignoreDrift.some((prefix) => isUnder(path, prefix)) ? 'ignored' : 'declared';
}

/** True if both records match their manifests and only the manifests differ, or if `ignore_drift` allows the difference. */
function isDeclared(
  statuses: readonly SideValue['standing'][],
  [left, right]: readonly [Value | undefined, Value | undefined],
  rule: FieldRule,
): boolean {
  if (statuses.includes('pending') || statuses.includes('drifted')) return false;
  if (statuses.includes('ignored')) return true;
  if (left === undefined || right === undefined) return true;
  return !sameValue(rule, declaredValue(left), declaredValue(right));
}

function sideValue({ value, verified }: FieldValue, standing: SideValue['standing'], sensitive: boolean): SideValue {
  return { ...(!sensitive && value !== undefined && { value }), verified, standing };
}

/** One of the compared workspaces. */
interface Side {
  readonly name: string;
  readonly workspaceId: string;
  readonly baseUrl: string;
  readonly members: ReadonlyMap<Address, Member>;
  readonly salt: string;
  readonly fingerprints: Fingerprints;
  idOf(reference: Reference): string | undefined;
  /** Returns the address of a record; undefined if unknown. */
  addressOf(kind: string, id: string): Address | undefined;
}

/** A declared resource in one workspace. */
interface Member {
  readonly resource: Resource;
  readonly planned: PlannedResource;
  readonly entry: ResourceEntry | undefined;
  readonly record: ShownRecord | undefined;
}

interface DiffInput {
  readonly planned: PlanResult;
  readonly desired: readonly Resource[];
  readonly state: State;
  readonly lookupNames: LookupNames | undefined;
}

/** Returns the data of a workspace from a plan that read all records. */
function sideOf({ planned, desired, state, lookupNames }: DiffInput): Side {
  const { document, observed } = planned.plan;
  const actions = new Map(document.resources.map((resource) => [resource.address, resource]));
  const members = new Map<Address, Member>();
  const ids = new Map<Address, string>();
  for (const [address, { id }] of state.resources) ids.set(address, id);
  for (const resource of desired) {
    const action = actions.get(resource.address);
    if (action === undefined) continue;
    const observation = observed.records.get(resource.address);
    const record = observation?.status === 'shown' ? observation.record : undefined;
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

/** The value of a managed field. It may contain secrets and must not be printed. */
interface FieldValue {
  /** The value, with addresses instead of ids; undefined if unknown. */
  readonly value: Json | undefined;
  /** False if the platform does not return the field. */
  readonly verified: boolean;
  /** The fingerprint of the value, if the state does not contain the value itself. */
  readonly fingerprint: string | undefined;
  /** True if the value is or was secret. */
  readonly sensitive: boolean;
}

interface ComparedField {
  readonly kind: Kind;
  readonly path: LeafPath;
  /** The references of both manifests in this field. */
  readonly refs: readonly Reference[];
}

/** Returns the value in the manifests; undefined if the field is not managed. */
function desiredAt(member: Member, { kind, path }: Pick<ComparedField, 'kind' | 'path'>): Value | undefined {
  return leavesOf(kind, member.resource.spec).get(path);
}

/** Returns the value that the platform returned, or else the last sent value. */
function fieldValueAt(side: Side, member: Member, field: ComparedField): FieldValue {
  const { kind, path } = field;
  const rule = ruleOf(kind, path);
  const desired = desiredAt(member, field);
  const recorded = recordedOf(member.entry, path);
  const sensitive = rule.writeOnly === true || isMasked(recorded) || (desired !== undefined && isTainted(desired));
  const shown = valueInRecord(kind, member.record, path);
  if (shown !== undefined) {
    return { value: byAddress(shown as Json, side, field), verified: true, fingerprint: undefined, sensitive };
  }
  const fingerprint = isFingerprint(recorded) ? recorded.$fingerprint : undefined;
  const sent = plainOf(recorded);
  const value = sent === undefined ? secretSent(side, desired, recorded) : byAddress(sent, side, field);
  return { value, verified: false, fingerprint, sensitive };
}

/** Returns the value in the manifest, which contains a secret, if it equals the last sent value. */
function secretSent(side: Side, desired: Value | undefined, recorded: Json | undefined): Json | undefined {
  if (desired === undefined || recorded === undefined) return undefined;
  const complete = withReferences(desired, (reference) => side.idOf(reference));
  if (references(complete).length > 0) return undefined;
  return jsonEqual(mask(complete, side.fingerprints), recorded) ? declaredValue(desired) : undefined;
}

/** Returns the value in the manifests, with references as addresses and secrets revealed. It must not be printed. */
function declaredValue(desired: Value): Json {
  return revealSecrets(withReferences(desired, (reference) => reference.address));
}

/** Returns the value with addresses instead of ids. */
function byAddress(value: Json, side: Side, { kind, path, refs }: ComparedField): Json {
  const { refersTo } = ruleOf(kind, path);
  const addressesById = new Map(refs.map((reference) => [side.idOf(reference), reference.address]));
  const translated = (text: string): string => {
    if (refersTo !== undefined) return side.addressOf(refersTo, text) ?? text;
    let result = text;
    for (const [id, address] of addressesById) if (id !== undefined) result = result.replaceAll(id, address);
    return result;
  };
  return mapStrings(value, translated);
}

function mapStrings(value: Json, map: (text: string) => string): Json {
  if (typeof value === 'string') return map(value);
  return mapParts<Json, Json>(value, (part) => mapStrings(part, map));
}
