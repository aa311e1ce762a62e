import { leavesOf, ruleOf } from '../../engine/field-rules.ts';
import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import { metadataSchema } from '../../manifests/envelope.ts';
import type { Resource } from '../../manifests/resource.ts';
import { compareText } from '../../problems/compare-text.ts';
import type { Json } from '../../values/json.ts';
import type { LeafPath } from '../../values/path.ts';
import { Secret } from '../../values/value.ts';
import type { Discovery, FoundRecord } from '../discover.ts';
import { asWritten } from './forms.ts';
import type { ManifestDraft } from './manifest-text.ts';
import { namesFor } from './names.ts';
import { type Omission, shownSpec } from './shown-spec.ts';

export interface Drafting {
  readonly kinds: ReadonlyMap<string, Kind>;
  readonly discovery: Discovery;
  /** By kind, then by id: names that the records have already. */
  readonly keptNames: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** Secrets that are set: their texts are written nowhere. */
  readonly secrets: readonly Secret[];
  /** What the project's manifests have for fields that nobody shows: a secret's name, by address and field. */
  readonly ownSecrets?: OwnSecrets;
}

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

export interface Drafts {
  readonly manifests: readonly ExportedManifest[];
  /** Records that no manifest can declare. */
  readonly leftOut: readonly { readonly kind: string; readonly id: string; readonly because: string }[];
}

export interface ExportedManifest {
  readonly draft: ManifestDraft;
  /** Long texts, by field: the manifest takes them from files. */
  readonly texts: ReadonlyMap<LeafPath, string>;
  readonly omitted: readonly Omission[];
}

/** A manifest for each record that was found. */
export function draftsOf(input: Drafting): Drafts {
  const { kinds, discovery } = input;
  const leftOut: { kind: string; id: string; because: string }[] = [];
  const named = new Map<string, Map<string, string>>();
  const specs = new Map<FoundRecord, ReturnType<typeof shownSpec>>();
  const identities = new Identities();
  for (const kind of kinds.values()) {
    const fit: FoundRecord[] = [];
    for (const found of discovery.records.get(kind.name) ?? []) {
      const spec = shownSpec(kind, found);
      const because = spec.unfit ?? identities.refusal(kind, found.record);
      if (because !== undefined) leftOut.push({ kind: kind.name, id: found.record.id, because });
      else {
        fit.push(found);
        specs.set(found, spec);
      }
    }
    named.set(kind.name, namesFor(kind, fit, input.keptNames.get(kind.name) ?? new Map()));
  }
  const references = new References(named, discovery);
  // A name that means a secret already is offered for no other: its text would be sent in that one's place.
  const secretNames = new Set(input.secrets.map(({ name }) => name));
  const manifests: ExportedManifest[] = [];
  for (const kind of kinds.values()) {
    const names = named.get(kind.name) ?? new Map<string, string>();
    for (const found of discovery.records.get(kind.name) ?? []) {
      const spec = specs.get(found);
      const name = names.get(found.record.id);
      if (spec === undefined || name === undefined) continue;
      const { leaves, notes, texts, omitted } = written(kind, spec.leaves, {
        references,
        secrets: input.secrets,
      });
      for (const root of spec.fromPublished) notes.set(root, publishedNote(found));
      manifests.push({
        draft: {
          kind: kind.name,
          name,
          id: identities.idOf(kind, found.record),
          leaves,
          notes,
          secrets: secretsOf(kind, name, { taken: secretNames, own: input.ownSecrets }),
        },
        texts,
        omitted: [...spec.omitted, ...omitted],
      });
    }
  }
  manifests.sort((a, b) => compareText(addressOf(a), addressOf(b)));
  return { manifests, leftOut };
}

function addressOf({ draft }: ExportedManifest): string {
  return `${draft.kind}/${draft.name}`;
}

/** What tells records apart in manifests: one id and one natural key each. */
class Identities {
  readonly #keys = new Map<string, string>();
  readonly #ids = new Map<string, string>();

  /** Why a record cannot be declared beside those before it; undefined where it can. */
  refusal(kind: Kind, record: ShownRecord): string | undefined {
    const key = kind.recordKey?.(record);
    const holder = key === undefined ? undefined : this.#keys.get(`${kind.name}/${key}`);
    if (holder !== undefined)
      return `${holder} has the same natural key, and manifests can declare only one of them`;
    const hasId = metadataSchema.shape.id.safeParse(record.id).success && !this.#ids.has(record.id);
    if (!hasId && key === undefined) return 'its id cannot stand in a manifest';
    if (key !== undefined) this.#keys.set(`${kind.name}/${key}`, record.id);
    if (hasId) this.#ids.set(record.id, kind.name);
    return undefined;
  }

