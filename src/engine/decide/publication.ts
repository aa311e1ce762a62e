import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import type { NextStep } from '../../problems/next-step.ts';
import { isMasked } from '../../state/fingerprint.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import type { Json } from '../../values/json.ts';
import type { LeafPath } from '../../values/path.ts';
import type { PlannedChange, PlannedResource } from '../plan/plan-document.ts';
import { sameValue } from './compare.ts';
import { fieldsOf, isConfigObject, ruleOf, valueInRecord } from './field-rules.ts';
import { baselineOf, plainOf, recordedOf } from './state-entry.ts';

/** Returns the step to publish a record after a write, if any. `record` is undefined if the plan used the state entry instead. */
export function publishSteps({ publishing }: Kind, record: ShownRecord | undefined, isNew = false): NextStep[] {
  if (publishing === undefined) return [];
  const isFirst = isNew || (record !== undefined && publishing.draftStatus(record) === 'never');
  if (isFirst) return [{ action: 'publish', instruction: publishing.first }];
  const { meanwhile } = publishing;
  return [{ action: 'publish', instruction: `In the dashboard, publish it: ${meanwhile}.`, meanwhile }];
}

/** Returns a notice, worded as a clause, if the draft may differ from its published version. */
export function publicationNotices(
  { publishing }: Kind,
  record: ShownRecord | undefined,
  { hasStep }: { readonly hasStep: boolean },
): string[] {
  const draftStatus = record === undefined ? undefined : publishing?.draftStatus(record);
  if (draftStatus === 'never') return ['never published'];
  if (hasStep && draftStatus !== 'edited') return [];
  if (draftStatus !== 'edited' && draftStatus !== 'unclear') return [];
  return [editedNotice(draftStatus, hasStep ? undefined : 'run status to see the changes that publishing would make')];
}

function editedNotice(status: 'edited' | 'unclear', detail: string | undefined): string {
  const clause = status === 'edited' ? 'edited since it was published' : 'may have been edited since it was published';
  return detail === undefined ? clause : `${clause}: ${detail}`;
}

interface DraftRecord {
  readonly record: ShownRecord;
  /** The state entry, for fields that the platform does not return. */
  readonly entry: ResourceEntry | undefined;
}

/** The changes that publishing a draft would make. */
interface DraftDifferences {
  readonly changes: readonly PlannedChange[];
  /** Fields, or whole config objects, whose draft or published value is unknown. */
  readonly unknown: readonly LeafPath[];
}

/** Compares the published version with the draft. Hidden fields are from the state entry, unverified unless nothing changed since. */
export function draftDifferences(kind: Kind, { record, entry }: DraftRecord, version: ShownRecord): DraftDifferences {
  const changes: PlannedChange[] = [];
  const unknown: LeafPath[] = [];
  const isCurrent = kind.publishing?.draftStatus(record) === 'current';
  for (const root of Object.keys(kind.spec.shape)) {
    const fields = isConfigObject(kind, root) ? fieldsOf(kind, root) : [root];
    const isVersionShown = version[root] !== undefined;
    const isDraftShown = record[root] !== undefined;
    const unknownFields: LeafPath[] = [];
    for (const path of fields) {
      const remembered = baselineOf(entry, path) ?? recordedOf(entry, path);
      const shown = valueInRecord(kind, record, path) as Json | undefined;
      const after = shown ?? plainOf(remembered);
      const isRemembered = shown === undefined && after !== undefined;
      const before = valueInRecord(kind, version, path) as Json | undefined;
      if (isCurrent && isRemembered && before !== undefined) continue;
      if (ruleOf(kind, path).writeOnly || !isVersionShown) {
        if (after !== undefined || remembered !== undefined) unknownFields.push(path);
      } else if (after === undefined && !isDraftShown) {
        if ((before ?? null) !== null) unknownFields.push(path);
      } else if (!sameValue(ruleOf(kind, path), before ?? null, after ?? null)) {
        const sensitive = isMasked(remembered) || isMasked(recordedOf(entry, path));
        changes.push({
          path,
          ...(!sensitive && before !== undefined && { before }),
          ...(!sensitive && after !== undefined && { after }),
          cause: 'manifest',
          verified: !isRemembered,
          sensitive,
        });
      }
    }
    unknown.push(...(unknownFields.length === fields.length ? [root] : unknownFields));
  }
  return { changes, unknown };
}

interface PublicationGap {
  readonly unpublished: readonly LeafPath[];
  readonly version: ShownRecord;
}

/** Adds a notice about the changes that publishing the current draft would make. */
export function withDraftNotice(
  planned: PlannedResource,
  { unpublished }: Pick<PublicationGap, 'unpublished'>,
): PlannedResource {
  const { notices: _, ...rest } = planned;
  if (unpublished.length === 0) return rest;
  return { ...rest, notices: [`publishing would change ${listFields(unpublished)}`] };
}

/** Adds a notice that no published version could be read for the comparison. */
export function withoutVersion(
  planned: PlannedResource,
  status: 'edited' | 'unclear',
  exists: boolean,
): PlannedResource {
  if (planned.steps?.some(({ action }) => action === 'publish')) return planned;
  const reason = exists ? 'its latest version cannot be read' : 'the platform returns no published version';
  return { ...planned, notices: [editedNotice(status, reason)] };
}

/** Adds a notice about further changes that publishing makes after this update. Removes the publish step if it would change nothing. */
export function withDraftNoticeAfterUpdate(
  planned: PlannedResource,
  kind: Kind,
  { unpublished, version }: PublicationGap,
): PlannedResource {
  const { notices: _, steps = [], ...rest } = planned;
  const changed = new Set(planned.changes.map(({ path }) => path));
  const others = unpublished.filter((path) => !changed.has(path));
  const isPublished = planned.changes.every(
    ({ path, after, sensitive }) =>
      !sensitive && after !== undefined && sameValue(ruleOf(kind, path), after, valueInRecord(kind, version, path)),
  );
  const remaining = isPublished && others.length === 0 ? steps.filter(({ action }) => action !== 'publish') : steps;
  return {
    ...rest,
    ...(remaining.length > 0 && { steps: remaining }),
    ...(others.length > 0 && { notices: [`publishing also changes ${listFields(others)}`] }),
  };
}

const MAX_NAMED = 5;

function listFields(paths: readonly LeafPath[]): string {
  const moreCount = paths.length - MAX_NAMED;
  return moreCount <= 1 ? paths.join(', ') : `${paths.slice(0, MAX_NAMED).join(', ')} and ${moreCount} more fields`;
}
