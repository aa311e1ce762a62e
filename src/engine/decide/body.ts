import type { z } from 'zod';
import type { Kind, PublishedRecord, ShownRecord } from '../../kinds/kind.ts';
import { idKey, namedId } from '../../manifests/resource.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import { hasInexactNumber, isObject, type Json, type JsonObject, setOwn } from '../../values/json.ts';
import { isUnder, type LeafPath, type Leaves, rootOf, unflatten, valueAt } from '../../values/path.ts';
import { isTainted, revealSecrets } from '../../values/value.ts';
import type { Remark } from '../plan/plan-document.ts';
import type { Facts } from './decision.ts';
import type { Differences } from './differences.ts';
import { fieldSchema, fieldsOf, isConfigObject, ruleOf, showsMask, valueInRecord } from './field-rules.ts';
import type { KnownRecords, NamedRecord } from './known-records.ts';
import { plainOf, recordedOf } from './state-entry.ts';
import { shorten } from './write-response.ts';

export function sentAtCreate(kind: Kind, leaves: Leaves): Leaves {
  return new Map([...leaves].filter(([path]) => ruleOf(kind, path).notAtCreate !== true));
}

export function createBody(sent: Leaves): JsonObject {
  return unflatten([...sent].map(([path, value]) => [path, revealSecrets(value)] as const)) as JsonObject;
}

export interface BodyFacts extends ResendInput {
  readonly entry: ResourceEntry | undefined;
  /** The ids of missing records, which are omitted, by field. */
  readonly omitted?: Readonly<Record<LeafPath, readonly string[]>> | undefined;
}

/**
 * Returns the body of an update. A changed config object is sent completely, with desired values in place of observed ones, so that the
 * result is the same whether the platform merges or replaces the object.
 */
export function updateBody(facts: BodyFacts): JsonObject {
  const { kind } = facts;
  const { values: shown } = resentFields(facts);
  const values = new Map([...shown, ...desiredValues(facts)]);
  const body: Record<string, Json> = {};
  for (const root of sentRoots(facts)) {
    if (isConfigObject(kind, root)) {
      const object: Record<string, Json> = {};
      for (const [path, value] of values) {
        if (path !== root && isUnder(path, root)) setOwn(object, path.slice(root.length + 1), value);
      }
      setOwn(body, root, object);
    } else setOwn(body, root, values.get(root) ?? null);
  }
  for (const field of Object.keys(kind.alwaysSent ?? {})) {
    const current = values.get(field);
    const omitted = facts.omitted?.[field] ?? [];
    const value = Array.isArray(current) ? current.filter((id) => !omitted.some((each) => each === id)) : current;
    if (!Object.hasOwn(body, field) && value !== undefined && value !== null) setOwn(body, field, value);
  }
  return body;
}

/** Yields the values of the manifest. A hidden field that others may change keeps the value that was last sent. */
function* desiredValues(facts: BodyFacts): Generator<readonly [LeafPath, Json]> {
  const { kind, leaves, record, published, entry } = facts;
  const ignored = driftIgnored(facts);
  for (const [path, value] of leaves) {
    if (!isWritable(kind, path)) continue;
    const isShown = [record, published].some((each) => resendable(kind, path, valueInRecord(kind, each, path)));
    if (!ignored.has(path)) yield [path, revealSecrets(value)];
    else if (!isShown) yield [path, plainOf(recordedOf(entry, path)) ?? revealSecrets(value)];
  }
}

interface UpdateChanges {
  readonly leaves: Leaves;
  /** The fields that differ according to the plan. */
  readonly changed: readonly LeafPath[];
  readonly ignoreDrift: readonly LeafPath[];
}

/** The changes of an update, with the current record. */
interface ResendInput extends UpdateChanges {
  readonly kind: Kind;
  readonly record: ShownRecord;
  /** Contains config objects that the record lacks. Set only during an import, and only if the draft has no unpublished changes. */
  readonly published: ShownRecord | undefined;
}

/** Returns the published version if the draft is certainly equal to it. */
export function standIn(published: PublishedRecord | undefined): ShownRecord | undefined {
  return published?.ahead === false ? published.record : undefined;
}

