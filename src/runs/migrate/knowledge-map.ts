import { leavesOf, ruleOf } from '../../engine/decide/field-rules.ts';
import { idsByName } from '../../engine/decide/references.ts';
import { kinds, lookups } from '../../kinds/index.ts';
import type { Kind, Lookup, LookupRecord } from '../../kinds/kind.ts';
import type { LookupNames } from '../../manifests/kind-schema.ts';
import { mergePatch } from '../../manifests/layers.ts';
import { parseDocuments } from '../../manifests/parse-documents.ts';
import type { Address, Resource } from '../../manifests/resource.ts';
import { UserError } from '../../problems/user-error.ts';
import { isObject, type Json, type JsonObject, jsonEqual } from '../../values/json.ts';
import { unflatten } from '../../values/path.ts';
import { Reference, references, toForms, type Value } from '../../values/value.ts';

/** Names or ids in the target workspace, by name or id in the source workspace. */
export type NameMap = ReadonlyMap<string, string>;

/**
 * Parses a YAML map from names or ids in the source workspace to names or ids in the target workspace.
 * @param file the name of the file, for errors.
 * @throws UserError if the text is not a valid map.
 */
export function parseNameMap(text: string, file: string): NameMap {
  const { documents, problems } = parseDocuments(text);
  const [problem] = problems;
  if (problem !== undefined) {
    const position = problem.line === undefined ? file : `${file}:${problem.line}`;
    throw new UserError(`${position}  ${problem.message}`, { hint: EXPECTED_FORM });
  }
  const [document, more] = documents;
  if (document === undefined || more !== undefined || !isObject(document.value)) {
    throw new UserError(`${file} is not a map of names`, { hint: EXPECTED_FORM });
  }
  return new Map(
    Object.entries(document.value).map(([from, to]) => {
      if (typeof to === 'string' && to !== '') return [from, to];
      throw new UserError(`${file}: ${JSON.stringify(from)} needs a name or id as a string`, { hint: EXPECTED_FORM });
    }),
  );
}

const EXPECTED_FORM =
  'Write one line per knowledge base, with its names or ids in the source and the target: `FAQ: Questions and answers`.';

export interface LookupIndex {
  readonly ids: ReadonlySet<string>;
  readonly byName: ReadonlyMap<string, readonly string[]>;
}

export function lookupIndexOf(records: readonly LookupRecord[]): LookupIndex {
  return { ids: new Set(records.map(({ id }) => id)), byName: idsByName(records) };
}

/** Yields the leaves of a resource that may refer to the records of a lookup. */
export function* lookupLeaves(
  resource: Resource,
  kind: Kind,
): Generator<{ readonly path: string; readonly lookup: Lookup; readonly value: Value }> {
  for (const [path, value] of leavesOf(kind, resource.spec)) {
    const lookup = lookups.get(ruleOf(kind, path).refersTo ?? '');
    if (lookup !== undefined) yield { path, lookup, value };
  }
}

interface MapFacts {
  readonly names: NameMap;
  /** The records of the target workspace, by lookup. */
  readonly indexes: ReadonlyMap<string, LookupIndex>;
}

interface Mapping extends MapFacts {
  /** The resources of the source workspace. Values that only the target workspace has are kept. */
  readonly originals: ReadonlyMap<Address, Resource>;
  /** The existing `lookupNames` of the target workspace. */
  readonly lookupNames: LookupNames | undefined;
}

/** Settings of the target workspace that have the effect of a map. */
interface MapSettings {
  /** The names that the map replaces with a name. */
  readonly lookupNames: LookupNames;
  /** Patches, by address, for the other entries of the map, such as ids and ambiguous names. */
  readonly patches: ReadonlyMap<Address, JsonObject>;
}

