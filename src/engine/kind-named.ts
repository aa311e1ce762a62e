import type { Kind } from '../kinds/kind.ts';

/** The kind of that name. Manifests and states name only kinds that exist: another name is our own mistake. */
export function kindNamed(kinds: ReadonlyMap<string, Kind>, name: string): Kind {
  const kind = kinds.get(name);
  if (kind === undefined) throw new Error(`no such kind: ${name}`);
  return kind;
}
