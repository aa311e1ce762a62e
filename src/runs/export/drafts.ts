import { ruleOf } from '../../engine/decide/field-rules.ts';
import { uniqueIds } from '../../engine/decide/references.ts';
import type { Kind, LookupRecord } from '../../kinds/kind.ts';
import { type LookupNames, namesInManifests } from '../../manifests/kind-schema.ts';
import { isForm } from '../../manifests/layers.ts';
import { compareText } from '../../problems/compare-text.ts';
import { isObject, type Json, setOwn } from '../../values/json.ts';
import type { LeafPath } from '../../values/path.ts';
import type { Secret } from '../../values/value.ts';
import type { DiscoveryNotes, FoundRecord } from '../discover.ts';
import {
  Identities,
  type Identity,
  knownNamesById,
  type NamesInProject,
  namesFor,
  plainName,
} from './manifest-names.ts';
import type { ManifestDraft } from './manifest-text.ts';
import { namesIn, type OwnSecrets, SecretNames, type UsedName } from './secret-names.ts';
import { type Omission, shownSpec } from './shown-spec.ts';

interface NamingSources {
  /** Existing names of the records. If a record has several names, the first one is used. */
  readonly knownNames: readonly NamesInProject[];
  readonly lookups: DiscoveryNotes['lookups'];
  readonly lookupNames?: LookupNames | undefined;
  /** Secrets in the project's manifests, for fields that the API never returns. */
  readonly ownSecrets?: OwnSecrets;
  /** The name of the secret for fields that the API never returns. */
  readonly chosenSecret?: string | undefined;
}

/** A manifest without its values. */
export interface ManifestHead extends Pick<ManifestDraft, 'kind' | 'name' | 'id' | 'secrets'> {
  readonly omitted: readonly Omission[];
  readonly uses: readonly UsedName[];
  /** Fields that the API never returns, with a secret that a person chose. Also in `uses`. */
  readonly chosen: readonly UsedName[];
}

export interface ExportedManifest {
  readonly draft: ManifestDraft;
  /** Long strings by field, which are written to separate files. */
  readonly texts: ReadonlyMap<LeafPath, string>;
}

export interface ManifestDrafts {
  /** The manifests, sorted by address. */
  readonly manifests: readonly ManifestHead[];
  /** Records that no manifest can declare. */
  readonly leftOut: readonly { readonly kind: string; readonly id: string; readonly because: string }[];
  /** Returns the complete manifests in the same order. Each manifest is created on demand. */
  complete(): Iterable<ExportedManifest>;
}

interface NamedDraft extends Identity, RecordDraft {
  /** The name of the manifest, unless another manifest has the same name. */
  readonly plainName: string;
}

type DraftedManifest = ManifestHead & { readonly of: Kind; readonly draft: NamedDraft };

/** Drafts a manifest for each record. References are written last, when all names are known. */
export class Drafter {
  readonly #secrets: readonly Secret[];
  readonly #drafts = new Map<Kind, NamedDraft[]>();

  /** @param secrets secrets with a value. The values are not written. */
  constructor(secrets: readonly Secret[]) {
    this.#secrets = secrets;
  }

