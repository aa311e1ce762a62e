import { ruleOf } from '../../engine/decide/field-rules.ts';
import type { Kind } from '../../kinds/kind.ts';
import type { LookupNames } from '../../manifests/lookup-names.ts';
import { compareText } from '../../problems/compare-text.ts';
import type { Json } from '../../values/json.ts';
import type { LeafPath } from '../../values/path.ts';
import type { Secret } from '../../values/value.ts';
import type { DiscoveryNotes, FoundRecord } from '../discover.ts';
import { Identities, type Identity } from './identities.ts';
import { keptNames, type NamesInProject } from './known-names.ts';
import { namesFor, plainName } from './manifest-names.ts';
import type { ManifestDraft } from './manifest-text.ts';
import { type OwnSecrets, SecretNames } from './own-secrets.ts';
import { References } from './references.ts';
import type { Omission } from './shown-spec.ts';
import { type Body, type Sketch, sketchOf } from './sketch.ts';
import type { Spool, SpoolPlace } from './spool.ts';
import type { UsedName } from './used-secrets.ts';

interface Drafting {
  readonly kinds: ReadonlyMap<string, Kind>;
  /** Secrets that are set: their texts are written nowhere. */
  readonly secrets: readonly Secret[];
  /** Where the values of records lie until their manifests are written. To be closed after that. */
  readonly spool: Spool;
}

interface NamingSources {
  /** Names that the records have already: the first to have one for a record counts. */
  readonly knownNames: readonly NamesInProject[];
  readonly lookups: DiscoveryNotes['lookups'];
  readonly lookupNames?: LookupNames | undefined;
  /** What the project's manifests have for fields that nobody shows. */
  readonly ownSecrets?: OwnSecrets;
  /** The name of the secret that fields which nobody shows take. */
  readonly chosenSecret?: string | undefined;
}

/** A manifest without its values. */
export interface ManifestHead {
  readonly kind: string;
  readonly name: string;
  /** Undefined where the record is found without it. */
  readonly id: string | undefined;
  readonly secrets: ManifestDraft['secrets'];
  readonly omitted: readonly Omission[];
  readonly uses: readonly UsedName[];
  /** Fields that nobody shows and that take a secret which a person chose; among `uses`, too. */
  readonly chosen: readonly UsedName[];
}

export interface ExportedManifest {
  readonly draft: ManifestDraft;
  /** Long texts, by field: the manifest takes them from files. */
  readonly texts: ReadonlyMap<LeafPath, string>;
}

export interface ManifestDrafts {
  /** By address. */
  readonly manifests: readonly ManifestHead[];
  /** Records that no manifest can declare. */
  readonly leftOut: readonly { readonly kind: string; readonly id: string; readonly because: string }[];
  /** The whole manifests in the same order, each made when it is asked for. */
  whole(): Iterable<ExportedManifest>;
}

/** What is kept of a record while the others are read. */
interface Outline extends Identity, Omit<Sketch, 'body'> {
  /** What its manifest is called where no other one is called so. */
  readonly plainName: string;
  readonly body: SpoolPlace;
}

/** Makes a manifest of each record. The values of a record are let go until its manifest is made, when all names are known. */
export class Drafter {
  readonly #kinds: ReadonlyMap<string, Kind>;
  readonly #secrets: readonly Secret[];
  readonly #spool: Spool;
  readonly #outlines = new Map<string, Outline[]>();
  readonly #omissions = new Map<string, readonly Omission[]>();

  constructor({ kinds, secrets, spool }: Drafting) {
    this.#kinds = kinds;
    this.#secrets = secrets;
    this.#spool = spool;
    for (const kind of kinds.keys()) this.#outlines.set(kind, []);
  }

