import { leavesOf, ruleOf } from '../../engine/decide/field-rules.ts';
import type { Kind } from '../../kinds/kind.ts';
import { isForm } from '../../manifests/layers.ts';
import type { Resource } from '../../manifests/resource.ts';
import { compareText } from '../../problems/compare-text.ts';
import { isObject, type Json } from '../../values/json.ts';
import type { LeafPath } from '../../values/path.ts';
import { Secret } from '../../values/value.ts';

export interface UsedName {
  readonly path: LeafPath;
  readonly name: string;
}

/** Returns the secrets that a plan of the manifests needs, sorted by name, with the fields that use them. */
export function usedSecrets(manifests: readonly { kind: string; name: string; uses: readonly UsedName[] }[]) {
  const uses = manifests.flatMap(({ kind, name: resource, uses }) =>
    uses.map(({ path, name }) => ({ name, place: { path, address: `${kind}/${resource}` } })),
  );
  return [...Map.groupBy(uses, ({ name }) => name)]
    .map(([name, members]) => ({ name, places: members.map(({ place }) => place) }))
    .sort((a, b) => compareText(a.name, b.name));
}

/** Yields the names of the secrets in a value of a manifest. */
export function* namesIn(value: Json): Generator<string> {
  if (Array.isArray(value)) {
    for (const item of value) yield* namesIn(item);
  } else if (isObject(value)) {
    if (typeof value.$secret === 'string') yield value.$secret;
    // Other forms, such as `$literal`, contain no secret names.
    else if (isForm(value)) yield* namesIn((value.$join ?? null) as Json);
    else for (const item of Object.values(value)) yield* namesIn(item as Json);
  }
}

/** Names of secrets, by address and field. */
export type OwnSecrets = ReadonlyMap<string, ReadonlyMap<LeafPath, string>>;

/** Returns the names of the secrets in fields that the API never returns. */
export function ownSecrets(resources: readonly Resource[], kinds: ReadonlyMap<string, Kind>): OwnSecrets {
  return new Map(
    resources.flatMap(({ address, kind: name, spec }) => {
      const kind = kinds.get(name);
      if (kind === undefined) return [];
      const entries = [...leavesOf(kind, spec)].flatMap(([path, value]) =>
        value instanceof Secret && ruleOf(kind, path).writeOnly ? [[path, value.name] as const] : [],
      );
      return entries.length === 0 ? [] : [[address, new Map(entries)] as const];
    }),
  );
}

interface SecretRequest {
  readonly kind: Kind;
  /** The name of the manifest. */
  readonly name: string;
  /** Fields for which a secret is offered only if the project's manifest already has one. */
  readonly unneededFields: readonly LeafPath[];
  /** An owner for each field, such as the provider of an API key. Resources with the same owner presumably share a secret. */
  readonly owners: ReadonlyMap<LeafPath, string>;
}

interface OfferedSecret {
  readonly path: LeafPath;
  readonly name: string;
  /** True if a person chose the name. In this case, the manifest sets the field. */
  readonly isChosen: boolean;
}

/** Offers names for the secrets that a record may have, and that the API never returns. */
export class SecretNames {
  readonly #taken: Set<string>;
  readonly #own: OwnSecrets;
  readonly #chosen: string | undefined;
  readonly #shared = new Map<string, string>();

  /**
   * @param taken names of existing secrets. A new secret with one of these names would get the wrong value.
   * @param chosen the secret name that a person chose for all fields.
   */
  constructor(taken: Iterable<string>, own: OwnSecrets, chosen?: string) {
    this.#taken = new Set(taken);
    this.#own = own;
    this.#chosen = chosen;
  }

  offered({ kind, name, unneededFields, owners }: SecretRequest): readonly OfferedSecret[] {
    const known = this.#own.get(`${kind.name}/${name}`);
    const paths = Object.keys(kind.fields).filter((path) => kind.fields[path]?.writeOnly);
    return paths.flatMap((path): OfferedSecret[] => {
      const inProject = known?.get(path);
      if (inProject !== undefined) return [{ path, name: inProject, isChosen: false }];
      if (unneededFields.includes(path)) return [];
      const owner = owners.get(path);
      if (this.#chosen !== undefined) return [{ path, name: this.#chosen, isChosen: owner !== undefined }];
      if (owner === undefined) return [{ path, name: this.#freeName(kind, name, path), isChosen: false }];
      const key = JSON.stringify([kind.name, path, owner]);
      const shared = this.#shared.get(key) ?? this.#freeName(kind, owner, path);
      this.#shared.set(key, shared);
      return [{ path, name: shared, isChosen: false }];
    });
  }

  #freeName(kind: Kind, owner: string, path: LeafPath): string {
    const field = path.slice(path.lastIndexOf('.') + 1);
    const short = variableNameOf(`${owner}_${field}`);
    const full = variableNameOf(`${kind.name}_${owner}_${field}`);
    const free = /^\d/.test(short) || this.#taken.has(short) ? full : short;
    this.#taken.add(free);
    return free;
  }
}

function variableNameOf(text: string): string {
  return text.replace(/[^A-Za-z0-9]/g, '_').toUpperCase();
}
