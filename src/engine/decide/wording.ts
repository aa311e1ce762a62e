import type { ShownRecord } from '../../kinds/kind.ts';
import { idKey, namedId } from '../../manifests/resource.ts';
import type { NextStep } from '../../problems/next-step.ts';
import type { JsonObject } from '../../values/json.ts';
import type { LeafPath } from '../../values/path.ts';
import { Reference } from '../../values/value.ts';
import type { PlannedChange } from '../plan/plan-document.ts';
import { type Facts, plainLeaves } from './decision.ts';
import { leavesOf, ruleOf } from './field-rules.ts';

export function updateReason(changes: readonly PlannedChange[], adopting: boolean): string {
  if (!adopting && changes.every((change) => change.not_applied)) return 'resent: the platform ignored the last update';
  const referents = referentsClause(changes);
  const others = changes.filter((change) => change.referents === undefined);
  if (referents !== undefined)
    return [referents, ...(others.length === 0 ? [] : [updateReason(others, adopting)])].join('; ');
  const causes = new Set(changes.map((change) => change.cause));
  if (adopting) return 'exists on the platform and differs from the manifest';
  if (causes.has('both')) return "the manifest and the platform both changed: this overwrites someone else's change";
  if (causes.size === 2) return 'the manifest changed, and other fields drifted';
  return causes.has('drift') ? 'the platform drifted from the manifest' : 'the manifest changed';
}

/** A clause about references whose target changed, if neither the manifest nor the record itself did. */
export function referentsClause(changes: readonly PlannedChange[]): string | undefined {
  const addresses = [...new Set(changes.flatMap(({ referents = [] }) => referents))].sort();
  if (addresses.length === 0) return undefined;
  const have = addresses.length === 1 ? 'has a new record' : 'have new records';
  return `it refers to ${addresses.join(', ')}, which ${have}`;
}

/** A manual step for each change. */
export function manualSteps(
  { kind, leaves, binding, gone, records }: Pick<Facts, 'kind' | 'leaves' | 'binding' | 'gone' | 'records'>,
  changes: readonly PlannedChange[],
  record: ShownRecord | undefined,
): NextStep[] {
  if (changes.length === 0) return [];
  const named = leavesOf(kind, binding.resource.spec);
  const plain = plainLeaves(leaves);
  const known = { ...(record as JsonObject | undefined), ...plain };
  // Without the shown record, which may contain a secret of the manifest.
  const label = (kind.routes?.label ?? kind.label)({ ...plain, id: record?.id ?? binding.resource.name });
  return changes.map(({ path, before, after }): NextStep => {
    const wanted = named.get(path);
    if (wanted instanceof Reference && gone.has(wanted.address))
      return { action: 'wait_for', address: wanted.address, because: 'missing', path };
    const { refersTo } = ruleOf(kind, path);
    const isId = refersTo !== undefined && typeof after === 'string';
    const owner =
      wanted instanceof Reference ? wanted.address : isId ? records.owners.get(idKey(refersTo, after)) : undefined;
    const valueText = isId
      ? namedId(after, owner)
      : (owner ?? (after === undefined ? '(secret)' : JSON.stringify(after)));
    const instruction =
      kind.manualChangeStep?.({ path, record: known, before, after: valueText }) ??
      `In the dashboard, set ${path} to ${valueText}.`;
    const field = kind.routes?.ways[path] ?? path;
    const value = after === null ? null : (owner ?? (typeof after === 'string' ? after : valueText));
    return { action: 'dashboard', instruction, sets: { record: label, field, value } };
  });
}

/** Warnings about fields that were not read right after they were sent and now have another value. */
export function unclearWarnings(paths: readonly LeafPath[]): string[] {
  return paths.map(
    (path) =>
      `${path} differs, but it could not be read after the last apply: the platform or a person may have changed it.`,
  );
}