  take(kind: Kind, found: FoundRecord): void {
    const { record } = found;
    const drafts = this.#drafts.get(kind) ?? [];
    this.#drafts.set(kind, drafts);
    drafts.push({
      ...recordDraft(kind, found, this.#secrets),
      id: record.id,
      key: kind.naturalKeyOf?.(record),
      plainName: plainName(kind, record),
    });
  }

  /** Returns all manifests. Must be called after the last record. */
  drafts({ knownNames, lookups, lookupNames, ownSecrets = new Map(), chosenSecret }: NamingSources): ManifestDrafts {
    const leftOut: { kind: string; id: string; because: string }[] = [];
    const allNames = new Map<string, Map<string, string>>();
    const identities = new Identities();
    const secretNames = new SecretNames(
      this.#secrets.map(({ name }) => name),
      ownSecrets,
      chosenSecret,
    );
    const manifests: DraftedManifest[] = [];
    for (const [kind, drafts] of this.#drafts) {
      drafts.sort((a, b) => (a.id < b.id ? -1 : 1));
      const declarable = drafts.filter((draft) => {
        const because = draft.unfit ?? identities.refusal(kind, draft);
        if (because !== undefined) leftOut.push({ kind: kind.name, id: draft.id, because });
        return because === undefined;
      });
      const known = knownNames.flatMap((names) => names.get(kind.name) ?? []);
      const names = namesFor(declarable, knownNamesById(known, drafts));
      allNames.set(kind.name, names);
      for (const draft of declarable) {
        const { omitted, unneededFields, owners } = draft;
        const name = names.get(draft.id) ?? draft.plainName;
        const offered = secretNames.offered({ kind, name, unneededFields, owners });
        const chosen = offered.filter(({ isChosen }) => isChosen);
        const secrets = offered.filter(({ isChosen }) => !isChosen);
        const uses = [...draft.uses, ...chosen];
        const id = identities.idOf(kind, draft);
        manifests.push({ kind: kind.name, name, id, secrets, omitted, uses, chosen, of: kind, draft });
      }
    }
    manifests.sort((a, b) => compareText(`${a.kind}/${a.name}`, `${b.kind}/${b.name}`));
    for (const [kind, records] of lookups) allNames.set(kind, lookupNamesById(kind, records, lookupNames));
    return { manifests, leftOut, complete: () => manifests.values().map((each) => completeManifest(each, allNames)) };
  }
}

/** The names of possible reference targets, by kind and id. */
type Names = ReadonlyMap<string, ReadonlyMap<string, string>>;

function lookupNamesById(
  kind: string,
  records: readonly LookupRecord[],
  lookupNames: LookupNames | undefined,
): Map<string, string> {
  const unique = [...uniqueIds(records)].filter(([name]) => name !== '' && name.isWellFormed());
  return new Map(
    unique.flatMap(([name, id]) => {
      const [inManifests] = namesInManifests(lookupNames, kind, name);
      return inManifests === undefined ? [] : [[id, inManifests] as const];
    }),
  );
}

function completeManifest(manifest: DraftedManifest, names: Names): ExportedManifest {
  const { of: kind } = manifest;
  const leaves = new Map<LeafPath, Json>();
  const notes = new Map<LeafPath, string>();
  const texts = new Map<LeafPath, string>();
  for (const [path, value] of manifest.draft.leaves) {
    const { refersTo } = ruleOf(kind, path);
    if (refersTo === undefined) {
      leaves.set(path, value);
      if (typeof value === 'string' && isLong(value)) texts.set(path, value);
      continue;
    }
    const dangling = new Set<string>();
    const withReference = (item: Json): Json => {
      if (typeof item !== 'string') return item;
      const name = names.get(refersTo)?.get(item);
      if (name === undefined) dangling.add(item);
      return name === undefined ? item : { $ref: `${refersTo}/${name}` };
    };
    leaves.set(path, Array.isArray(value) ? value.map((item: Json) => withReference(item)) : withReference(value));
    if (dangling.size > 0) notes.set(path, `no ${refersTo} with a unique name found for ${[...dangling].join(', ')}`);
  }
  for (const { path, name } of manifest.chosen) leaves.set(path, { $secret: name });
  for (const [path, note] of manifest.draft.notes) notes.set(path, note);
  const { name, id, secrets } = manifest;
  return { draft: { kind: kind.name, name, id, leaves, notes, secrets }, texts };
}

/** Strings with more lines are written to separate files. */
const MAX_INLINE_LINES = 3;

function isLong(text: string): boolean {
  const lines = text.replace(/\n$/, '').split('\n');
  // A leading \uFEFF would be read as the byte order mark of a file, and an editor might change carriage returns.
  return lines.length > MAX_INLINE_LINES && !text.startsWith('\uFEFF') && !text.includes('\r');
}

/** The manifest draft of one record, without a name and with ids instead of references. */
interface RecordDraft {
  readonly leaves: ReadonlyMap<LeafPath, Json>;
  readonly notes: ReadonlyMap<LeafPath, string>;
  readonly omitted: readonly Omission[];
  readonly uses: readonly UsedName[];
  /** Secret fields that the record does not need. */
  readonly unneededFields: readonly LeafPath[];
  /** The value on which each secret field depends, such as the provider of an API key. */
  readonly owners: ReadonlyMap<LeafPath, string>;
  /** The reason why no manifest can declare the record, if any. */
  readonly unfit: string | undefined;
}

/** @param secrets secrets with a value. The result does not contain the values. */
function recordDraft(kind: Kind, found: FoundRecord, secrets: readonly Secret[]): RecordDraft {
  const spec = shownSpec(kind, found);
  const leaves = new Map<LeafPath, Json>();
  const omitted = [...spec.omitted];
  const uses: UsedName[] = [];
  for (const [path, value] of spec.leaves) {
    const isReference = ruleOf(kind, path).refersTo !== undefined;
    const form = isReference ? value : manifestValue(value, secrets);
    if (form === undefined) {
      omitted.push({ path, because: 'the value contains a secret where $secret is not allowed' });
      continue;
    }
    leaves.set(path, form);
    for (const name of new Set(namesIn(form))) uses.push({ path, name });
  }
  const notes = new Map([
    ...spec.fromPublished.map((root) => [root, publishedNote(found)] as const),
    ...spec.asNumbers.map((path) => [path, NUMBER_NOTE] as const),
  ]);
  const unneededFields: LeafPath[] = [];
  const owners = new Map<LeafPath, string>();
  for (const [path, { unnecessaryIf: other }] of Object.entries(kind.fields)) {
    const owner = other && spec.leaves.get(other.field);
    if (typeof owner !== 'string') continue;
    if (owner === other?.value) unneededFields.push(path);
    else owners.set(path, owner);
  }
  return { leaves, notes, omitted, uses, unneededFields, owners, unfit: spec.unfit };
}

const NUMBER_NOTE =
  'The API returns a JSON number, so a plus sign or leading zeros may be missing. Write the full value before you create the record in another workspace.';

function publishedNote({ published }: FoundRecord): string {
  const version = published?.record.version;
  const which =
    typeof version === 'number' ? `version ${version}, the latest published version` : 'the latest published version';
  const ahead = published?.ahead ? '; the draft is newer and may differ' : '';
  return `Value from ${which}, because the API does not return this field for the draft${ahead}.`;
}

/** The minimum length in characters. Shorter secrets, such as keys for the emulator, may be ordinary words of a prompt. */
const MIN_SECRET_LENGTH = 12;

/**
 * Returns a value as written in a manifest: an object that looks like a value form is put under `$literal`, and a known secret becomes
 * `$secret`. Returns undefined if a secret is at a position that allows no form.
 */
function manifestValue(value: Json, secrets: readonly Secret[]): Json | undefined {
  if (typeof value === 'string') return withSecrets(value, secrets);
  if (Array.isArray(value)) {
    const items = value.map((item: Json) => manifestValue(item, secrets));
    return items.includes(undefined) ? undefined : (items as Json[]);
  }
  if (!isObject(value)) return value;
  if (isForm(value)) return containsSecret(value, secrets) ? undefined : { $literal: value as Json };
  const written: Record<string, Json> = {};
  for (const key of Object.keys(value)) {
    const item = manifestValue(value[key] as Json, secrets);
    if (item === undefined || withSecrets(key, secrets) !== key) return undefined;
    setOwn(written, key, item);
  }
  return written;
}

function withSecrets(text: string, secrets: readonly Secret[]): Json {
  let parts: Json[] = [text];
  for (const secret of secrets) {
    const value = secret.reveal();
    if (value.length < MIN_SECRET_LENGTH) continue;
    parts = parts.flatMap((part): Json[] => {
      if (typeof part !== 'string' || !part.includes(value)) return [part];
      const form = { $secret: secret.name };
      return part.split(value).flatMap((between, index) => (index === 0 ? [between] : [form, between]));
    });
  }
  if (parts.length === 1) return text;
  const nonEmpty = parts.filter((part) => part !== '');
  return nonEmpty.length === 1 ? (nonEmpty[0] ?? '') : { $join: nonEmpty, separator: '' };
}

function containsSecret(value: Json, secrets: readonly Secret[]): boolean {
  const text = JSON.stringify(value);
  return secrets.some((secret) => {
    const value = secret.reveal();
    return value.length >= MIN_SECRET_LENGTH && text.includes(JSON.stringify(value).slice(1, -1));
  });
}
