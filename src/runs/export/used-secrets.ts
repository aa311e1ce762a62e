import { isForm } from '../../manifests/layers.ts';
import { compareText } from '../../problems/compare-text.ts';
import { isObject, type Json } from '../../values/json.ts';
import type { LeafPath } from '../../values/path.ts';

/** A field that takes a secret in. */
export interface UsedName {
  readonly path: LeafPath;
  readonly name: string;
}

/** A secret that the manifests name, and every place that takes it. */
/** The secrets without which the manifests cannot be planned, by name. */
export function usedSecrets(manifests: readonly { kind: string; name: string; uses: readonly UsedName[] }[]) {
  const uses = manifests.flatMap(({ kind, name: resource, uses }) =>
    uses.map(({ path, name }) => ({ name, place: { path, address: `${kind}/${resource}` } })),
  );
  return [...Map.groupBy(uses, ({ name }) => name)]
    .map(([name, members]) => ({ name, places: members.map(({ place }) => place) }))
    .sort((a, b) => compareText(a.name, b.name));
}

/** The names of the secrets in a value as a manifest writes it. */
export function* namesIn(value: Json): Generator<string> {
  if (Array.isArray(value)) {
    for (const item of value) yield* namesIn(item);
  } else if (isObject(value)) {
    if (typeof value.$secret === 'string') yield value.$secret;
    // What stands under any other form, `$literal` above all, is text.
    else if (isForm(value)) yield* namesIn((value.$join ?? null) as Json);
    else for (const item of Object.values(value)) yield* namesIn(item as Json);
  }
}
