import { kinds } from '../../kinds/index.ts';
import type { Kind, Routes, ShownRecord } from '../../kinds/kind.ts';
import { type Address, idKey } from '../../manifests/resource.ts';
import { isObject, type Json } from '../../values/json.ts';
import type { PlanDocument, PlannedResource, PlannedRoute } from './plan-document.ts';

/** A kind whose records are linked to records of other kinds, such as phone numbers to agents. */
export type RoutingKind = Kind & { readonly routes: Routes };

/** Returns the kinds whose records may be linked to a record that the plan changes. */
export function routingKinds({ resources }: Pick<PlanDocument, 'resources'>): RoutingKind[] {
  const changing = new Set(resources.filter(changesRecord).map(({ kind }) => kind));
  return [...kinds.values()]
    .filter(isRouting)
    .filter((kind) => kind.list !== undefined && targetsOf(kind).some((target) => changing.has(target)));
}

function isRouting(kind: Kind | undefined): kind is RoutingKind {
  return kind?.routes !== undefined;
}

/** Returns the kinds that records of this kind are linked to. */
function targetsOf(kind: RoutingKind): string[] {
  return Object.keys(kind.routes.ways).map((path) => targetOf(kind, path));
}

/** The linked records that each changing record lists in one of its fields, by the address of the changing record. */
export type NamedRoutes = ReadonlyMap<Address, readonly unknown[]>;

/** Returns the linked records that changing records list. Used for a kind whose own list cannot be read. */
export function namedRoutes(
  kind: RoutingKind,
  { resources }: Pick<PlanDocument, 'resources'>,
  recordOf: (address: Address) => ShownRecord | undefined,
): { readonly named: NamedRoutes; readonly isComplete: boolean } {
  const targets = new Set(targetsOf(kind));
  const changing = resources.filter((each) => targets.has(each.kind) && changesRecord(each));
  const namedItems = changing.flatMap(({ address }) => {
    const items = recordOf(address)?.[kind.routes.named.field];
    return Array.isArray(items) ? [[address, items as readonly unknown[]] as const] : [];
  });
  return { named: new Map(namedItems), isComplete: namedItems.length === changing.length };
}

interface RouteSources {
  readonly lists: ReadonlyMap<string, readonly ShownRecord[]>;
  /** The linked records of each kind whose list cannot be read. */
  readonly named: ReadonlyMap<string, NamedRoutes>;
  addressOf(kind: string, id: string): Address | undefined;
  withoutSecrets(kind: string, record: ShownRecord): ShownRecord;
}

/** Adds routes to each changing record, including those that manual steps add or remove. Omits kinds that could not be read. */
export function withRoutes(document: PlanDocument, sources: RouteSources): PlanDocument {
  const listed = [...kinds.values()].filter(isRouting).filter(({ name }) => sources.lists.has(name));
  const collector = new RouteCollector();
  const named = new Set<Address>();
  for (const [kindName, routes] of sources.named) {
    const kind = kinds.get(kindName);
    if (!isRouting(kind)) continue;
    for (const [address, items] of routes) {
      named.add(address);
      for (const item of items) addNamed(collector, { kind, address, item, sources });
    }
  }
  if (listed.length === 0 && named.size === 0) return document;
  for (const kind of listed) {
    for (const record of sources.lists.get(kind.name) ?? []) addListed(collector, { kind, record, sources });
  }
  for (const resource of document.resources) {
    const kind = listed.find(({ name }) => name === resource.kind);
    if (kind !== undefined) addPlanned(collector, { kind, resource, sources });
  }
  const reachable = new Set(listed.flatMap(targetsOf));
  return {
    ...document,
    resources: document.resources.map((resource) => {
      if (!reachable.has(resource.kind) && !named.has(resource.address)) return resource;
      const routes = collector.routesOf(resource);
      const changesRoutes = routes.some(({ coming, leaving }) => coming !== undefined || leaving !== undefined);
      return changesRecord(resource) || changesRoutes ? { ...resource, routes } : resource;
    }),
  };
}

