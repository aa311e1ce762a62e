import { z } from 'zod';
import { actions } from '../engine/plan/plan-actions.ts';
import type { PlanDocument, PlannedResource } from '../engine/plan/plan-document.ts';
import { plannedChange, plannedResource } from '../engine/plan/plan-schema.ts';
import { kinds } from '../kinds/index.ts';
import type { Resource } from '../manifests/resource.ts';
import type { WorkspaceConfig } from '../project/project.ts';
import { mapParts } from '../values/json.ts';
import { isPlain, isSymbolic, isTainted, Join, Reference, type Value } from '../values/value.ts';
import { INT, STRING, TIMESTAMP, type Type, typeOf, unionOf } from './cel/types.ts';
import { type CelValue, SECRET, Timestamp, UNSET } from './cel/values.ts';
import type { Rule } from './rule.ts';

type Variables = ReadonlyMap<string, Type>;

const cache = new Map<string, Variables>();

/** Returns the types of the variables that a rule can use, by name. If `kind` is undefined, the rule applies to all kinds. */
export function variablesOf(on: Rule['on'], kind: string | undefined): Variables {
  const key = `${on} ${kind ?? ''}`;
  const cached = cache.get(key);
  if (cached !== undefined) return cached;
  const applicableKinds = [...kinds.values()].filter(({ name }) => kind === undefined || name === kind);
  const variables = new Map<string, Type>([
    ['kind', { is: 'string', values: applicableKinds.map(({ name }) => name) }],
    ['name', STRING],
    ['labels', { is: 'map', of: STRING }],
    ['spec', applicableKinds.map(({ spec, fields }) => typeOf(spec, fields)).reduce(unionOf)],
    ['workspace', STRING],
    ['workspace_id', STRING],
    ['base_url', STRING],
    ...(on === 'plan' ? planVariables() : []),
  ]);
  cache.set(key, variables);
  return variables;
}

function planVariables(): [string, Type][] {
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

/** A resource that is checked against the rules. */
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
export interface EvaluationContext {
  readonly workspace: Pick<WorkspaceConfig, 'name' | 'workspaceId' | 'baseUrl'>;
  /** Undefined when manifests are checked without a plan. */
  readonly plan?: { readonly summary: PlanDocument['summary']; readonly now: Date } | undefined;
}

export function valuesFor(
  { kind, name, labels, spec, planned }: Subject,
  { workspace, plan }: EvaluationContext,
): Readonly<Record<string, CelValue>> {
  return {
    kind,
    name,
    labels,
    spec: ruleValue(spec),
    workspace: workspace.name,
    // The id is empty if its environment variable is not set.
    workspace_id: workspace.workspaceId || UNSET,
    base_url: workspace.baseUrl || UNSET,
    ...(planned !== undefined && { resource: withoutFingerprints(planned) }),
    ...(plan !== undefined && { plan: { summary: plan.summary }, now: new Timestamp(plan.now.getTime()) }),
  };
}

/** Removes fingerprints and digests, because a rule could use them to compare secrets or to verify a guess. */
function withoutFingerprints({ changes, observed_digest: _, ...resource }: PlannedResource): CelValue {
  const publicChanges = changes.map(({ fingerprints: _own, ...change }) => change);
  return { ...resource, changes: publicChanges } as unknown as CelValue;
}

/** Converts a value for rules. References become addresses, and a string that contains a secret counts as a secret. */
function ruleValue(value: Value): CelValue {
  if (isPlain(value)) return value as CelValue;
  if (!isSymbolic(value)) return mapParts<Value, CelValue>(value, ruleValue);
  if (isTainted(value)) return SECRET;
  if (value instanceof Reference) return value.address;
  if (!(value instanceof Join)) return UNSET;
  const parts = value.parts.map(ruleValue);
  return parts.includes(UNSET) ? UNSET : parts.map(String).join(value.separator);
}
