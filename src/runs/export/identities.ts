import type { Kind } from '../../kinds/kind.ts';
import { metadataSchema } from '../../manifests/envelope.ts';

export interface Identity {
  readonly id: string;
  /** The natural key, of a kind that has one. */
  readonly key: string | undefined;
}

/** What tells records apart in manifests: one id and one natural key each. */
export class Identities {
  readonly #keys = new Map<string, string>();
  readonly #ids = new Map<string, string>();

  /** Why a record cannot be declared beside those before it; undefined where it can. */
  refusal(kind: Kind, { id, key }: Identity): string | undefined {
    const holder = key === undefined ? undefined : this.#keys.get(`${kind.name}/${key}`);
    if (holder !== undefined)
      return `${holder} has the same natural key; manifests can declare only one of them`;
    const hasId = metadataSchema.shape.id.safeParse(id).success && !this.#ids.has(id);
    if (!hasId && key === undefined) return 'its id is not valid in a manifest';
    if (key !== undefined) this.#keys.set(`${kind.name}/${key}`, id);
    if (hasId) this.#ids.set(id, kind.name);
    return undefined;
  }

  /** The id for the metadata; undefined where it cannot stand there, and the natural key finds the record. */
  idOf(kind: Kind, { id }: Identity): string | undefined {
    return this.#ids.get(id) === kind.name ? id : undefined;
  }
}