/** True if an apply updates or replaces the record. */
function changesRecord({ action }: PlannedResource): boolean {
  return action === 'update' || action === 'replace';
}

function targetOf(kind: Kind, path: string): string {
  return kind.fields[path]?.refersTo ?? '';
}

interface CollectedRoute {
  readonly base: Omit<PlannedRoute, 'ways' | 'coming' | 'leaving'>;
  readonly ways: Set<string>;
  readonly coming: Set<string>;
  readonly leaving: Set<string>;
}

/** Collects routes by target. The key is the id of the target, or its address if it has no id yet. */
class RouteCollector {
  readonly #byTarget = new Map<string, Map<string, CollectedRoute>>();

  route(target: string, base: CollectedRoute['base']): CollectedRoute {
    const routes = this.#byTarget.get(target) ?? new Map<string, CollectedRoute>();
    this.#byTarget.set(target, routes);
    const key = idKey(base.kind, base.id ?? base.address ?? base.label);
    const route = routes.get(key) ?? { base, ways: new Set(), coming: new Set(), leaving: new Set() };
    routes.set(key, route);
    return route;
  }

  routesOf({ kind, id, address }: PlannedResource): PlannedRoute[] {
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

function addListed(
  collector: RouteCollector,
  { kind, record, sources }: { kind: RoutingKind; record: ShownRecord; sources: RouteSources },
): void {
  for (const [path, way] of Object.entries(kind.routes.ways)) {
    const id = record[path];
    if (typeof id !== 'string') continue;
    const base = {
      kind: kind.name,
      id: record.id,
      address: sources.addressOf(kind.name, record.id) ?? null,
      label: kind.routes.label(sources.withoutSecrets(kind.name, record)),
    };
    collector.route(idKey(targetOf(kind, path), id), base).ways.add(way);
  }
}

/** Adds the route of a record that its target lists, as an object or as the value of one field. The API does not document the format. */
function addNamed(
  collector: RouteCollector,
  { kind, address, item, sources }: { kind: RoutingKind; address: Address; item: unknown; sources: RouteSources },
): void {
  const { name, routes } = kind;
  if (!isObject(item) && typeof item !== 'string' && typeof item !== 'number') return;
  const fields = isObject(item) ? item : { [routes.named.item]: item };
  const id = typeof fields.id === 'string' ? fields.id : null;
  const label = routes.label(sources.withoutSecrets(name, { ...fields, id: id ?? '' }));
  if (label === '') return;
  const ownAddress = (id === null ? undefined : sources.addressOf(name, id)) ?? null;
  const base = { kind: name, id, label, address: ownAddress };
  collector.route(address, base).ways.add(routes.named.way);
}

/** Adds routes for the links that manual steps of the plan add or remove. */
function addPlanned(
  collector: RouteCollector,
  { kind, resource, sources }: { kind: RoutingKind; resource: PlannedResource; sources: RouteSources },
): void {
  const shown = sources.lists.get(kind.name)?.find(({ id }) => id === resource.id);
  const base = {
    kind: kind.name,
    id: resource.id,
    address: resource.address,
    label:
      kind.routes.label(shown === undefined ? declaredRecord(resource) : sources.withoutSecrets(kind.name, shown)) ||
      resource.address,
  };
  for (const { path, before, after, manual } of resource.changes) {
    const way = kind.routes.ways[path];
    if (way === undefined || !manual) continue;
    const [from, to] = [targetKey(targetOf(kind, path), before), targetKey(targetOf(kind, path), after)];
    if (from !== undefined) collector.route(from, base).leaving.add(way);
    if (to !== undefined) collector.route(to, base).coming.add(way);
  }
}

function targetKey(kind: string, value: Json | undefined): string | undefined {
  if (typeof value === 'string') return idKey(kind, value);
  if (isObject(value) && typeof value.unknown_until_apply === 'string') return value.unknown_until_apply;
  return undefined;
}

/** Returns the declared values of a record that does not exist yet, without secrets. */
function declaredRecord({ id, changes }: PlannedResource): ShownRecord {
  return { ...Object.fromEntries(changes.map(({ path, after }) => [path, after])), id: id ?? '' };
}
