import type { PlannedResource, PlannedRoute } from '../engine/plan/plan-document.ts';

/** How many records are named before the rest is counted. */
const named = 4;

/** What leads to a record that changes, a clause each; empty where nobody looked and, unless verbose, where nothing does. */
export function routeRemarks(
  { routes }: { readonly routes?: PlannedResource['routes'] },
  { verbose }: { readonly verbose: boolean },
): string[] {
  if (routes === undefined) return [];
  const most = verbose ? 10 * named : named;
  const now = listed(routes, ({ ways }) => ways, most);
  const coming = listed(routes, ({ coming = [] }) => coming, most);
  const leaving = listed(routes, ({ leaving = [] }) => leaving, most);
  return [
    now === '' ? (verbose && coming === '' ? 'nothing leads to it' : '') : `reached by ${now}`,
    coming === '' ? '' : `once done by hand, reached by ${coming}`,
    leaving === '' ? '' : `once done by hand, no longer reached by ${leaving}`,
  ].filter((remark) => remark !== '');
}

/** A clause as a sentence of its own. */
export function sentenceOf(clause: string): string {
  return `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`;
}

/** `+12025550120 (Front desk) inbound, +12025550121 inbound and outbound` */
function listed(
  routes: readonly PlannedRoute[],
  waysOf: (route: PlannedRoute) => readonly string[],
  most: number,
): string {
  const all = routes.filter((route) => waysOf(route).length > 0);
  const shown = all.length <= most + 1 ? all : all.slice(0, most);
  const texts = shown.map((route) => `${route.label} ${waysOf(route).join(' and ')}`);
  const rest = all.length - shown.length;
  return texts.join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}
