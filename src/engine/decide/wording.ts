import type { Kind, PublishedRecord, ShownRecord } from '../../kinds/kind.ts';
import { idKey, namedId } from '../../manifests/resource.ts';
import type { NextStep } from '../../problems/next-step.ts';
import type { Json, JsonObject } from '../../values/json.ts';
import { type LeafPath, rootOf } from '../../values/path.ts';
import { Reference } from '../../values/value.ts';
import type { PlannedChange, Remark } from '../plan/plan-document.ts';
import { type Facts, plainLeaves } from './decision.ts';
import type { Differences } from './differences.ts';
import { fieldsOf, leavesOf, ruleOf, shownAt } from './field-rules.ts';
import { resendMessage } from './resend-message.ts';

export function updateReason(changes: readonly PlannedChange[], adopting: boolean): string {
  if (!adopting && changes.every((change) => change.not_applied))
    return 'resent: the platform ignored the last update';
  const referents = referentsClause(changes);
  const others = changes.filter((change) => change.referents === undefined);
  if (referents !== undefined)
    return [referents, ...(others.length === 0 ? [] : [updateReason(others, adopting)])].join('; ');
  const causes = new Set(changes.map((change) => change.cause));
  if (adopting) return 'exists on the platform and differs from the manifest';
  if (causes.has('both'))
    return "the manifest and the platform both changed: this overwrites someone else's change";
  if (causes.size === 2) return 'the manifest changed, and other fields drifted';
  return causes.has('drift') ? 'the platform drifted from the manifest' : 'the manifest changed';
}

/** Says what moved where neither the manifest nor the record itself did; undefined where nothing of the kind. */
export function referentsClause(changes: readonly PlannedChange[]): string | undefined {
  const addresses = [...new Set(changes.flatMap(({ referents = [] }) => referents))].sort();
  if (addresses.length === 0) return undefined;
  const have = addresses.length === 1 ? 'has a new record' : 'have new records';
  return `it refers to ${addresses.join(', ')}, which ${have}`;
}

/** What a person must do in the dashboard, a step for each change. */
export function manualSteps(
  { kind, leaves, binding, gone, records }: Pick<Facts, 'kind' | 'leaves' | 'binding' | 'gone' | 'records'>,
  changes: readonly PlannedChange[],
  record: ShownRecord | undefined,
): NextStep[] {
  if (changes.length === 0) return [];
  const named = leavesOf(kind, binding.resource.spec);
  const plain = plainLeaves(leaves);
  const known = { ...(record as JsonObject | undefined), ...plain };
  // Not as it is shown: that may be a secret of the manifest.
  const label = (kind.routes?.label ?? kind.label)({ ...plain, id: record?.id ?? binding.resource.name });
  return changes.map(({ path, before, after }): NextStep => {
    const wanted = named.get(path);
    if (wanted instanceof Reference && gone.has(wanted.address))
      return { action: 'wait_for', address: wanted.address, because: 'missing', path };
    const { refersTo } = ruleOf(kind, path);
    const isId = refersTo !== undefined && typeof after === 'string';
    const owner =
      wanted instanceof Reference
        ? wanted.address
        : isId
          ? records.owners.get(idKey(refersTo, after))
          : undefined;
    const spoken = isId ? namedId(after, owner) : (owner ?? spokenValue(after));
    const instruction =
      kind.manualChangeStep?.({ path, record: known, before, after: spoken }) ??
      `In the dashboard, set ${path} to ${spoken}.`;
    const field = kind.routes?.ways[path] ?? path;
    const value = after === null ? null : (owner ?? (typeof after === 'string' ? after : spoken));
    return { action: 'dashboard', instruction, sets: { record: label, field, value } };
  });
}

function spokenValue(value: Json | undefined): string {
  return value === undefined ? '(secret)' : JSON.stringify(value);
}

/** Fields that were not read right after they were sent, and have another value now. */
export function unclearWarnings(paths: readonly LeafPath[]): string[] {
  return paths.map(
    (path) =>
      `${path} differs, but it could not be read after the last apply: the platform or a person may have changed it.`,
  );
}

export const AHEAD_WARNING =
  'Hidden fields were compared with the latest published version; the draft is newer, so they may differ.';

export interface UpdateFacts {
  readonly facts: Facts;
  readonly record: ShownRecord | undefined;
  readonly published: PublishedRecord | undefined;
  readonly differences: Differences;
  readonly adopting: boolean;
}

/** @param roots what the update sends. */
export function updateWarnings(
  { facts, record, published, differences, adopting }: UpdateFacts,
  roots: ReadonlySet<string>,
): Remark[] {
  const messages = releaseWarnings(facts.kind, record, differences);
  if (adopting && published?.ahead) messages.push(AHEAD_WARNING);
  const warnings = messages.map((message): Remark => ({ message }));
  const standIn = published?.ahead === false ? published.record : undefined;
  const released = new Set(differences.released);
  for (const root of roots) {
    const base = { [root]: record?.[root] ?? standIn?.[root] };
    const unseen = fieldsOf(facts.kind, root).filter(
      (path) =>
        !facts.leaves.has(path) && !released.has(path) && shownAt(facts.kind, base, path) === undefined,
    );
    if (unseen.length > 0) warnings.push(resendWarning(facts.kind, unseen));
  }
  return warnings;
}

/** Secrets first, which nobody could restore. */
function resendWarning(kind: Kind, unseen: readonly LeafPath[]): Remark {
  const rank = (path: LeafPath): number => {
    const { writeOnly, costly } = ruleOf(kind, path);
    return writeOnly ? 0 : costly ? 1 : 2;
  };
  const fields = unseen.toSorted((a, b) => rank(a) - rank(b));
  return { message: resendMessage(fields), may_erase: fields };
}

export function releaseWarnings(
  kind: Kind,
  record: ShownRecord | undefined,
  { released }: Differences,
): string[] {
  const hidden = released.filter((path) => shownAt(kind, record, path) === undefined);
  return hidden.map(
    (path) =>
      `${path} left the manifest and is not sent again. The platform does not show it, and may erase it when ${rootOf(path)} is resent.`,
  );
}
