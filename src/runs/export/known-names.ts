import type { Kind } from '../../kinds/kind.ts';
import { parseAddress, type Resource } from '../../manifests/resource.ts';
import type { State } from '../../state/state.ts';
import type { Identity } from './identities.ts';

/** Names that a project has for records, by kind, in the order in which they count. */
export type NamesInProject = ReadonlyMap<string, readonly KnownName[]>;

interface KnownName {
  readonly name: string;
  /** What the name belongs to. */
  readonly of: { readonly id: string } | { readonly key: string };
}

type NameOfKind = KnownName & { readonly kind: string };

export function namesInState({ resources }: Pick<State, 'resources'>): NamesInProject {
  const names = [...resources].flatMap(([address, { id }]): NameOfKind[] => {
    const parsed = parseAddress(address);
    return parsed === undefined ? [] : [{ kind: parsed.kind, name: parsed.name, of: { id } }];
  });
  return Map.groupBy(names, ({ kind }) => kind);
}

/** @param resources what the manifests declare, right or wrong. */
export function namesInManifests(
  resources: readonly Resource[],
  kinds: ReadonlyMap<string, Kind>,
): NamesInProject {
  const names = resources.flatMap(({ kind, name, id, spec }): NameOfKind[] => {
    if (id !== undefined) return [{ kind, name, of: { id } }];
    const key = kinds.get(kind)?.naturalKey?.(spec)?.key;
    return key === undefined ? [] : [{ kind, name, of: { key } }];
  });
  return Map.groupBy(names, ({ kind }) => kind);
}

/** The names of these records of one kind, by id. */
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
