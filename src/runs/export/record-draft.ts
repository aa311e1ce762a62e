import { ruleOf } from '../../engine/decide/field-rules.ts';
import type { Kind } from '../../kinds/kind.ts';
import { isForm } from '../../manifests/layers.ts';
import { isObject, type Json, setOwn } from '../../values/json.ts';
import type { LeafPath } from '../../values/path.ts';
import type { Secret } from '../../values/value.ts';
import type { FoundRecord } from '../discover.ts';
import { namesIn, type UsedName } from './secret-names.ts';
import { type Omission, shownSpec } from './shown-spec.ts';

/** A manifest made from one record alone: without its name, and with ids in place of references. */
export interface RecordDraft {
  readonly leaves: ReadonlyMap<LeafPath, Json>;
  readonly notes: ReadonlyMap<LeafPath, string>;
  readonly omitted: readonly Omission[];
  readonly uses: readonly UsedName[];
  /** Fields that the record does not need. */
  readonly needless: readonly LeafPath[];
  /** By field that no read shows: the text on which its value depends, such as the provider of a key. */
  readonly owners: ReadonlyMap<LeafPath, string>;
  /** Why no manifest can declare the record, if so. */
  readonly unfit: string | undefined;
}

/** @param secrets secrets that are set. Their texts are not in the result. */
export function recordDraft(kind: Kind, found: FoundRecord, secrets: readonly Secret[]): RecordDraft {
  const spec = shownSpec(kind, found);
  const leaves = new Map<LeafPath, Json>();
  const omitted = [...spec.omitted];
  const uses: UsedName[] = [];
  for (const [path, value] of spec.leaves) {
    const isReference = ruleOf(kind, path).refersTo !== undefined;
    const form = isReference ? value : manifestValue(value, secrets);
    if (form === undefined) {
      omitted.push({ path, because: 'it holds a secret where $secret is not allowed' });
      continue;
    }
    leaves.set(path, form);
    for (const name of new Set(namesIn(form))) uses.push({ path, name });
  }
  const notes = new Map([
    ...spec.fromPublished.map((root) => [root, publishedNote(found)] as const),
    ...spec.asNumbers.map((path) => [path, NUMBER_NOTE] as const),
  ]);
  const needless: LeafPath[] = [];
  const owners = new Map<LeafPath, string>();
  for (const [path, { needlessWith: other }] of Object.entries(kind.fields)) {
    const owner = other && spec.leaves.get(other.field);
    if (typeof owner !== 'string') continue;
    if (owner === other?.value) needless.push(path);
    else owners.set(path, owner);
  }
  return { leaves, notes, omitted, uses, needless, owners, unfit: spec.unfit };
}

const NUMBER_NOTE =
  'Shown as a JSON number: a plus or leading zeros may be missing. Write it in full before it is created anywhere else.';

function publishedNote({ published }: FoundRecord): string {
  const version = published?.record.version;
  const which =
    typeof version === 'number'
      ? `version ${version}, the latest published one`
      : 'the latest published version';
  const ahead = published?.ahead ? '; the draft is newer and may differ' : '';
  return `From ${which}: the draft does not show it${ahead}.`;
}

/** Characters. Shorter secrets may be words of a prompt, such as keys for the emulator. */
const SHORTEST_SECRET = 12;

/**
 * A value as a manifest writes it: an object that looks like a value form is put under `$literal`, and the text of a known secret becomes
 * `$secret`. Undefined if a secret is in a place that allows no form.
 */
function manifestValue(value: Json, secrets: readonly Secret[]): Json | undefined {
  if (typeof value === 'string') return withSecrets(value, secrets);
  if (Array.isArray(value)) {
    const items = value.map((item: Json) => manifestValue(item, secrets));
    return items.includes(undefined) ? undefined : (items as Json[]);
  }
  if (!isObject(value)) return value;
  if (isForm(value)) return holdsSecret(value, secrets) ? undefined : { $literal: value as Json };
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
    const hidden = secret.reveal();
    if (hidden.length < SHORTEST_SECRET) continue;
    parts = parts.flatMap((part): Json[] => {
      if (typeof part !== 'string' || !part.includes(hidden)) return [part];
      const form = { $secret: secret.name };
      return part.split(hidden).flatMap((between, index) => (index === 0 ? [between] : [form, between]));
    });
  }
  if (parts.length === 1) return text;
  const texts = parts.filter((part) => part !== '');
  return texts.length === 1 ? (texts[0] ?? '') : { $join: texts, separator: '' };
}

function holdsSecret(value: Json, secrets: readonly Secret[]): boolean {
  const text = JSON.stringify(value);
  return secrets.some((secret) => {
    const hidden = secret.reveal();
    return hidden.length >= SHORTEST_SECRET && text.includes(JSON.stringify(hidden).slice(1, -1));
  });
}
