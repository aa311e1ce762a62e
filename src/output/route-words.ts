import type { PlannedResource, PlannedRoute } from '../engine/plan/plan-document.ts';
import { kinds } from '../kinds/index.ts';
import type { Routes } from '../kinds/kind.ts';
import { addressList } from './address-list.ts';

/** The maximum number of records to list. The others are only counted. */
const MAX_NAMED = 4;

const routing = [...kinds.values()].flatMap(({ routes }) => routes ?? []);
const verbs: Routes['verbs'] = Object.assign({}, ...routing.map((routes) => routes.verbs));
const nouns = routing.map(({ noun }) => `${noun}s`).join(' or ');

/** Returns a clause for each kind of route to a record, or nothing if the routes were not read. If verbose, a clause reports no routes. */
export function routeRemarks(
  { routes }: { readonly routes?: PlannedResource['routes'] },
  { verbose }: { readonly verbose: boolean },
): string[] {
  if (routes === undefined) return [];
  const max = verbose ? 10 * MAX_NAMED : MAX_NAMED;
  const listed = (labels: readonly string[]) => addressList(labels, false, { max, lists: '' });
  const ways = new Set([
    ...Object.keys(verbs),
    ...routes.flatMap(({ ways, coming = [], leaving = [] }) => [...ways, ...coming, ...leaving]),
  ]);
  const remarks = [...ways].flatMap((way) => {
    const [current, future] = verbs[way] ?? [`has as ${way}`, `have as ${way}`];
    const of = (waysOf: (route: PlannedRoute) => readonly string[] | undefined) =>
      routes.filter((route) => waysOf(route)?.includes(way)).map(({ label }) => label);
    const [linked, coming, leaving] = [
      of((route) => route.ways),
      of((route) => route.coming),
      of((route) => route.leaving),
    ];
    return [
      linked.length === 0 ? '' : `${current} ${listed(linked)}`,
      coming.length === 0 ? '' : `will ${future} ${listed(coming)} once you link ${pronoun(coming)} in the dashboard`,
      leaving.length === 0
        ? ''
        : `will no longer ${future} ${listed(leaving)} once you unlink ${pronoun(leaving)} in the dashboard`,
    ].filter((remark) => remark !== '');
  });
  return remarks.length === 0 && verbose ? [`no ${nouns} linked`] : remarks;
}

function pronoun(labels: readonly string[]): string {
  return labels.length === 1 ? 'it' : 'them';
}

export function sentenceOf(clause: string): string {
  return `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`;
}
