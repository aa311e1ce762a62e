import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import type { Json } from '../../values/json.ts';
import { type LeafPath, type Leaves, rootOf } from '../../values/path.ts';
import { isTainted, revealed } from '../../values/value.ts';
import type { Aftermath } from '../apply/after-update.ts';
import { isFingerprint, sameValue } from './compare.ts';
import { ruleOf, shownAt } from './field-rules.ts';
import { baselineOf, plainOf } from './memory.ts';

/** The answer to a create shows all that is known. */
export function shownBy(kind: Kind, record: ShownRecord): ShownAfter {
  return {
    notApplied: new Set(),
    shown: (path) => shownAt(kind, record, path),
    showsObject: (root) => (record[root] ?? null) !== null,
  };
}

type ShownAfter = Pick<Aftermath, 'notApplied' | 'shown' | 'showsObject'>;

/** What is shown after a write otherwise than it was sent: a sentence a field. */
export function unlikeSent(kind: Kind, sent: Leaves, after: ShownAfter): string[] {
  const kept = new Map<LeafPath, Json | undefined>();
  const warnings: string[] = [];
  for (const path of [...sent.keys()].sort()) {
    const value = sent.get(path) ?? null;
    const rule = ruleOf(kind, path);
    if (rule.writeOnly || rule.hidden || rule.notAtCreate) continue;
    const shown = after.shown(path);
    const plain = revealed(value);
    if (after.notApplied.has(path)) kept.set(path, isTainted(value) ? undefined : (shown as Json));
    else if (shown === undefined) {
      const isInObject = path !== rootOf(path) && after.showsObject(rootOf(path));
      if (isInObject && plain !== null) warnings.push(`the platform ignored ${path}`);
    } else if (!sameValue(rule, plain, shown)) {
      warnings.push(
        isTainted(value) || isFingerprint(shown)
          ? `the platform changed the secret ${path}`
          : `the platform changed ${path} from ${brief(plain)} to ${brief(shown as Json)}`,
      );
    }
  }
  return [...keptWarnings(kept), ...warnings];
}

/** What the platform kept of what was sent, a sentence for each field. A value is undefined where it is secret. */
export function keptWarnings(kept: ReadonlyMap<LeafPath, Json | undefined>): string[] {
  const way = 'Change the manifest, or resend it with --retry-ignored.';
  return [...kept].map(([path, value]) =>
    value === undefined
      ? `The platform ignored the last update of ${path}. ${way}`
      : `The platform ignored the last update of ${path} and kept ${brief(value)}. ${way}`,
  );
}

/** The warnings that a plan may have of a field as kept: with the value that it saw, or that it remembered, or with none. */
export function standingWarnings(
  path: LeafPath,
  { kind, record, entry }: { kind: Kind; record: ShownRecord | undefined; entry: ResourceEntry | undefined },
): string[] {
  const values = [
    undefined,
    shownAt(kind, record, path) as Json | undefined,
    plainOf(baselineOf(entry, path)),
  ];
  return values.flatMap((value) => keptWarnings(new Map([[path, value]])));
}

const LONGEST = 60;

function brief(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}
