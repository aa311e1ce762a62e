import type { KindSchema } from '../../manifests/kind-schema.ts';
import type { ResourceEntry } from '../../state/state-document.ts';

/** One text for each natural key: it is unique within its kind alone. */
export function keyIn(kind: string, naturalKey: string): string {
  return `${kind}/${naturalKey}`;
}

/** The natural key of a managed record, as far as it is recorded; a secret is no key. */
export function recordedKey(
  kind: KindSchema | undefined,
  entry: ResourceEntry | undefined,
): string | undefined {
  return entry && kind?.naturalKey?.(entry.recorded)?.key;
}
