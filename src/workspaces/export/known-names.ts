import type { Kind } from '../../kinds/kind.ts';
import { parseAddress, type Resource } from '../../manifests/resource.ts';
import type { State } from '../../state/state.ts';
import type { Identity } from './identities.ts';

export interface Memory {
  readonly kinds: ReadonlyMap<string, Kind>;
  readonly state: Pick<State, 'resources'>;
  /** What the manifests declare, right or wrong. */
  readonly resources: readonly Resource[];
}

/** The names that a project has for records, in the order in which they count: no more of a state and of manifests than that. */
export type KnownNames = ReadonlyMap<string, readonly KnownName[]>;

interface KnownName {
  readonly name: string;
  /** What the name belongs to. */
  readonly of: { readonly id: string } | { readonly key: string };
}

/** The names of a project, by kind: those in the state before those in the manifests. */
export function knownNames({ kinds, state, resources }: Memory): KnownNames {
  const names = new Map<string, KnownName[]>();
  const add = (kind: string, known: KnownName): void => {
    const ofKind = names.get(kind);
    if (ofKind === undefined) names.set(kind, [known]);
    else ofKind.push(known);
  };
  for (const [address, { id }] of state.resources) {
    const parsed = parseAddress(address);
    if (parsed !== undefined) add(parsed.kind, { name: parsed.name, of: { id } });
  }
  for (const { kind, name, id, spec } of resources) {
    const key = id === undefined ? kinds.get(kind)?.naturalKey?.(spec)?.key : undefined;
    if (id !== undefined) add(kind, { name, of: { id } });
    else if (key !== undefined) add(kind, { name, of: { key } });
  }
  return names;
}

/** The names of these records of one kind, by id: in the state, or else in the manifests. */
export function keptNames(
  known: readonly KnownName[],
  records: readonly Identity[],
): ReadonlyMap<string, string> {
  const byKey = new Map(records.map(({ key, id }) => [key, id]));
  const names = new Map<string, string>();
  for (const { name, of } of known) {
    const id = 'id' in of ? of.id : byKey.get(of.key);
    if (id !== undefined && !names.has(id)) names.set(id, name);
  }
  return names;
}
