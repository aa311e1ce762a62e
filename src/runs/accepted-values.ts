import { sameValue } from '../engine/decide/compare.ts';
import { isDrift } from '../engine/decide/drift-view.ts';
import { leavesOf, MASKED, ruleOf, showsMask, valueInRecord } from '../engine/decide/field-rules.ts';
import { uniqueIds } from '../engine/decide/references.ts';
import { readList } from '../engine/observe/read-records.ts';
import type { PlanDocument, PlannedChange, PlannedResource } from '../engine/plan/plan-document.ts';
import { kindNamed, kinds, lookups } from '../kinds/index.ts';
import type { Kind, Lookup, ShownRecord } from '../kinds/kind.ts';
import { namesInManifests } from '../manifests/kind-schema.ts';
import { type Address, kindOf, type Resource } from '../manifests/resource.ts';
import type { PlatformClient } from '../platform/client.ts';
import type { WorkspaceConfig } from '../project/project.ts';
import type { FileEdit, WantedValue } from '../project/write-back/edit-plan.ts';
import { planEdits } from '../project/write-back/plan-edits.ts';
import type { State } from '../state/state.ts';
import type { Json } from '../values/json.ts';
import type { LeafPath } from '../values/path.ts';
import { isTainted, references, revealSecrets, withReferences } from '../values/value.ts';
import type { OpenWorkspace } from './open-workspace.ts';
import type { PlanContext } from './planning.ts';

/** A change on the platform that cannot be written to a manifest. */
export interface RefusedChange {
  readonly address: Address;
  /** Null if the change concerns the whole record. */
  readonly path: string | null;
  /** The reason, as a clause. */
  readonly why: string;
}

interface AcceptableValues {
  readonly wanted: readonly WantedValue[];
  readonly refused: readonly RefusedChange[];
  /** Requested resources without drift. */
  readonly unmoved: readonly Address[];
  /** Managed fields that the platform never returns. Their values in the manifests are left unchanged. */
  readonly unshown?: readonly LeafPath[];
}

/**
 * Separates the drifted values that can be written to the manifests from the changes that cannot, such as secrets.
 * @param addresses the requested resources; empty for all.
 */
export function acceptableValues(drift: PlanDocument, addresses: readonly Address[]): AcceptableValues {
  const requested = new Set(addresses);
  const isRequested = ({ address, previous_address }: PlannedResource): boolean =>
    requested.size === 0 || requested.has(address) || requested.has(previous_address ?? '');
  const drifted = drift.resources.filter((resource) => resource.action !== 'noop' && isRequested(resource));
  const wanted: WantedValue[] = [];
  const refused: RefusedChange[] = [];
  for (const { address, changes, reason } of drifted) {
    const driftChanges = changes.filter(isDrift);
    if (driftChanges.length === 0) refused.push({ address, path: null, why: reason });
    for (const change of driftChanges) {
      const why = refusalOf(change, kindNamed(kindOf(address)));
      if (why === undefined) wanted.push({ address, path: change.path, value: change.before as Json });
      else refused.push({ address, path: change.path, why });
    }
  }
  const driftedAddresses = new Set(drifted.flatMap(({ address, previous_address }) => [address, previous_address]));
  return { wanted, refused, unmoved: [...requested].filter((address) => !driftedAddresses.has(address)) };
}

function refusalOf({ path, sensitive, verified, before, referents }: PlannedChange, kind: Kind): string | undefined {
  if (referents !== undefined)
    return `the field refers to ${referents.join(', ')}, which has a new record: run apply to set the new id`;
  if (sensitive) return 'the value is a secret';
  if (!verified || before === undefined) return 'the platform does not return the value';
  if (showsMask(kind, path, before)) return MASKED;
  return undefined;
}

interface ReferenceSources {
  readonly state: State;
  readonly planned: Pick<PlanDocument, 'resources'>;
  readonly declared: ReadonlySet<Address>;
  readonly wanted: readonly WantedValue[];
  readonly client: PlatformClient;
  readonly workspace: Pick<WorkspaceConfig, 'workspaceId' | 'lookupNames'>;
}

/**
 * Returns the ids of possible `$ref` targets by address: declared resources with a record, and the records of the lookups that a value may
 * refer to. Ambiguous names are left out. Reads the lists of these lookups from the platform.
 */
export async function referableRecords(facts: ReferenceSources): Promise<Map<Address, string>> {
  const { client, workspace } = facts;
  const records = new Map<Address, string>();
  for (const [address, { id }] of facts.state.resources) {
    if (facts.declared.has(address)) records.set(address, id);
  }
  for (const { address, id } of facts.planned.resources) {
    if (id !== null && facts.declared.has(address)) records.set(address, id);
  }
  for (const lookup of lookupsOf(facts)) {
    const { workspaceId, lookupNames } = workspace;
    const unique = uniqueIds(await readList(lookup, { client, workspaceId }));
    for (const [name, id] of unique)
      for (const nameInManifests of namesInManifests(lookupNames, lookup.name, name))
        records.set(`${lookup.name}/${nameInManifests}`, id);
  }
  return records;
}

