import { kinds } from '../../kinds/index.ts';
import type { Kind, Routes, ShownRecord } from '../../kinds/kind.ts';
import { type Address, idKey } from '../../manifests/resource.ts';
import { isObject, type Json } from '../../values/json.ts';
import type { PlanDocument, PlannedResource, PlannedRoute } from './plan-document.ts';

/** A kind whose records lead to others. */
export type RoutingKind = Kind & { readonly routes: Routes };

/** The kinds whose records may lead to something that the plan changes. */
export function routingKinds({ resources }: Pick<PlanDocument, 'resources'>): RoutingKind[] {
  const changing = new Set(resources.filter(changesRecord).map(({ kind }) => kind));
  return [...kinds.values()]
    .filter((kind): kind is RoutingKind => kind.routes !== undefined && kind.list !== undefined)
    .filter((kind) => Object.keys(kind.routes.ways).some((path) => changing.has(targetOf(kind, path))));
}

interface RoutesKnown {
  readonly lists: ReadonlyMap<string, readonly ShownRecord[]>;
  /** The address that a record is managed under. */
  addressOf(kind: string, id: string): Address | undefined;
  /** The record without what must not be said of it. */
  sayable(kind: string, record: ShownRecord): ShownRecord;
}

/**
 * The plan with what leads to each record that it changes, as far as lists show it, and what leads to it or no longer does once
 * the plan's own steps are done by hand. Where a list is missing, nothing is said. Pure.
 */
export function withRoutes(document: PlanDocument, known: RoutesKnown): PlanDocument {
  const listed = [...kinds.values()].filter(
    (kind): kind is RoutingKind => kind.routes !== undefined && known.lists.has(kind.name),
  );
  if (listed.length === 0) return document;
  const found = new RoutesFound();
  for (const kind of listed) {
    for (const record of known.lists.get(kind.name) ?? []) addShown(found, { kind, record, known });
  }
  for (const resource of document.resources) {
    const kind = listed.find(({ name }) => name === resource.kind);
    if (kind !== undefined) addPlanned(found, { kind, resource, known });
  }
  const reachable = new Set(
    listed.flatMap((kind) => Object.keys(kind.routes.ways).map((path) => targetOf(kind, path))),
  );
  return {
    ...document,
    resources: document.resources.map((resource) => {
      if (!reachable.has(resource.kind)) return resource;
      const routes = found.of(resource);
      const moves = routes.some(({ coming, leaving }) => coming !== undefined || leaving !== undefined);
      return changesRecord(resource) || moves ? { ...resource, routes } : resource;
    }),
  };
}

/** True where an apply makes a record behave in another way. */
function changesRecord({ action }: PlannedResource): boolean {
  return action === 'update' || action === 'replace';
}

function targetOf(kind: Kind, path: string): string {
  return kind.fields[path]?.refersTo ?? '';
}

interface RouteWays {
  readonly base: Omit<PlannedRoute, 'ways' | 'coming' | 'leaving'>;
  readonly ways: Set<string>;
  readonly coming: Set<string>;
  readonly leaving: Set<string>;
}

/** By what is led to: its id where it has one, else its address. */
class RoutesFound {
  readonly #byTarget = new Map<string, Map<string, RouteWays>>();

  route(target: string, base: RouteWays['base']): RouteWays {
    const routes = this.#byTarget.get(target) ?? new Map<string, RouteWays>();
    this.#byTarget.set(target, routes);
    const key = idKey(base.kind, base.id ?? base.address ?? '');
    const route = routes.get(key) ?? { base, ways: new Set(), coming: new Set(), leaving: new Set() };
    routes.set(key, route);
    return route;
  }

  of({ kind, id, address }: PlannedResource): PlannedRoute[] {
    const routes = [
      ...(this.#byTarget.get(address)?.values() ?? []),
      ...((id === null ? undefined : this.#byTarget.get(idKey(kind, id)))?.values() ?? []),
    ];
    return routes
      .map(({ base, ways, coming, leaving }) => ({
        ...base,
        ways: [...ways],
        ...(coming.size > 0 && { coming: [...coming] }),
        ...(leaving.size > 0 && { leaving: [...leaving] }),
      }))
      .sort((a, b) => (`${a.label} ${a.id}` < `${b.label} ${b.id}` ? -1 : 1));
  }
}

function addShown(
  found: RoutesFound,
  { kind, record, known }: { kind: RoutingKind; record: ShownRecord; known: RoutesKnown },
): void {
  for (const [path, way] of Object.entries(kind.routes.ways)) {
    const id = record[path];
    if (typeof id !== 'string') continue;
    const base = {
      kind: kind.name,
      id: record.id,
      address: known.addressOf(kind.name, record.id) ?? null,
      label: kind.routes.label(known.sayable(kind.name, record)),
    };
    found.route(idKey(targetOf(kind, path), id), base).ways.add(way);
  }
}

/** The links that the plan asks a person to make or to remove. */
function addPlanned(
  found: RoutesFound,
  { kind, resource, known }: { kind: RoutingKind; resource: PlannedResource; known: RoutesKnown },
): void {
  const shown = known.lists.get(kind.name)?.find(({ id }) => id === resource.id);
  const base = {
    kind: kind.name,
    id: resource.id,
    address: resource.address,
    label:
      kind.routes.label(shown === undefined ? declaredIn(resource) : known.sayable(kind.name, shown)) ||
      resource.address,
  };
  for (const { path, before, after, manual } of resource.changes) {
    const way = kind.routes.ways[path];
    if (way === undefined || !manual) continue;
    const [from, to] = [targetKey(targetOf(kind, path), before), targetKey(targetOf(kind, path), after)];
    if (from !== undefined) found.route(from, base).leaving.add(way);
    if (to !== undefined) found.route(to, base).coming.add(way);
  }
}

function targetKey(kind: string, value: Json | undefined): string | undefined {
  if (typeof value === 'string') return idKey(kind, value);
  if (isObject(value) && typeof value.unknown_until_apply === 'string') return value.unknown_until_apply;
  return undefined;
}

/** What a record that is yet to be created will show, as far as it may be said. */
function declaredIn({ id, changes }: PlannedResource): ShownRecord {
  return { ...Object.fromEntries(changes.map(({ path, after }) => [path, after])), id: id ?? '' };
}
