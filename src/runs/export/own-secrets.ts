import { leavesOf, ruleOf } from '../../engine/decide/field-rules.ts';
import type { Kind } from '../../kinds/kind.ts';
import type { Resource } from '../../manifests/resource.ts';
import type { LeafPath } from '../../values/path.ts';
import { Secret } from '../../values/value.ts';

/** A secret's name, by address and field. */
export type OwnSecrets = ReadonlyMap<string, ReadonlyMap<LeafPath, string>>;

/** The names of the secrets that manifests have in fields that nobody shows. */
export function ownSecrets(resources: readonly Resource[], kinds: ReadonlyMap<string, Kind>): OwnSecrets {
  return new Map(
    resources.flatMap(({ address, kind: name, spec }) => {
      const kind = kinds.get(name);
      if (kind === undefined) return [];
      const named = [...leavesOf(kind, spec)].flatMap(([path, value]) =>
        value instanceof Secret && ruleOf(kind, path).writeOnly ? [[path, value.name] as const] : [],
      );
      return named.length === 0 ? [] : [[address, new Map(named)] as const];
    }),
  );
}

/** Offers a name for each secret that a record may have and that nobody shows. */
export class SecretNames {
  readonly #taken: Set<string>;
  readonly #own: OwnSecrets;

  /** @param taken names that mean a secret already: offered for another one, its text would be sent in that one's place. */
  constructor(taken: Iterable<string>, own: OwnSecrets) {
    this.#taken = new Set(taken);
    this.#own = own;
  }

  /**
   * For the fields of one manifest.
   * @param needless fields that are offered only where a manifest has them already.
   */
  offered(
    kind: Kind,
    name: string,
    needless: readonly LeafPath[],
  ): readonly { readonly path: LeafPath; readonly name: string }[] {
    const known = this.#own.get(`${kind.name}/${name}`);
    const paths = Object.keys(kind.fields).filter((path) => kind.fields[path]?.writeOnly);
    return paths.flatMap((path) => {
      const given = known?.get(path);
      if (given !== undefined) return [{ path, name: given }];
      if (needless.includes(path)) return [];
      const field = path.slice(path.lastIndexOf('.') + 1);
      const short = variableOf(`${name}_${field}`);
      const full = variableOf(`${kind.name}_${name}_${field}`);
      const free = /^\d/.test(short) || this.#taken.has(short) ? full : short;
      this.#taken.add(free);
      return [{ path, name: free }];
    });
  }
}

function variableOf(text: string): string {
  return text.replace(/[^A-Za-z0-9]/g, '_').toUpperCase();
}