interface ResentFields {
  readonly values: ReadonlyMap<LeafPath, Json>;
  /** A clause for each field whose observed value is invalid in requests. The clause asks for a value in the manifest. */
  readonly problems: readonly string[];
}

/** Returns the fields that an update resends as observed, except invalid ones: omitting a null or an empty string loses nothing. */
export function resentFields(facts: ResendInput): ResentFields {
  const { kind, leaves } = facts;
  const values = new Map<LeafPath, Json>();
  const problems: string[] = [];
  for (const [path, value] of shownFields(facts)) {
    const schema = fieldSchema(kind, path);
    if (hasInexactNumber(value)) {
      problems.push(
        `${path} contains a number with too many digits, which the update cannot resend exactly: change it in the dashboard, or set spec.${path}`,
      );
    } else if (schema === undefined ? value !== null : accepts(schema, value)) values.set(path, value as Json);
    else if ((value ?? '') !== '') {
      const shownValue = isTainted(leaves.get(path) ?? null) ? '' : ` ${shorten(value as Json)}`;
      problems.push(
        `the API does not accept the current ${path}${shownValue}, which the update resends: set spec.${path}`,
      );
    } else if (kind.alwaysSent?.[path] === 'required')
      problems.push(`the platform returns no ${path}, but every update must send a value: set spec.${path}`);
  }
  return { values, problems };
}

function accepts(schema: z.ZodType, value: unknown): boolean {
  return value !== undefined && schema.safeParse(value).success;
}

/** True if the platform returns the value of a field. In a write-only field, it may return a mask. */
function resendable(kind: Kind, path: LeafPath, value: unknown): boolean {
  return value !== undefined && ruleOf(kind, path).writeOnly !== true && !showsMask(kind, path, value);
}

function* shownFields(facts: ResendInput): Generator<readonly [LeafPath, unknown]> {
  const { kind, leaves, record, published } = facts;
  const ignored = driftIgnored(facts);
  for (const root of sentRoots(facts)) {
    if (!isConfigObject(kind, root)) continue;
    const base = record[root] ?? published?.[root];
    for (const [key, value] of Object.entries(isObject(base) ? base : {})) {
      const path = `${root}.${key}`;
      if (!leaves.has(path) && resendable(kind, path, value)) yield [path, value];
    }
    for (const path of ignored) {
      const value = [record, published]
        .map((each) => valueInRecord(kind, each, path))
        .find((each) => resendable(kind, path, each));
      if (isUnder(path, root) && value !== undefined) yield [path, value];
    }
  }
  for (const field of fieldsAsObserved(kind, facts)) yield [field, record[field]];
}

/** Returns the top-level fields with a change. */
function sentRoots({ kind, changed }: Pick<ResendInput, 'kind' | 'changed'>): readonly string[] {
  return [...new Set(changed.filter((path) => isWritable(kind, path)).map(rootOf))].sort();
}

/** Returns the fields that every update must send, and that this update sends with their observed values. */
function fieldsAsObserved(
  kind: Kind,
  { record, ...facts }: UpdateChanges & { readonly record: ShownRecord | undefined },
): readonly LeafPath[] {
  const ignored = driftIgnored(facts);
  return Object.keys(kind.alwaysSent ?? {}).filter(
    (field) => !facts.leaves.has(field) || (ignored.has(field) && record?.[field] !== undefined),
  );
}

/** Returns the leaves that are sent with their observed values, because others may change them and the plan does not. */
export function driftIgnored({ leaves, changed, ignoreDrift }: UpdateChanges): ReadonlySet<LeafPath> {
  const isFree = (path: LeafPath): boolean => ignoreDrift.some((prefix) => isUnder(path, prefix));
  return new Set([...leaves.keys()].filter((path) => isFree(path) && !changed.includes(path)));
}

function isWritable(kind: Kind, path: LeafPath): boolean {
  const rule = ruleOf(kind, path);
  return !rule.immutable && !rule.manual;
}

interface OmittedIds {
  /** The ids that an update omits, by field. */
  readonly ids: Readonly<Record<LeafPath, readonly string[]>>;
  readonly warnings: readonly Remark[];
  /** Records that the update would refer to, but that this run did not read. */
  readonly unchecked: readonly NamedRecord[];
}