  /** The id for the metadata; undefined where it cannot stand there, and the natural key finds the record. */
  idOf(kind: Kind, { id }: ShownRecord): string | undefined {
    return this.#ids.get(id) === kind.name ? id : undefined;
  }
}

/** Turns ids into references. */
class References {
  readonly #named: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly #lookups = new Map<string, Map<string, string>>();

  constructor(named: ReadonlyMap<string, ReadonlyMap<string, string>>, { lookups }: Discovery) {
    this.#named = named;
    for (const [kind, records] of lookups) {
      const byName = Map.groupBy(records, ({ name }) => name);
      const single = [...byName.values()].flatMap(([first, ...more]) =>
        first === undefined || more.length > 0 || first.name === '' || !first.name.isWellFormed()
          ? []
          : [first],
      );
      this.#lookups.set(kind, new Map(single.map(({ id, name }) => [id, name])));
    }
  }

  /** The reference, or undefined where the id leads nowhere, or to a name that is not the only one of its kind. */
  to(kind: string, id: string): Json | undefined {
    const name = this.#named.get(kind)?.get(id) ?? this.#lookups.get(kind)?.get(id);
    return name === undefined ? undefined : { $ref: `${kind}/${name}` };
  }
}

interface Writing {
  readonly references: References;
  readonly secrets: readonly Secret[];
}

function written(kind: Kind, shown: ReadonlyMap<LeafPath, Json>, { references, secrets }: Writing) {
  const leaves = new Map<LeafPath, Json>();
  const notes = new Map<LeafPath, string>();
  const texts = new Map<LeafPath, string>();
  const omitted: Omission[] = [];
  for (const [path, value] of shown) {
    const { refersTo } = ruleOf(kind, path);
    if (refersTo !== undefined) {
      const ids = new Set<string>();
      const referring = (item: Json): Json => {
        if (typeof item !== 'string') return item;
        const reference = references.to(refersTo, item);
        if (reference === undefined) ids.add(item);
        return reference ?? item;
      };
      leaves.set(path, Array.isArray(value) ? value.map(referring) : referring(value));
      if (ids.size > 0)
        notes.set(path, `no ${refersTo} was found under a name of its own for ${[...ids].join(', ')}`);
      continue;
    }
    const form = asWritten(value, secrets);
    if (form === undefined) {
      omitted.push({ path, because: 'it holds the text of a secret in a place where no $secret can stand' });
      continue;
    }
    leaves.set(path, form);
    if (typeof form === 'string' && isLong(form)) texts.set(path, form);
  }
  return { leaves, notes, texts, omitted };
}

/** In lines: what is longer reads better in a file of its own. */
const MOST_LINES = 3;

function isLong(text: string): boolean {
  const lines = text.replace(/\n$/, '').split('\n');
  // A file's first mark would be taken for its byte order mark, and its odd line ends might not survive an editor.
  return lines.length > MOST_LINES && !text.startsWith('\uFEFF') && !text.includes('\r');
}

function publishedNote({ published }: FoundRecord): string {
  const version = published?.record.version;
  const which =
    typeof version === 'number'
      ? `version ${version}, the latest published one`
      : 'the latest published version';
  const ahead = published?.ahead ? '; the draft is newer than it and may differ' : '';
  return `From ${which}: the read of the draft does not show it${ahead}.`;
}

interface SecretNames {
  readonly taken: Set<string>;
  readonly own: OwnSecrets | undefined;
}

function secretsOf(
  kind: Kind,
  name: string,
  { taken, own }: SecretNames,
): { path: LeafPath; name: string }[] {
  const paths = Object.keys(kind.fields).filter((path) => kind.fields[path]?.writeOnly);
  const known = own?.get(`${kind.name}/${name}`);
  return paths.map((path) => {
    const given = known?.get(path);
    if (given !== undefined) return { path, name: given };
    const field = path.slice(path.lastIndexOf('.') + 1);
    const short = variableOf(`${name}_${field}`);
    const full = variableOf(`${kind.name}_${name}_${field}`);
    const free = /^\d/.test(short) || taken.has(short) ? full : short;
    taken.add(free);
    return { path, name: free };
  });
}

function variableOf(text: string): string {
  return text.replace(/[^A-Za-z0-9]/g, '_').toUpperCase();
}
