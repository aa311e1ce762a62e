import type { KindSchema } from '../../manifests/kind-schema.ts';
import type { Orphan, ResourceEntry } from '../../state/state-document.ts';

/** The natural key of a managed record, as far as it is recorded; a secret is no key. */
export function naturalKeyOf(
  kind: KindSchema | undefined,
  entry: ResourceEntry | undefined,
): string | undefined {
  return entry && kind?.naturalKey?.(entry.recorded)?.key;
}

/** What the orphan list keeps of a record, so that it is known again under another name. */
export function keyKept(
  kind: KindSchema | undefined,
  entry: ResourceEntry | undefined,
): Pick<Orphan, 'natural_key'> {
  const key = naturalKeyOf(kind, entry);
  return key === undefined ? {} : { natural_key: key };
}