  take(kind: Kind, found: FoundRecord): void {
    const { record } = found;
    const { body, omitted, uses, needless, owners, unfit } = sketchOf(kind, found, this.#secrets);
    this.#outlines.get(kind.name)?.push({
      id: record.id,
      key: kind.naturalKeyOf?.(record),
      plainName: plainName(kind, record),
      unfit,
      omitted: this.#once(omitted),
      uses: uses.length === 0 ? NONE : uses,
      needless,
      owners,
      body: this.#spool.put(unfit === undefined ? body : undefined),
    });
  }

  /** All manifests, once every record was taken. */
  drafts({
    knownNames,
    lookups,
    lookupNames,
    ownSecrets = new Map(),
    chosenSecret,
  }: NamingSources): ManifestDrafts {
    const leftOut: { kind: string; id: string; because: string }[] = [];
    const named = new Map<string, Map<string, string>>();
    const identities = new Identities();
    const secretNames = new SecretNames(
      this.#secrets.map(({ name }) => name),
      ownSecrets,
      chosenSecret,
    );
    const manifests: (ManifestHead & { readonly body: SpoolPlace })[] = [];
    for (const kind of this.#kinds.values()) {
      const outlines = (this.#outlines.get(kind.name) ?? []).sort((a, b) => (a.id < b.id ? -1 : 1));
      const fit = outlines.filter((outline) => {
        const because = outline.unfit ?? identities.refusal(kind, outline);
        if (because !== undefined) leftOut.push({ kind: kind.name, id: outline.id, because });
        return because === undefined;
      });
      const known = knownNames.flatMap((names) => names.get(kind.name) ?? []);
      const names = namesFor(fit, keptNames(known, outlines));
      named.set(kind.name, names);
      for (const outline of fit) {
        const { omitted, needless, owners, body } = outline;
        const name = names.get(outline.id) ?? outline.plainName;
        const offered = secretNames.offered({ kind, name, needless, owners });
        const chosen = offered.filter(({ isChosen }) => isChosen);
        const secrets = offered.filter(({ isChosen }) => !isChosen);
        const uses = [...outline.uses, ...chosen];
        const id = identities.idOf(kind, outline);
        manifests.push({ kind: kind.name, name, id, secrets, omitted, uses, chosen, body });
      }
    }
    manifests.sort((a, b) => compareText(`${a.kind}/${a.name}`, `${b.kind}/${b.name}`));
    const references = new References(named, lookups, lookupNames);
    return { manifests, leftOut, whole: () => this.#whole(manifests, references) };
  }

  *#whole(
    manifests: Iterable<ManifestHead & { readonly body: SpoolPlace }>,
    references: References,
  ): Generator<ExportedManifest> {
    for (const head of manifests) {
      const kind = this.#kinds.get(head.kind);
      if (kind !== undefined)
        yield completed(head, kind, { references, body: this.#spool.get(head.body) as Body });
    }
  }

  /** Most records of a kind lack the same: one list is kept for all of them. */
  #once(omitted: readonly Omission[]): readonly Omission[] {
    const key = JSON.stringify(omitted.map(({ path, because }) => [path, because]));
    const known = this.#omissions.get(key) ?? omitted;
    this.#omissions.set(key, known);
    return known;
  }
}

const NONE: readonly UsedName[] = [];

function completed(
  head: ManifestHead,
  kind: Kind,
  { references, body }: { readonly references: References; readonly body: Body },
): ExportedManifest {
  const leaves = new Map<LeafPath, Json>();
  const notes = new Map<LeafPath, string>();
  const texts = new Map<LeafPath, string>();
  for (const [path, value] of body.leaves) {
    const { refersTo } = ruleOf(kind, path);
    if (refersTo === undefined) {
      leaves.set(path, value);
      if (typeof value === 'string' && isLong(value)) texts.set(path, value);
      continue;
    }
    const referring = references.in(refersTo, value);
    leaves.set(path, referring.value);
    const { dangling } = referring;
    if (dangling.length > 0)
      notes.set(path, `no ${refersTo} with a unique name found for ${dangling.join(', ')}`);
  }
  for (const { path, name } of head.chosen) leaves.set(path, { $secret: name });
  for (const [path, note] of body.notes) notes.set(path, note);
  const { name, id, secrets } = head;
  return { draft: { kind: kind.name, name, id, leaves, notes, secrets }, texts };
}

/** In lines: what is longer reads better in a file of its own. */
const MOST_LINES = 3;

function isLong(text: string): boolean {
  const lines = text.replace(/\n$/, '').split('\n');
  // A file's first mark would be taken for its byte order mark, and its odd line ends might not survive an editor.
  return lines.length > MOST_LINES && !text.startsWith('\uFEFF') && !text.includes('\r');
}
