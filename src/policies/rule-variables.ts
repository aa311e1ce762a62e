import { z } from 'zod';
import { actions } from '../engine/plan/plan-actions.ts';
import type { PlanDocument, PlannedResource } from '../engine/plan/plan-document.ts';
import { plannedChange, plannedResource } from '../engine/plan/plan-schema.ts';
import { kinds } from '../kinds/index.ts';
import type { Resource } from '../manifests/resource.ts';
import type { WorkspaceConfig } from '../project/project.ts';
import { mapParts } from '../values/json.ts';
import { isPlain, isSpecial, isTainted, Join, Reference, type Value } from '../values/value.ts';
import { INT, joined, STRING, TIMESTAMP, type Type, typeOf } from './cel/types.ts';
import { type CelValue, SECRET, Timestamp, UNSET } from './cel/values.ts';
import type { Rule } from './rule.ts';

type Variables = ReadonlyMap<string, Type>;

const known = new Map<string, Variables>();

/** The variables that a rule for this kind can use, or a rule for all kinds if `kind` is undefined. */
export function variablesOf(on: Rule['on'], kind: string | undefined): Variables {
  const key = `${on} ${kind ?? ''}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  const of = [...kinds.values()].filter(({ name }) => kind === undefined || name === kind);
  const variables = new Map<string, Type>([
    ['kind', { is: 'string', values: of.map(({ name }) => name) }],
    ['name', STRING],
    ['labels', { is: 'map', of: STRING }],
    ['spec', of.map(({ spec, fields }) => typeOf(spec, fields)).reduce(joined)],
    ['workspace', STRING],
    ['workspace_id', STRING],
    ['base_url', STRING],
    ...(on === 'plan' ? ofPlan() : []),
  ]);
  known.set(key, variables);
  return variables;
}

function ofPlan(): [string, Type][] {
  const changes = z.array(plannedChange.omit({ fingerprints: true }));
  const resource = typeOf(plannedResource.omit({ observed_digest: true }).extend({ changes }));
  const counts = new Map(actions.map((action): [string, Type] => [action, INT]));
  const summary: Type = { is: 'object', fields: counts };
  return [
    ['resource', resource],
    ['plan', { is: 'object', fields: new Map([['summary', summary]]) }],
    ['now', TIMESTAMP],
  ];
}

/** A resource that rules check. */
export interface Subject {
  readonly address: string;
  readonly kind: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: Resource['spec'];
  readonly source: Resource['source'] | null;
  /** Undefined when manifests are checked without a plan. */
  readonly planned?: PlannedResource | undefined;
}

/** The workspace and the plan for which a rule is evaluated. */
export interface JudgeContext {
  readonly workspace: Pick<WorkspaceConfig, 'name' | 'workspaceId' | 'baseUrl'>;
  /** Absent without a plan. */
  readonly plan?: { readonly summary: PlanDocument['summary']; readonly now: Date } | undefined;
}

/** The value of each variable. */
export function valuesFor(
  { kind, name, labels, spec, planned }: Subject,
  { workspace, plan }: JudgeContext,
): Readonly<Record<string, CelValue>> {
  return {
    kind,
    name,
    labels,
    spec: shown(spec),
    workspace: workspace.name,
    // Empty if it comes from a variable that is not set.
    workspace_id: workspace.workspaceId || UNSET,
    base_url: workspace.baseUrl || UNSET,
    ...(planned !== undefined && { resource: withoutFingerprints(planned) }),
    ...(plan !== undefined && { plan: { summary: plan.summary }, now: new Timestamp(plan.now.getTime()) }),
  };
}

/** Removes fingerprints and digests: equal fingerprints mean equal secrets, and a digest can be compared with a guess. */
function withoutFingerprints({ changes, observed_digest: _, ...resource }: PlannedResource): CelValue {
  const publicChanges = changes.map(({ fingerprints: _own, ...change }) => change);
  return { ...resource, changes: publicChanges } as unknown as CelValue;
}

/** A value as rules see it: references are addresses, and a string that contains a secret is a secret. */
export function shown(value: Value): CelValue {
  if (isPlain(value)) return value as CelValue;
  if (!isSpecial(value)) return mapParts<Value, CelValue>(value, shown);
  if (isTainted(value)) return SECRET;
  if (value instanceof Reference) return value.address;
  if (!(value instanceof Join)) return UNSET;
  const parts = value.parts.map(shown);
  return parts.includes(UNSET) ? UNSET : parts.map(String).join(value.separator);
}
