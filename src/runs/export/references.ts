import { uniqueIds } from '../../engine/decide/references.ts';
import type { LookupRecord } from '../../kinds/kind.ts';
import { type LookupNames, namesInManifests } from '../../manifests/lookup-names.ts';
import type { Json } from '../../values/json.ts';

/** Turns ids into references. */
export class References {
  readonly #named: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly #lookups = new Map<string, Map<string, string>>();

  /** @param named names of manifests, by kind and id. */
  constructor(
    named: ReadonlyMap<string, ReadonlyMap<string, string>>,
    lookups: ReadonlyMap<string, readonly LookupRecord[]>,
    lookupNames: LookupNames | undefined,
  ) {
    this.#named = named;
    for (const [kind, records] of lookups) {
      const names = [...uniqueIds(records)].filter(([name]) => name !== '' && name.isWellFormed());
      const inManifests = names.flatMap(([name, id]) =>
        namesInManifests(lookupNames, kind, name)
          .slice(0, 1)
          .map((each) => [id, each] as const),
      );
      this.#lookups.set(kind, new Map(inManifests));
    }
  }

  /** The value with references instead of ids, and the ids without a record or a unique name. */
  in(kind: string, value: Json): { readonly value: Json; readonly dangling: readonly string[] } {
    const dangling = new Set<string>();
    const referring = (item: Json): Json => {
      if (typeof item !== 'string') return item;
      const name = this.#named.get(kind)?.get(item) ?? this.#lookups.get(kind)?.get(item);
      if (name !== undefined) return { $ref: `${kind}/${name}` };
      dangling.add(item);
      return item;
    };
    return {
      value: Array.isArray(value) ? value.map((item: Json) => referring(item)) : referring(value),
      dangling: [...dangling],
    };
  }
}