export function settingsFor(resources: readonly Resource[], mapping: Mapping): MapSettings {
  const lookupNames = mappedNames(resources, mapping);
  const patches = new Map<Address, JsonObject>();
  for (const { resource, path, lookup, original, isShared } of lookupValues(resources, mapping)) {
    if (!isShared) continue;
    const item = (value: Value): Json => {
      const to = mapping.names.get(nameOf(value, lookup) ?? '');
      const isMapped = value instanceof Reference && Object.hasOwn(lookupNames[lookup.name] ?? {}, value.name);
      if (to === undefined || isMapped) return toForms(value);
      return mapping.indexes.get(lookup.name)?.ids.has(to) ? to : toForms(new Reference(lookup.name, to));
    };
    const after = Array.isArray(original) ? original.map((each: Value) => item(each)) : item(original);
    if (jsonEqual(after, toForms(original))) continue;
    const patch = unflatten(new Map([[path, after]])) as JsonObject;
    patches.set(resource.address, mergePatch(patches.get(resource.address) ?? {}, patch) as JsonObject);
  }
  return { lookupNames, patches };
}

function mappedNames(resources: readonly Resource[], mapping: Mapping): LookupNames {
  const { names, indexes, lookupNames = {} } = mapping;
  const all: Record<string, Record<string, string>> = {};
  for (const [kind, known] of Object.entries(lookupNames)) all[kind] = { ...known };
  const values = [...lookupValues(resources, mapping)];
  const targetReferences = values.flatMap(({ value, isShared }) => (isShared ? [] : references(value)));
  const targetAddresses = new Set(targetReferences.map(({ address }) => address));
  for (const { lookup, original, isShared } of values) {
    const mapped = all[lookup.name] ?? {};
    all[lookup.name] = mapped;
    for (const { kind, name, address, target } of isShared ? references(original) : []) {
      const to = kind === lookup.name ? names.get(target) : undefined;
      if (to === undefined || indexes.get(kind)?.ids.has(to) || targetAddresses.has(address)) continue;
      if (!Object.hasOwn(mapped, name) && !Object.values(mapped).includes(to)) mapped[name] = to;
    }
  }
  return all;
}

/** Yields the values that may refer to a record of a lookup. `isShared` is true if the source workspace has the same value. */
function* lookupValues(resources: readonly Resource[], { originals }: Mapping) {
  for (const resource of resources) {
    const kind = kinds.get(resource.kind);
    const original = originals.get(resource.address);
    if (kind === undefined || original === undefined) continue;
    const sourceLeaves = leavesOf(kind, original.spec);
    for (const { path, lookup, value } of lookupLeaves(resource, kind)) {
      const source = sourceLeaves.get(path) ?? null;
      const isShared = jsonEqual(toForms(value), toForms(source));
      yield { resource, path, lookup, value, original: source, isShared };
    }
  }
}

/** Returns the lines of a map that no value uses, and lines whose target does not exist in the target workspace. */
export function ineffectiveLines(
  originals: Iterable<Resource>,
  { names, indexes }: MapFacts,
): { readonly unused: readonly string[]; readonly missing: readonly string[] } {
  const usedNames = new Set<string>();
  for (const resource of originals) {
    const kind = kinds.get(resource.kind);
    if (kind === undefined) continue;
    for (const { lookup, value } of lookupLeaves(resource, kind))
      for (const item of Array.isArray(value) ? value : [value]) {
        const name = nameOf(item as Value, lookup);
        if (name !== undefined) usedNames.add(name);
      }
  }
  const existsInTarget = (to: string) => [...indexes.values()].some(({ ids, byName }) => ids.has(to) || byName.has(to));
  const sourceNames = [...names.keys()];
  return {
    unused: sourceNames.filter((from) => !usedNames.has(from)),
    missing: sourceNames.filter((from) => usedNames.has(from) && !existsInTarget(names.get(from) ?? '')),
  };
}

/** Returns the name or the id in a value. */
function nameOf(value: Value, lookup: Lookup): string | undefined {
  if (value instanceof Reference) return value.kind === lookup.name ? value.target : undefined;
  return typeof value === 'string' ? value : undefined;
}
