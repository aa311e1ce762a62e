import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import { nounOf } from '../../manifests/resource.ts';

const LONGEST = 63;

/**
 * A name for each record of one kind, by id: one that it has already, or else its plain one. Unique; the
 * same records get the same names whatever the order they come in, because of several that are called alike the lowest id has the plain name.
 * @param kept names in use, by id.
 */
export function namesFor(
  records: readonly { readonly id: string; readonly plainName: string }[],
  kept: ReadonlyMap<string, string>,
): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  const take = (id: string, name: string): void => {
    names.set(id, name);
    taken.add(name);
  };
  const open: { readonly id: string; readonly slug: string }[] = [];
  for (const { id, plainName: slug } of records) {
    const name = kept.get(id);
    if (name !== undefined && !taken.has(name)) take(id, name);
    else open.push({ id, slug });
  }
  open.sort((a, b) => (a.id < b.id ? -1 : 1));
  const alike: typeof open = [];
  for (const each of open) {
    if (taken.has(each.slug)) alike.push(each);
    else take(each.id, each.slug);
  }
  const next = new Map<string, number>();
  for (const { id, slug } of alike) {
    let count = next.get(slug) ?? 2;
    while (taken.has(numbered(slug, count))) count++;
    next.set(slug, count + 1);
    take(id, numbered(slug, count));
  }
  return names;
}

/** What the manifest of a record is called where nothing else is called so. */
export function plainName(kind: Kind, record: ShownRecord): string {
  return slugOf(kind.label(record)) || slugOf(nounOf(kind.name));
}

/** `Größe & Co.` as `grosse-co`; empty where nothing is left of it. */
export function slugOf(label: string): string {
  return label
    .replaceAll('ß', 'ss')
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, LONGEST)
    .replace(/^-+|-+$/g, '');
}

function numbered(slug: string, count: number): string {
  const end = `-${count}`;
  return `${slug.slice(0, LONGEST - end.length).replace(/-+$/, '')}${end}`;
}
