import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import { metadataSchema } from '../../manifests/envelope.ts';
import { nounOf, parseAddress, type Resource } from '../../manifests/resource.ts';
import type { State } from '../../state/state.ts';

export interface Identity {
  readonly id: string;
  /** The natural key, if the kind has one. */
  readonly key: string | undefined;
}

/** The ids and natural keys in use, which must be unique. */
export class Identities {
  readonly #keys = new Map<string, string>();
  readonly #ids = new Map<string, string>();

  /** Reserves the id and the natural key of a record. Returns the reason if no manifest can declare the record. */
  refusal(kind: Kind, { id, key }: Identity): string | undefined {
    const otherId = key === undefined ? undefined : this.#keys.get(`${kind.name}/${key}`);
    if (otherId !== undefined) return `${otherId} has the same natural key; manifests can declare only one of them`;
    const hasId = metadataSchema.shape.id.safeParse(id).success && !this.#ids.has(id);
    if (!hasId && key === undefined) return 'the id is not valid in a manifest';
    if (key !== undefined) this.#keys.set(`${kind.name}/${key}`, id);
    if (hasId) this.#ids.set(id, kind.name);
    return undefined;
  }

  /** Returns the id for the metadata; undefined if the id cannot be used there, so that the natural key identifies the record. */
  idOf(kind: Kind, { id }: Identity): string | undefined {
    return this.#ids.get(id) === kind.name ? id : undefined;
  }
}

/** Names of records in a project by kind, in order of precedence. */
export type NamesInProject = ReadonlyMap<string, readonly KnownName[]>;

interface KnownName {
  readonly name: string;
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

/** @param resources the resources of the manifests, valid or not. */
export function namesInManifests(resources: readonly Resource[], kinds: ReadonlyMap<string, Kind>): NamesInProject {
  const names = resources.flatMap(({ kind, name, id, spec }): NameOfKind[] => {
    if (id !== undefined) return [{ kind, name, of: { id } }];
    const key = kinds.get(kind)?.naturalKey?.(spec)?.key;
    return key === undefined ? [] : [{ kind, name, of: { key } }];
  });
  return Map.groupBy(names, ({ kind }) => kind);
}

/** Returns the known names of these records of one kind, by id. */
export function knownNamesById(known: readonly KnownName[], records: readonly Identity[]): ReadonlyMap<string, string> {
  const byKey = new Map(records.map(({ key, id }) => [key, id]));
  const names = new Map<string, string>();
  for (const { name, of } of known) {
    const id = 'id' in of ? of.id : byKey.get(of.key);
    if (id !== undefined && !names.has(id)) names.set(id, name);
  }
  return names;
}

const MAX_LENGTH = 63;

/**
 * Returns a unique name for each record of one kind, by id: its existing name, or else its plain name. The names do not depend on the order
 * of the records: if several records have the same plain name, the record with the lowest id gets it.
 * @param kept names in use, by id.
 */
export function namesFor(
  records: readonly { readonly id: string; readonly plainName: string }[],
  kept: ReadonlyMap<string, string>,
): Map<string, string> {
  const names = new Map<string, string>();
  const usedNames = new Set<string>();
  const assign = (id: string, name: string): void => {
    names.set(id, name);
    usedNames.add(name);
  };
  const unnamed: { readonly id: string; readonly slug: string }[] = [];
  for (const { id, plainName: slug } of records) {
    const name = kept.get(id);
    if (name !== undefined && !usedNames.has(name)) assign(id, name);
    else unnamed.push({ id, slug });
  }
  unnamed.sort((a, b) => (a.id < b.id ? -1 : 1));
  const duplicates: typeof unnamed = [];
  for (const each of unnamed) {
    if (usedNames.has(each.slug)) duplicates.push(each);
    else assign(each.id, each.slug);
  }
  const next = new Map<string, number>();
  for (const { id, slug } of duplicates) {
    let count = next.get(slug) ?? 2;
    while (usedNames.has(numberedSlug(slug, count))) count++;
    next.set(slug, count + 1);
    assign(id, numberedSlug(slug, count));
  }
  return names;
}

/** Returns the name of a record's manifest, unless another manifest has the same name. */
export function plainName(kind: Kind, record: ShownRecord): string {
  return slugOf(kind.label(record)) || slugOf(nounOf(kind.name));
}

/** Converts a label such as `Größe & Co.` to `grosse-co`. The result is empty if the label has no ASCII letters or digits. */
export function slugOf(label: string): string {
  return label
    .replaceAll('ß', 'ss')
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_LENGTH)
    .replace(/^-+|-+$/g, '');
}

function numberedSlug(slug: string, count: number): string {
  const end = `-${count}`;
  return `${slug.slice(0, MAX_LENGTH - end.length).replace(/-+$/, '')}${end}`;
}
