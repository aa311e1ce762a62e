import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import type { Json } from '../../values/json.ts';
import { type LeafPath, type Leaves, rootOf } from '../../values/path.ts';
import { isTainted, revealSecrets } from '../../values/value.ts';
import type { Remark } from '../plan/plan-document.ts';
import { isFingerprint, sameValue } from './compare.ts';
import { ruleOf, valueInRecord } from './field-rules.ts';

/** Returns the values after a create, which are known only from the response. */
export function valuesAfterCreate(kind: Kind, record: ShownRecord): ValuesAfterWrite {
  return {
    notApplied: new Set(),
    shown: (path) => valueInRecord(kind, record, path),
    showsObject: (root) => (record[root] ?? null) !== null,
  };
}

export interface ValuesAfterWrite {
  /** The leaves for which the platform kept its own value. */
  readonly notApplied: ReadonlySet<LeafPath>;
  shown(path: LeafPath): unknown;
  showsObject(root: string): boolean;
}

/** Returns a warning for each field for which the platform returned a value that differs from the sent value. */
export function differencesFromSent(kind: Kind, sent: Leaves, after: ValuesAfterWrite): Remark[] {
  const kept = new Map<LeafPath, Json | undefined>();
  const warnings: string[] = [];
  for (const path of [...sent.keys()].sort()) {
    const value = sent.get(path) ?? null;
    const rule = ruleOf(kind, path);
    if (rule.writeOnly || rule.hidden || rule.notAtCreate) continue;
    const shown = after.shown(path);
    const plain = revealSecrets(value);
    if (after.notApplied.has(path)) kept.set(path, isTainted(value) ? undefined : (shown as Json));
    else if (shown === undefined) {
      const isInObject = path !== rootOf(path) && after.showsObject(rootOf(path));
      if (isInObject && plain !== null) warnings.push(`the platform ignored ${path}`);
    } else if (!sameValue(rule, plain, shown)) {
      warnings.push(
        isTainted(value) || isFingerprint(shown)
          ? `the platform changed the secret ${path}`
          : `the platform changed ${path} from ${shorten(plain)} to ${shorten(shown as Json)}`,
      );
    }
  }
  return [...ignoredUpdateWarnings(kept), ...warnings.map((message) => ({ message }))];
}

/** Returns a warning for each field for which the platform kept its own value. A value is undefined if it is secret. */
export function ignoredUpdateWarnings(kept: ReadonlyMap<LeafPath, Json | undefined>): Remark[] {
  return [...kept].map(([path, value]) => ({
    message:
      value === undefined
        ? `The platform ignored the last update of ${path}.`
        : `The platform ignored the last update of ${path} and kept ${shorten(value)}.`,
    next: [{ action: 'retry_ignored', path }],
  }));
}

/** True for a warning of `ignoredUpdateWarnings` about one of these fields. */
export function isIgnoredUpdateWarning({ next = [] }: Remark, paths: ReadonlySet<LeafPath>): boolean {
  return next.some((step) => step.action === 'retry_ignored' && paths.has(step.path));
}

const MAX_LENGTH = 60;

export function shorten(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH - 1)}…` : text;
}