function lookupsOf({ wanted }: ReferenceSources): Set<Lookup> {
  const needed = new Set<Lookup>();
  for (const { address, path } of wanted) {
    const refersTo = kinds.get(kindOf(address))?.fields[path]?.refersTo;
    const lookup = refersTo === undefined ? undefined : lookups.get(refersTo);
    if (lookup !== undefined) needed.add(lookup);
  }
  return needed;
}

/** Values to write to the manifests, and changes that cannot be written. */
export interface FoundValues extends AcceptableValues {
  /** Ids of possible `$ref` targets. */
  readonly records: ReadonlyMap<Address, string>;
}

/** The drift of a workspace, with the data that resolves references in drifted values. */
export interface DriftFacts extends Pick<PlanContext, 'opened' | 'state' | 'client'> {
  readonly resources: readonly Resource[];
  readonly drift: PlanDocument;
}

/**
 * Finds the drifted values to write to the manifests, with the ids of possible `$ref` targets.
 * @param addresses the requested resources; empty for all.
 */
export async function driftValues(
  { opened, state, resources, drift, client }: DriftFacts,
  addresses: readonly Address[] = [],
): Promise<FoundValues> {
  const found = acceptableValues(drift, addresses);
  const declared = new Set(resources.map(({ address }) => address));
  const { wanted } = found;
  const { workspace } = opened;
  const records = await referableRecords({ state, planned: drift, declared, wanted, client, workspace });
  return { ...found, records };
}

/** The edits that write drifted values to the manifests, and the values that are left out. */
export interface Acceptance extends Pick<AcceptableValues, 'refused' | 'unmoved' | 'unshown'> {
  readonly files: readonly FileEdit[];
  readonly accepted: readonly WantedValue[];
}

/** Returns the edits that write these values to the project's files. Refuses values with a known secret. Writes no file. */
export async function acceptanceOf(
  opened: OpenWorkspace,
  { wanted: found, records, refused, unmoved, unshown = [] }: FoundValues,
): Promise<Acceptance> {
  const { project, workspace, context } = opened;
  const isSecret = (text: string): boolean => opened.withoutSecrets(text) !== text;
  const { secret = [], wanted = [] } = Object.groupBy(found, ({ value }) =>
    isSecret(JSON.stringify(value)) ? 'secret' : 'wanted',
  );
  const edits = await planEdits({ project, workspace, kinds, lookups, env: context.env, wanted, records });
  const refusedFields = new Set(edits.refused.map(({ address, path }) => `${address} ${path}`));
  return {
    files: edits.files,
    accepted: wanted.filter(({ address, path }) => !refusedFields.has(`${address} ${path}`)),
    refused: [
      ...refused,
      ...secret.map(({ address, path }) => ({ address, path, why: 'the value contains a secret' })),
      ...edits.refused,
    ],
    unmoved,
    unshown,
  };
}

interface VersionValues extends Pick<FoundValues, 'records'> {
  readonly kind: Kind;
  readonly resource: Resource;
  readonly version: ShownRecord;
}

/** Returns the values that make the next plan restore a published version. Only managed fields that differ are included. */
export function valuesOfVersion({
  kind,
  resource,
  version,
  records,
}: VersionValues): Omit<AcceptableValues, 'unmoved'> {
  const { address } = resource;
  const wanted: WantedValue[] = [];
  const refused: RefusedChange[] = [];
  const unshown: LeafPath[] = [];
  for (const [path, value] of leavesOf(kind, resource.spec)) {
    const rule = ruleOf(kind, path);
    if (rule.writeOnly) continue;
    const shown = valueInRecord(kind, version, path);
    if (shown === undefined && rule.hidden) {
      unshown.push(path);
      continue;
    }
    if (shown === undefined) {
      refused.push({ address, path, why: 'the version lacks this field, so the manifest is left unchanged' });
      continue;
    }
    const desired = withReferences(value, (reference) => records.get(reference.address));
    const isKnown = references(desired).length === 0;
    if (isKnown && sameValue(rule, revealSecrets(desired), shown)) continue;
    if (isTainted(value)) {
      refused.push({ address, path, why: 'the value is a secret' });
    } else if (showsMask(kind, path, shown)) {
      refused.push({ address, path, why: MASKED });
    } else wanted.push({ address, path, value: shown as Json });
  }
  return { wanted, refused, unshown };
}