/** Finds ids of missing records in fields that are resent with their observed values. The platform would reject these ids. */
export function omittedIdsOf(
  kind: Kind,
  facts: UpdateChanges & { readonly record: ShownRecord | undefined },
  { missing, seen }: Pick<KnownRecords, 'missing' | 'seen'>,
): OmittedIds {
  const ids: Record<LeafPath, string[]> = {};
  const warnings: Remark[] = [];
  const unchecked: NamedRecord[] = [];
  for (const field of fieldsAsObserved(kind, facts)) {
    const refersTo = kind.fields[field]?.refersTo;
    const shown = valueAt(facts.record, field);
    if (refersTo === undefined || !Array.isArray(shown)) continue;
    const shownIds = shown.filter((id) => typeof id === 'string');
    const missingIds = shownIds.filter((id) => missing.has(idKey(refersTo, id)));
    const others = shownIds.filter((id) => !missingIds.includes(id) && !seen.has(idKey(refersTo, id)));
    unchecked.push(...others.map((id) => ({ kind: refersTo, id })));
    if (missingIds.length === 0) continue;
    ids[field] = missingIds;
    const names = missingIds.map((id) => namedId(id, missing.get(idKey(refersTo, id))));
    warnings.push({ message: `${field} is resent without ${names.join(', ')}: missing from the platform` });
  }
  return { ids, warnings, unchecked };
}

const AHEAD_WARNING =
  'Hidden fields were compared with the latest published version; the draft is newer, so they may differ.';

export interface UpdateFacts {
  readonly facts: Facts;
  readonly record: ShownRecord | undefined;
  readonly published: PublishedRecord | undefined;
  readonly differences: Differences;
  readonly adopting: boolean;
}

/**
 * Returns warnings about fields that an update may erase: in the objects that it sends, the fields that the manifest does not declare and
 * the platform does not return.
 * @param roots the top-level fields that the update sends.
 */
export function updateWarnings(update: UpdateFacts, roots: ReadonlySet<string>): Remark[] {
  const { facts, record, published, differences } = update;
  const warnings = hiddenFieldWarnings(update);
  const released = new Set(differences.released);
  for (const root of roots) {
    const base = record?.[root] ?? standIn(published)?.[root];
    const shown = new Map(Object.entries(isObject(base) ? base : {}).map(([key, value]) => [`${root}.${key}`, value]));
    const fields = new Set([...fieldsOf(facts.kind, root), ...shown.keys()]);
    const erasable = [...fields].filter(
      (path) => !facts.leaves.has(path) && !released.has(path) && !resendable(facts.kind, path, shown.get(path)),
    );
    if (erasable.length > 0) warnings.push(resendWarning(facts.kind, erasable));
  }
  return warnings;
}

/** Lists secrets first, because an erased secret cannot be recovered from the platform. */
function resendWarning(kind: Kind, erasable: readonly LeafPath[]): Remark {
  const rank = (path: LeafPath): number => {
    const { writeOnly, hardToRestore } = ruleOf(kind, path);
    return writeOnly ? 0 : hardToRestore ? 1 : 2;
  };
  const fields = erasable.toSorted((a, b) => rank(a) - rank(b));
  return { message: resendMessage(fields), may_erase: fields };
}

/** Returns warnings about hidden fields that were released, or that an import compared with an older version. */
export function hiddenFieldWarnings({ facts, record, published, differences, adopting }: UpdateFacts): Remark[] {
  const hidden = differences.released.filter((path) => valueInRecord(facts.kind, record, path) === undefined);
  const messages = hidden.map(
    (path) =>
      `${path} was removed from the manifest and is no longer sent. The platform does not return it, and may erase it when ${rootOf(path)} is resent.`,
  );
  if (adopting && published?.ahead) messages.push(AHEAD_WARNING);
  return messages.map((message) => ({ message }));
}

/** @param names the fields of one object. */
function resendMessage(names: readonly string[]): string {
  const [first = ''] = names;
  const named = [names.slice(0, -1).join(', '), names.at(-1)].filter(Boolean).join(' and ');
  return `This resends all of ${first.split('.', 1)[0]}: ${named} may be erased if set only in the dashboard.`;
}
