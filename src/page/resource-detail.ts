import { ruleOf } from '../engine/decide/field-rules.ts';
import { baselineOf, recordedOf, wasIgnored } from '../engine/decide/state-entry.ts';
import type { PlannedChange, PlannedResource } from '../engine/plan/plan-document.ts';
import { kinds } from '../kinds/index.ts';
import { kindOf } from '../manifests/resource.ts';
import type { StoredRun } from '../operator/shown-workspace.ts';
import { namedValue } from '../output/field-view.ts';
import type { PastRun } from '../runs/past-runs.ts';
import type { ResourceEntry } from '../state/state-document.ts';
import { type Json, jsonEqual } from '../values/json.ts';
import type { ComparedField, FieldSide, ListedRun, ResourceDetail } from './page-data.ts';
import { detailOfPastRun, detailOfStoredRun, isSameRun } from './run-details.ts';

interface ResourceData {
  readonly address: string;
  /** Undefined if the page cannot read the state, or if the state does not contain the resource. */
  readonly entry: ResourceEntry | undefined;
  /** The resource in the plan of the last run. */
  readonly planned: PlannedResource | undefined;
  /** Maps the ids of records to addresses. */
  readonly names: Readonly<Record<string, string>>;
  readonly storedRuns: readonly StoredRun[];
  /** All runs in the history of the state. */
  readonly pastRuns: readonly PastRun[];
}

/** Returns the values and runs of a resource from the state and from the plan of the last run, without reading the platform. */
export function resourceDetail(data: ResourceData): ResourceDetail {
  return { fields: comparedFields(data), isComplete: data.entry !== undefined, runs: runsOf(data) };
}

const NOT_SHOWN: FieldSide = { words: 'not returned by the platform' };
const NOT_SET: FieldSide = { words: 'not set' };

/** Returns all fields. Fields that differ come first. */
function comparedFields(data: ResourceData): ComparedField[] {
  const { entry, planned } = data;
  const changes = (planned?.changes ?? []).map((change) => changedField(change, data));
  const changed = new Set(changes.map(({ path }) => path));
  const others = Object.keys(entry?.recorded ?? {}).filter((path) => !changed.has(path));
  return [...changes, ...others.sort().map((path) => unchangedField(path, data))];
}

/** Returns a field whose values differ. The plan has no values if the state is sealed. */
function changedField(change: PlannedChange, { entry, planned }: ResourceData): ComparedField {
  const { path, before, after, cause, sensitive, verified, names = {}, fingerprints, not_applied: isRefused } = change;
  const isNew = planned?.id === null;
  const side = (value: Json | undefined, missing: FieldSide, fingerprint: string | undefined): FieldSide => {
    if (sensitive && fingerprints === undefined) return { words: 'only in the sealed state' };
    if (sensitive) return fingerprint === undefined ? missing : { words: '(secret)' };
    return value === undefined ? missing : { value: namedValue(value, names) };
  };
  const applied = recordedOf(entry, path);
  return {
    path,
    declared: side(after, NOT_SET, fingerprints?.after),
    live: side(before, isNew ? { words: 'not created yet' } : NOT_SHOWN, fingerprints?.before),
    changedBy: cause,
    lastApplied: cause === 'both' && applied !== undefined ? { value: namedValue(applied, names) } : undefined,
    notes: [
      ...(isRefused ? ['the platform kept its own value'] : []),
      ...(verified || isNew || sensitive ? [] : ['not returned by the platform: the last sent value is listed']),
    ],
  };
}

/** Returns a field that was in sync in the last run. */
function unchangedField(path: string, { address, entry, planned, names }: ResourceData): ComparedField {
  const kind = kinds.get(kindOf(address));
  const isReference = kind !== undefined && ruleOf(kind, path).refersTo !== undefined;
  const side = (value: Json): FieldSide => ({ value: isReference ? namedValue(value, names) : value });
  const [recorded, baseline] = [recordedOf(entry, path) ?? null, baselineOf(entry, path)];
  const isReleased = planned?.released?.includes(path) === true;
  const ignoresDrift = planned?.ignore_drift?.includes(path) === true;
  const isSame = !isReleased && baseline !== undefined && jsonEqual(baseline, recorded);
  const live = baseline === undefined ? NOT_SHOWN : isSame ? undefined : side(baseline);
  return {
    path,
    declared: isReleased ? { words: 'no longer declared' } : side(recorded),
    live: ignoresDrift ? { words: 'not compared (ignore_drift)' } : live,
    changedBy: undefined,
    lastApplied: undefined,
    notes: wasIgnored(entry, path) ? ['the platform kept its own value'] : [],
  };
}

/** Returns the addresses of the planned resources that refer to this resource. */
export function referringTo(address: string, resources: readonly PlannedResource[] = []): string[] {
  return resources.filter(({ depends_on: to }) => to.includes(address)).map((each) => each.address);
}

const MAX_RUNS = 20;

/** Returns the runs that changed the resource, newest first, each with the result and the changed fields of this resource. */
function runsOf({ address, storedRuns, pastRuns }: ResourceData): ListedRun[] {
  const matching = pastRuns.filter(({ resources = [] }) => resources.some((each) => each.address === address));
  const runs = [
    ...storedRuns.filter((run) => !pastRuns.some((each) => isSameRun(each, run))).map((run) => detailOfStoredRun(run)),
    ...matching.map(detailOfPastRun),
  ];
  return runs
    .flatMap(({ resources, ...run }) => {
      const resource = resources.find((each) => each.address === address);
      return resource === undefined || resource.result === 'planned'
        ? []
        : [{ ...run, result: resource.result, summary: resource.detail || resource.action }];
    })
    .sort((a, b) => b.began.getTime() - a.began.getTime())
    .slice(0, MAX_RUNS);
}
