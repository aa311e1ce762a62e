import { isForm } from '../../manifests/layers.ts';
import { compareText } from '../../problems/compare-text.ts';
import { isObject, type Json } from '../../values/json.ts';
import type { LeafPath } from '../../values/path.ts';
import type { ExportedManifest } from './drafts.ts';

/** A secret that the manifests name, and every place that takes it. */
export interface UsedSecret {
  readonly name: string;
  readonly places: readonly { readonly path: LeafPath; readonly address: string }[];
}

/** The secrets without which the manifests cannot be planned, by name. */
export function usedSecrets(manifests: readonly ExportedManifest[]): UsedSecret[] {
  const places = new Map<string, { path: LeafPath; address: string }[]>();
  for (const { draft } of manifests) {
    for (const [path, value] of draft.leaves) {
      for (const name of new Set(namesIn(value))) {
        const place = { path, address: `${draft.kind}/${draft.name}` };
        places.set(name, [...(places.get(name) ?? []), place]);
      }
    }
  }
  return [...places]
    .map(([name, members]) => ({ name, places: members }))
    .sort((a, b) => compareText(a.name, b.name));
}

function* namesIn(value: Json): Generator<string> {
  if (Array.isArray(value)) {
    for (const item of value) yield* namesIn(item);
  } else if (isObject(value)) {
    if (typeof value.$secret === 'string') yield value.$secret;
    // What stands under any other form, `$literal` above all, is text.
    else if (isForm(value)) yield* namesIn((value.$join ?? null) as Json);
    else for (const item of Object.values(value)) yield* namesIn(item as Json);
  }
}
