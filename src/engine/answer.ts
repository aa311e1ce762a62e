import type { Kind, ShownRecord } from '../kinds/kind.ts';
import type { Json } from '../values/json.ts';
import { type Leaves, rootOf } from '../values/path.ts';
import { isTainted, revealed } from '../values/value.ts';
import { isFingerprint, sameValue } from './compare.ts';
import { ruleOf, shownAt } from './field-rules.ts';

/** What the answer to a write shows otherwise than it was sent: a sentence a field. */
export function unlikeSent(kind: Kind, sent: Leaves, answer: ShownRecord): string[] {
  const warnings: string[] = [];
  for (const path of [...sent.keys()].sort()) {
    const value = sent.get(path) ?? null;
    const rule = ruleOf(kind, path);
    if (rule.writeOnly || rule.hidden || rule.notAtCreate) continue;
    const shown = shownAt(kind, answer, path);
    const plain = revealed(value);
    if (shown === undefined) {
      const object = path === rootOf(path) ? undefined : answer[rootOf(path)];
      if (object !== undefined && object !== null && plain !== null)
        warnings.push(`the platform did not keep ${path}`);
    } else if (!sameValue(rule, plain, shown)) {
      warnings.push(
        isTainted(value) || isFingerprint(shown)
          ? `the platform changed ${path}, which is secret`
          : `the platform changed ${path} from ${brief(plain)} to ${brief(shown as Json)}`,
      );
    }
  }
  return warnings;
}

const LONGEST = 60;

function brief(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}
