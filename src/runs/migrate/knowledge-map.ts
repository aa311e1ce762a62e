import { leavesOf, ruleOf } from '../../engine/decide/field-rules.ts';
import { idsByName } from '../../engine/decide/lookups.ts';
import { kinds, lookups } from '../../kinds/index.ts';
import type { Kind, Lookup, LookupRecord } from '../../kinds/kind.ts';
import { parseDocuments } from '../../manifests/parse-documents.ts';
import type { Address, Resource } from '../../manifests/resource.ts';
import { UserError } from '../../problems/user-error.ts';
import { isObject, type Json, type JsonObject, jsonEqual } from '../../values/json.ts';
import { unflatten } from '../../values/path.ts';
import { Reference, toForms, type Value } from '../../values/value.ts';

/** The name or id that something is looked up by in the one workspace, and that it has in the other. */
export type NameMap = ReadonlyMap<string, string>;

/**
 * A YAML file with a name or an id before each colon, and one after it.
 * @param file its name, for errors.
 * @throws UserError
 */
export function parseNameMap(text: string, file: string): NameMap {
  const { documents, problems } = parseDocuments(text);
  const [problem] = problems;
  if (problem !== undefined) {
    const place = problem.line === undefined ? file : `${file}:${problem.line}`;
    throw new UserError(`${place}  ${problem.message}`, { hint: FORM });
  }
  const [document, more] = documents;
  if (document === undefined || more !== undefined || !isObject(document.value)) {
    throw new UserError(`${file} is not a map of names`, { hint: FORM });
  }
  return new Map(
    Object.entries(document.value).map(([from, to]) => {
      if (typeof to === 'string' && to !== '') return [from, to];
      throw new UserError(`${file}: ${JSON.stringify(from)} needs a name or an id as text`, { hint: FORM });
    }),
  );
}

const FORM =
  'Expected one line per knowledge base, such as `FAQ: Questions and answers`: its name or id in the source, then in the target.';

export interface LookupIndex {
  readonly ids: ReadonlySet<string>;
  readonly byName: ReadonlyMap<string, readonly string[]>;
}

export function lookupIndexOf(records: readonly LookupRecord[]): LookupIndex {
  return { ids: new Set(records.map(({ id }) => id)), byName: idsByName(records) };
}

/** The leaves of a resource that may refer to what is looked up, with what each item of them names. */
export function* lookedUp(
  resource: Resource,
  kind: Kind,
): Generator<{ readonly path: string; readonly lookup: Lookup; readonly value: Value }> {
  for (const [path, value] of leavesOf(kind, resource.spec)) {
    const lookup = lookups.get(ruleOf(kind, path).refersTo ?? '');
    if (lookup !== undefined) yield { path, lookup, value };
  }
}

interface Patching {
  /** The same resources as the workspace that is left sees them: where the other one has a value of its own already, that stays. */
  readonly originals: ReadonlyMap<Address, Resource>;
  readonly names: NameMap;
  /** By lookup: what the workspace that is filled has. */
  readonly shelves: ReadonlyMap<string, LookupIndex>;
}

/** The patches with which a workspace takes the names of the map for those in the manifests, by address. */
export function patchesFor(
  resources: readonly Resource[],
  { originals, names, shelves }: Patching,
): ReadonlyMap<Address, JsonObject> {
  const patches = new Map<Address, JsonObject>();
  for (const resource of resources) {
    const kind = kinds.get(resource.kind);
    const original = originals.get(resource.address);
    if (kind === undefined || original === undefined) continue;
    const there = leavesOf(kind, original.spec);
    const leaves = new Map<string, Json>();
    for (const { path, lookup, value } of lookedUp(resource, kind)) {
      const shelf = shelves.get(lookup.name);
      const item = (each: Value): Json => {
        const name = nameOf(each, lookup);
        const to = name === undefined ? undefined : names.get(name);
        if (to === undefined) return toForms(each);
        return shelf?.ids.has(to) ? to : toForms(new Reference(lookup.name, to));
      };
      const before = toForms(value);
      if (!jsonEqual(before, toForms(there.get(path) ?? null))) continue;
      const after = Array.isArray(value) ? value.map((each: Value) => item(each)) : item(value);
      if (!jsonEqual(after, before)) leaves.set(path, after);
    }
    if (leaves.size > 0) patches.set(resource.address, unflatten(leaves) as JsonObject);
  }
  return patches;
}

/** What a map says in vain: the lines that no value names, and those that lead to nothing that the other workspace has. */
export function oddNames(
  originals: Iterable<Resource>,
  { names, shelves }: Omit<Patching, 'originals'>,
): { readonly unused: readonly string[]; readonly missing: readonly string[] } {
  const named = new Set<string>();
  for (const resource of originals) {
    const kind = kinds.get(resource.kind);
    if (kind === undefined) continue;
    for (const { lookup, value } of lookedUp(resource, kind))
      for (const item of Array.isArray(value) ? value : [value]) {
        const name = nameOf(item as Value, lookup);
        if (name !== undefined) named.add(name);
      }
  }
  const isThere = (to: string) =>
    [...shelves.values()].some(({ ids, byName }) => ids.has(to) || byName.has(to));
  const froms = [...names.keys()];
  return {
    unused: froms.filter((from) => !named.has(from)),
    missing: froms.filter((from) => named.has(from) && !isThere(names.get(from) ?? '')),
  };
}

/** The name or the id that a value looks something up by. */
function nameOf(value: Value, lookup: Lookup): string | undefined {
  if (value instanceof Reference) return value.kind === lookup.name ? value.target : undefined;
  return typeof value === 'string' ? value : undefined;
}
