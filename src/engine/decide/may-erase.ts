import type { Kind, PublishedRecord, ShownRecord } from '../../kinds/kind.ts';
import { type LeafPath, rootOf } from '../../values/path.ts';
import type { Remark } from '../plan/plan-document.ts';
import type { Facts } from './decision.ts';
import type { Differences } from './differences.ts';
import { fieldsOf, ruleOf, shownAt } from './field-rules.ts';
import { resendMessage } from './resend-message.ts';
import { standIn } from './resent.ts';

export const AHEAD_WARNING =
  'Hidden fields were compared with the latest published version; the draft is newer, so they may differ.';

export interface UpdateFacts {
  readonly facts: Facts;
  readonly record: ShownRecord | undefined;
  readonly published: PublishedRecord | undefined;
  readonly differences: Differences;
  readonly adopting: boolean;
}

/**
 * Warns of fields that an update may erase: neither declared nor shown, in objects that it sends.
 * @param roots the top-level fields that the update sends.
 */
export function updateWarnings(
  { facts, record, published, differences, adopting }: UpdateFacts,
  roots: ReadonlySet<string>,
): Remark[] {
  const messages = releaseWarnings(facts.kind, record, differences);
  if (adopting && published?.ahead) messages.push(AHEAD_WARNING);
  const warnings = messages.map((message): Remark => ({ message }));
  const released = new Set(differences.released);
  for (const root of roots) {
    const base = { [root]: record?.[root] ?? standIn(published)?.[root] };
    const unseen = fieldsOf(facts.kind, root).filter(
      (path) =>
        !facts.leaves.has(path) && !released.has(path) && shownAt(facts.kind, base, path) === undefined,
    );
    if (unseen.length > 0) warnings.push(resendWarning(facts.kind, unseen));
  }
  return warnings;
}

/** Secrets first, because nobody can restore them. */
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
