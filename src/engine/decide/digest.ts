import { createHmac } from 'node:crypto';
import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import { canonicalJson, isObject, type Json } from '../../values/json.ts';
import type { LeafPath, Leaves } from '../../values/path.ts';
import { isTainted } from '../../values/value.ts';
import { normalised } from './compare.ts';
import { ruleOf } from './field-rules.ts';

/**
 * A keyed digest of all fields that a manifest could manage. Equal digests mean equal values; the order of sets does not matter. Secrets
 * are left out.
 */
export function digestOf(
  kind: Kind,
  { record, leaves, salt }: { record: ShownRecord; leaves: Leaves; salt: string },
): string {
  const secret = new Set([...leaves].filter(([, value]) => isTainted(value)).map(([path]) => path));
  const strip = (value: unknown, path: LeafPath): unknown => {
    if (secret.has(path) || ruleOf(kind, path).writeOnly) return undefined;
    if (!isObject(value)) return normalised(ruleOf(kind, path), value);
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, strip(item, `${path}.${key}`)]),
    );
  };
  const seen = Object.keys(kind.spec.shape).map((root) => [root, strip(record[root], root) ?? null]);
  return createHmac('sha256', salt)
    .update(canonicalJson(JSON.parse(JSON.stringify([record.id, seen])) as Json))
    .digest('base64url');
}
