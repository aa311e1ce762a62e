import type { Kind } from '../../kinds/kind.ts';
import type { FoundRecord } from '../discover.ts';

/** Longest name that a manifest may have, in characters. */
const LONGEST = 63;

/**
 * A name for each record of one kind, by id: one that it has already, or else one made of what people call it. Unique; the
 * same records get the same names whatever the order they come in, because of several that are called alike the lowest id has the plain name.
 * @param kept names in use, by id.
 */
export function namesFor(
  kind: Kind,
  found: readonly FoundRecord[],
  kept: ReadonlyMap<string, string>,
): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  const take = (id: string, name: string): void => {
    names.set(id, name);
    taken.add(name);
  };
  const open: { readonly id: string; readonly slug: string }[] = [];
  for (const { record } of found) {
    const name = kept.get(record.id);
    if (name !== undefined && !taken.has(name)) take(record.id, name);
    else open.push({ id: record.id, slug: slugOf(kind.label(record)) || kebab(kind.name) });
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

/** `PhoneNumber` as `phone-number`. */
export function kebab(kindName: string): string {
  return kindName.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '-').toLowerCase();
}

function numbered(slug: string, count: number): string {
  const end = `-${count}`;
  return `${slug.slice(0, LONGEST - end.length).replace(/-+$/, '')}${end}`;
}
