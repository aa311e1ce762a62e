import type { Kind } from '../../kinds/kind.ts';
import { parseAddress, type Resource } from '../../manifests/resource.ts';
import type { State } from '../../state/state.ts';
import type { Discovery } from '../discover.ts';

export interface Memory {
  readonly kinds: ReadonlyMap<string, Kind>;
  readonly state: State;
  /** What the manifests declare, right or wrong. */
  readonly resources: readonly Resource[];
}

/** The names that records have in a project, by kind and then by id: in the state, or else in the manifests. */
export function knownNames(
  { records }: Discovery,
  { kinds, state, resources }: Memory,
): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const names = new Map<string, Map<string, string>>();
  const keep = (kind: string, id: string, name: string): void => {
    const ofKind = names.get(kind) ?? new Map<string, string>();
    if (!ofKind.has(id)) ofKind.set(id, name);
    names.set(kind, ofKind);
  };
  for (const [address, { id }] of state.resources) {
    const parsed = parseAddress(address);
    if (parsed !== undefined) keep(parsed.kind, id, parsed.name);
  }
  for (const kind of kinds.values()) {
    const byKey = new Map(
      kind.recordKey === undefined
        ? []
        : (records.get(kind.name) ?? []).map(({ record }) => [kind.recordKey?.(record), record.id]),
    );
    for (const resource of resources) {
      if (resource.kind !== kind.name) continue;
      const id = resource.id ?? byKey.get(kind.naturalKey?.(resource.spec)?.key);
      if (id !== undefined) keep(kind.name, id, resource.name);
    }
  }
  return names;
}
