import type { Kind, PublishedRecord, ShownRecord } from '../kinds/kind.ts';
import type { Json, JsonObject } from '../values/json.ts';
import { type LeafPath, rootOf } from '../values/path.ts';
import { Reference } from '../values/value.ts';
import { type Facts, plainLeaves } from './decision.ts';
import type { Differences } from './differences.ts';
import { isConfigObject, leavesOf, shownAt } from './field-rules.ts';
import type { PlannedChange } from './plan-document.ts';

export function updateReason(changes: readonly PlannedChange[], adopting: boolean): string {
  if (!adopting && changes.every((change) => change.not_applied))
    return 'sent again: the platform kept its own value the last time';
  const causes = new Set(changes.map((change) => change.cause));
  if (adopting) return 'an existing record is taken under management and brought in line';
  if (causes.has('both'))
    return "the manifest changed, and so did the platform: someone else's change is overwritten";
  if (causes.size === 2) return 'the manifest changed, and other fields drifted';
  return causes.has('drift') ? 'the platform drifted from the manifest' : 'the manifest changed';
}

/** What a person must do in the dashboard, a sentence for each change. */
export function manualSteps(
  { kind, leaves, binding, gone }: Pick<Facts, 'kind' | 'leaves' | 'binding' | 'gone'>,
  changes: readonly PlannedChange[],
  record: ShownRecord | undefined,
): string[] {
  if (changes.length === 0) return [];
  const named = leavesOf(kind, binding.resource.spec);
  const known = { ...(record as JsonObject | undefined), ...plainLeaves(leaves) };
  return changes.map(({ path, before, after }) => {
    const wanted = named.get(path);
    if (wanted instanceof Reference && gone.has(wanted.address))
      return `${path} waits for ${wanted.address}, whose record is missing.`;
    const spoken = wanted instanceof Reference ? spokenReference(wanted, after) : spokenValue(after);
    return (
      kind.changeByHand?.({ path, record: known, before, after: spoken }) ??
      `In the dashboard, set ${path} to ${spoken}.`
    );
  });
}

function spokenReference({ address }: Reference, id: Json | undefined): string {
  return typeof id === 'string' ? `${address} (${id})` : address;
}

function spokenValue(value: Json | undefined): string {
  return value === undefined ? '(secret)' : JSON.stringify(value);
}

/** What nobody saw right after it was sent, and is another value by now. */
export function unclearWarnings(paths: readonly LeafPath[]): string[] {
  return paths.map(
    (path) =>
      `Cannot tell whether the platform or somebody else changed ${path}: it could not be read right after the last apply.`,
  );
}

export const AHEAD_WARNING =
  'hidden fields were compared with the published version, and the draft is newer than that: they may differ';

export interface Updating {
  readonly facts: Facts;
  readonly record: ShownRecord | undefined;
  readonly published: PublishedRecord | undefined;
  readonly differences: Differences;
  readonly adopting: boolean;
  readonly roots: ReadonlySet<string>;
}

export function updateWarnings({
  facts,
  record,
  published,
  differences,
  adopting,
  roots,
}: Updating): string[] {
  const warnings = releaseWarnings(facts.kind, record, differences);
  if (adopting && published?.ahead) warnings.push(AHEAD_WARNING);
  const managedByOthers = adopting || facts.binding.entry?.adopted === true;
  const standIn = published?.ahead === false ? published.record : undefined;
  for (const root of managedByOthers && record !== undefined ? roots : []) {
    const unseen = hiddenParts(facts, record?.[root] ?? standIn?.[root], root);
    if (unseen.length > 0) {
      warnings.push(
        `${root} is sent whole, and the platform does not show ${unseen.join(', ')}: what is set there and not in the manifest may be reset`,
      );
    }
  }
  return warnings;
}

/** The parts of a config object that exist on the platform, perhaps, and that neither it nor the manifest tells. */
function hiddenParts({ kind, leaves }: Facts, shown: unknown, root: string): string[] {
  if (shown === undefined && isConfigObject(kind, root)) return ['it'];
  return Object.keys(kind.fields).filter(
    (path) => rootOf(path) === root && path !== root && kind.fields[path]?.writeOnly && !leaves.has(path),
  );
}

export function releaseWarnings(
  kind: Kind,
  record: ShownRecord | undefined,
  { released }: Differences,
): string[] {
  const hidden = released.filter((path) => shownAt(kind, record, path) === undefined);
  return hidden.map(
    (path) =>
      `${path} left the manifest and the platform does not show it: it is not sent again, and the platform may reset it when ${rootOf(path)} changes`,
  );
}
