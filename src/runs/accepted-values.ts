import { sameValue } from '../engine/decide/compare.ts';
import { isDrift } from '../engine/decide/drift-view.ts';
import { leavesOf, ruleOf, shownAt } from '../engine/decide/field-rules.ts';
import { uniqueIds } from '../engine/decide/references.ts';
import { readList } from '../engine/observe/read-records.ts';
import type { PlanDocument, PlannedChange, PlannedResource } from '../engine/plan/plan-document.ts';
import { kinds, lookups } from '../kinds/index.ts';
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
import { isTainted, references, revealed, withReferences } from '../values/value.ts';
import type { OpenWorkspace } from './open-workspace.ts';
import type { PlanSurroundings } from './planning.ts';

/** A change on the platform that no manifest can take over. */
export interface NotAcceptable {
  readonly address: Address;
  /** Null if it concerns the record as a whole. */
  readonly path: string | null;
  /** A clause. */
  readonly why: string;
}

interface Acceptable {
  readonly wanted: readonly WantedValue[];
  readonly refused: readonly NotAcceptable[];
  /** Requested resources without drift. */
  readonly unmoved: readonly Address[];
  /** Managed fields that the source of the values never shows. They are left unchanged. */
  readonly unshown?: readonly LeafPath[];
}

/**
 * The part of a drift that manifests can take over: shown values that are not secret.
 * @param addresses the requested ones; empty for all.
 */
export function acceptable(drift: PlanDocument, addresses: readonly Address[]): Acceptable {
  const asked = new Set(addresses);
  const isAsked = ({ address, previous_address }: PlannedResource): boolean =>
    asked.size === 0 || asked.has(address) || asked.has(previous_address ?? '');
  const drifted = drift.resources.filter((resource) => resource.action !== 'noop' && isAsked(resource));
  const wanted: WantedValue[] = [];
  const refused: NotAcceptable[] = [];
  for (const { address, changes, reason } of drifted) {
    const moved = changes.filter(isDrift);
    if (moved.length === 0) refused.push({ address, path: null, why: reason });
    for (const change of moved) {
      const why = unacceptable(change);
      if (why === undefined) wanted.push({ address, path: change.path, value: change.before as Json });
      else refused.push({ address, path: change.path, why });
    }
  }
  const moved = new Set(drifted.flatMap(({ address, previous_address }) => [address, previous_address]));
  return { wanted, refused, unmoved: [...asked].filter((address) => !moved.has(address)) };
}

function unacceptable({ sensitive, verified, before, referents }: PlannedChange): string | undefined {
  if (referents !== undefined) return `it refers to ${referents.join(', ')}, which has a new record: apply sets its id`;
  if (sensitive) return 'its value is a secret';
  if (!verified || before === undefined) return 'the platform does not show it';
  return undefined;
}

interface Referring {
  readonly state: State;
  /** The planned resources, with their ids. */
  readonly planned: Pick<PlanDocument, 'resources'>;
  readonly declared: ReadonlySet<Address>;
  readonly wanted: readonly WantedValue[];
  readonly client: PlatformClient;
  readonly workspace: Pick<WorkspaceConfig, 'workspaceId' | 'lookupNames'>;
}

/**
 * The ids of possible `$ref` targets by address: declared resources with a record, and the records of the lookups that a value may refer
 * to. Ambiguous names are left out. Reads the lists of these lookups.
 */
export async function referableRecords(facts: Referring): Promise<Map<Address, string>> {
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
      for (const each of namesInManifests(lookupNames, lookup.name, name)) records.set(`${lookup.name}/${each}`, id);
  }
  return records;
}

function lookupsOf({ wanted }: Referring): Set<Lookup> {
  const needed = new Set<Lookup>();
  for (const { address, path } of wanted) {
    const refersTo = kinds.get(kindOf(address))?.fields[path]?.refersTo;
    const lookup = refersTo === undefined ? undefined : lookups.get(refersTo);
    if (lookup !== undefined) needed.add(lookup);
  }
  return needed;
}

/** Values for the manifests, and those that cannot be taken over. */
export interface ValuesFound extends Acceptable {
  /** Ids of possible `$ref` targets. */
  readonly records: ReadonlyMap<Address, string>;
}

/** A drift, with the data for resolving its values. */
export interface DriftFacts extends Pick<PlanSurroundings, 'opened' | 'state' | 'client'> {
  readonly resources: readonly Resource[];
  readonly drift: PlanDocument;
}

/** @param addresses the requested ones; empty for all. */
export async function driftValues(
  { opened, state, resources, drift, client }: DriftFacts,
  addresses: readonly Address[] = [],
): Promise<ValuesFound> {
  const found = acceptable(drift, addresses);
  const declared = new Set(resources.map(({ address }) => address));
  const { wanted } = found;
  const { workspace } = opened;
  const records = await referableRecords({ state, planned: drift, declared, wanted, client, workspace });
  return { ...found, records };
}

/** The edits of an accept, and the values that it leaves out. */
export interface Acceptance extends Pick<Acceptable, 'refused' | 'unmoved' | 'unshown'> {
  readonly files: readonly FileEdit[];
  readonly accepted: readonly WantedValue[];
}

/** The edits that give the project's files these values. Reads files, writes none. */
export async function acceptanceOf(
  { project, workspace, context: { env } }: OpenWorkspace,
  { wanted, records, refused, unmoved, unshown = [] }: ValuesFound,
): Promise<Acceptance> {
  const edits = await planEdits({ project, workspace, kinds, lookups, env, wanted, records });
  const left = new Set(edits.refused.map(({ address, path }) => `${address} ${path}`));
  return {
    files: edits.files,
    accepted: wanted.filter(({ address, path }) => !left.has(`${address} ${path}`)),
    refused: [...refused, ...edits.refused],
    unmoved,
    unshown,
  };
}

interface RollingBack extends Pick<ValuesFound, 'records'> {
  readonly kind: Kind;
  readonly resource: Resource;
  readonly version: ShownRecord;
}

/** The values that a manifest needs for the next plan to restore a published version: only managed fields that differ. */
export function valuesOfVersion({ kind, resource, version, records }: RollingBack): Omit<Acceptable, 'unmoved'> {
  const { address } = resource;
  const wanted: WantedValue[] = [];
  const refused: NotAcceptable[] = [];
  const unshown: LeafPath[] = [];
  for (const [path, value] of leavesOf(kind, resource.spec)) {
    const rule = ruleOf(kind, path);
    if (rule.writeOnly) continue;
    const shown = shownAt(kind, version, path);
    if (shown === undefined && rule.hidden) {
      unshown.push(path);
      continue;
    }
    if (shown === undefined) {
      refused.push({ address, path, why: 'the version does not show it; left unchanged' });
      continue;
    }
    const desired = withReferences(value, (reference) => records.get(reference.address));
    const isKnown = references(desired).length === 0;
    if (isKnown && sameValue(rule, revealed(desired), shown)) continue;
    if (isTainted(value)) {
      refused.push({ address, path, why: 'its value is a secret' });
    } else wanted.push({ address, path, value: shown as Json });
  }
  return { wanted, refused, unshown };
}
