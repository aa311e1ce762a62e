import type { Resource } from '../manifests/resource.ts';
import { CannotEdit } from '../manifests/write-back/change.ts';
import type { Diagnostic } from '../problems/diagnostic.ts';
import { canonicalJson, type Json } from '../values/json.ts';
import { mapSpecials, Reference, toForms } from '../values/value.ts';
import type { CheckedTexts } from './snapshot.ts';

/** Of a resource. */
export interface NameChange {
  readonly kind: string;
  readonly from: string;
  readonly to: string;
}

interface Renamed {
  readonly before: CheckedTexts;
  readonly after: CheckedTexts;
  readonly change: NameChange;
  /** The `previous_names` that the resource is to have. */
  readonly previous: readonly string[];
}

/**
 * In every workspace the same resources with the same values must be left, the name aside, and no new problem.
 * @throws CannotEdit
 */
export function refuseOtherChanges({ before, after, change, previous }: Renamed): void {
  const { kind, from, to } = change;
  const known = new Set(
    before.workspaces.flatMap(({ diagnostics }) => diagnostics.map((each) => problemKey(each, change))),
  );
  for (const { name, resources, diagnostics } of after.workspaces) {
    const old = before.workspaces.find((each) => each.name === name)?.resources ?? [];
    const isThere = resources.some(({ address }) => address === `${kind}/${to}`);
    if (isThere !== old.some(({ address }) => address === `${kind}/${from}`)) {
      const words = isThere
        ? 'matches the old name and not the new one'
        : 'matches the new name and not the old one';
      throw new CannotEdit(`workspaces.${name}.skip ${words}; change it first`);
    }
    const fresh = diagnostics.find((each) => !known.has(problemKey(each, change)));
    if (fresh !== undefined)
      throw new CannotEdit(
        `${fresh.file}${fresh.line === undefined ? '' : `:${fresh.line}`}: ${fresh.message}`,
      );
    const wanted = new Set(old.map((each) => shapeOf(withName(each, { change, previous }))));
    const odd = resources.find((each) => !wanted.has(shapeOf(each)));
    if (odd !== undefined)
      throw new CannotEdit(
        `${odd.address} at ${odd.source.file}:${odd.source.line} shares the name by an anchor or by $var; write it out first`,
      );
  }
}

function problemKey({ severity, code, file, path = '' }: Diagnostic, { kind, from, to }: NameChange): string {
  return JSON.stringify([severity, code, file, path.replaceAll(`${kind}/${from}`, `${kind}/${to}`)]);
}

/** The resource as it is to be after the rename. */
function withName(resource: Resource, { change, previous }: Pick<Renamed, 'change' | 'previous'>): Resource {
  const [from, to] = [`${change.kind}/${change.from}`, `${change.kind}/${change.to}`];
  const spec = mapSpecials(resource.spec, (special) =>
    special instanceof Reference && special.address === from
      ? new Reference(change.kind, change.to)
      : special,
  ) as Resource['spec'];
  if (resource.address !== from) return { ...resource, spec };
  return { ...resource, spec, address: to, name: change.to, previousNames: previous };
}

/** Equal for resources that say the same, wherever they stand. */
function shapeOf({ source: _, spec, ...resource }: Resource): string {
  return canonicalJson(JSON.parse(JSON.stringify({ ...resource, spec: toForms(spec) })) as Json);
}
