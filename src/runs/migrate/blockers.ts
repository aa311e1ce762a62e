import { leavesOf, ruleOf } from '../../engine/decide/field-rules.ts';
import { kindNamed, lookups } from '../../kinds/index.ts';
import type { Resource } from '../../manifests/resource.ts';
import { Reference, Secret, specials, Unset, type Value } from '../../values/value.ts';
import type { Checklist } from './checklist.ts';
import type { LookupIndex } from './knowledge-map.ts';

interface BlockerFacts {
  /** By lookup: what the workspace that is filled has. */
  readonly shelves: ReadonlyMap<string, LookupIndex>;
  /** Name of the workspace that is filled. */
  readonly to: string;
}

/** What must be mended before anything is written: without it a plan could not be made, or would take one record for another. */
export function checkBlockers(
  list: Checklist,
  resources: readonly Resource[],
  { shelves, to }: BlockerFacts,
): void {
  for (const resource of resources) {
    const { address, spec } = resource;
    for (const special of specials(spec)) {
      if (special instanceof Secret && !special.isSet)
        list.add('must', `Set the secret ${special.name}.`, address);
      else if (special instanceof Unset)
        list.add('must', `Set the environment variable ${special.name}.`, address);
      else if (special instanceof Reference) {
        const ids = shelves.get(special.kind)?.byName.get(special.target) ?? [];
        const doubled = `${to} has ${ids.length} records ${special.address}: ${ids.join(', ')}. Rename one in the dashboard, or choose one with --map.`;
        if (ids.length > 1) list.add('must', doubled, address);
      }
    }
    const kind = kindNamed(resource.kind);
    for (const [path, value] of leavesOf(kind, spec)) {
      const { refersTo } = ruleOf(kind, path);
      if (refersTo === undefined) continue;
      for (const id of idsIn(value)) {
        if (shelves.get(refersTo)?.ids.has(id)) continue;
        const way = lookups.has(refersTo)
          ? `map it to a ${refersTo} of ${to} with --map`
          : `replace it with { $ref: ${refersTo}/<name> }, or remove it with a patch for ${to}`;
        const foreign = `${path} has the id of a ${refersTo}, ${id}, and ids belong to one workspace: ${way}.`;
        list.add('must', foreign, address);
      }
    }
  }
}

function idsIn(value: Value): string[] {
  const items: readonly Value[] = Array.isArray(value) ? value : [value];
  return items.filter((item) => typeof item === 'string');
}
