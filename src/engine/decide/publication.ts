import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import type { NextStep } from '../../problems/next-step.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import { type LeafPath, rootOf } from '../../values/path.ts';
import type { PlannedResource } from '../plan/plan-document.ts';
import { sameValue } from './compare.ts';
import { fieldsOf, isConfigObject, ruleOf, shownAt } from './field-rules.ts';
import { baselineOf, plainOf, recordedOf } from './state-entry.ts';

/** What a person must do once the record was written. A record that is not given is one that memory stands in for. */
export function publishSteps(
  { publishing }: Kind,
  record: ShownRecord | undefined,
  isNew = false,
): NextStep[] {
  if (publishing === undefined) return [];
  const isFirst = isNew || (record !== undefined && publishing.draftStatus(record) === 'never');
  if (isFirst) return [{ action: 'publish', instruction: publishing.first }];
  const { meanwhile } = publishing;
  return [{ action: 'publish', instruction: `In the dashboard, publish it: ${meanwhile}.`, meanwhile }];
}

/** How the draft of a record stands to what is published of it, a clause; none where nothing is to be said. */
export function publicationNotices(
  { publishing }: Kind,
  record: ShownRecord | undefined,
  { hasStep }: { readonly hasStep: boolean },
): string[] {
  const draftStatus = record === undefined ? undefined : publishing?.draftStatus(record);
  if (draftStatus === 'never')
    return [hasStep ? 'never published' : 'never published: publish it in the dashboard when it is ready'];
  if (hasStep && draftStatus !== 'edited') return [];
  const compare = hasStep ? '' : ': voxform status tells what publishing would change';
  if (draftStatus === 'edited') return [`edited since it was published${compare}`];
  return draftStatus === 'unclear' ? [`may be edited since it was published${compare}`] : [];
}

interface DraftRecord {
  readonly record: ShownRecord;
  /** What is remembered of fields that the record does not show. */
  readonly entry: ResourceEntry | undefined;
}

/** The fields that publishing the draft would change, as far as anybody knows them. */
export function unpublishedFields(
  kind: Kind,
  { record, entry }: DraftRecord,
  version: ShownRecord,
): LeafPath[] {
  const isKnown = (path: LeafPath): boolean => !ruleOf(kind, path).writeOnly;
  return Object.keys(kind.spec.shape)
    .filter((root) => version[root] !== undefined)
    .flatMap((root) => (isConfigObject(kind, root) ? fieldsOf(kind, root) : [root]))
    .filter(isKnown)
    .filter((path) => {
      const isShown = record[rootOf(path)] !== undefined;
      const remembered = baselineOf(entry, path) ?? recordedOf(entry, path);
      const draft = isShown ? (shownAt(kind, record, path) ?? null) : plainOf(remembered);
      if (draft === undefined) return false;
      return !sameValue(ruleOf(kind, path), draft, shownAt(kind, version, path) ?? null);
    });
}

interface PublicationGap {
  readonly unpublished: readonly LeafPath[];
  readonly version: ShownRecord;
}

/** The planned resource with what publishing its draft as it is now would change. */
export function withGap(planned: PlannedResource, { unpublished }: PublicationGap): PlannedResource {
  const { notices: _, ...rest } = planned;
  if (unpublished.length === 0) return rest;
  return { ...rest, notices: [`publishing would change ${listed(unpublished)}`] };
}

/** An update with what publishing its draft afterwards would change besides; without that step where nothing would. */
export function withGapAfter(
  planned: PlannedResource,
  kind: Kind,
  { unpublished, version }: PublicationGap,
): PlannedResource {
  const { notices: _, steps = [], ...rest } = planned;
  const changed = new Set(planned.changes.map(({ path }) => path));
  const also = unpublished.filter((path) => !changed.has(path));
  const isPublished = planned.changes.every(
    ({ path, after, sensitive }) =>
      !sensitive && after !== undefined && sameValue(ruleOf(kind, path), after, shownAt(kind, version, path)),
  );
  const left = isPublished && also.length === 0 ? steps.filter(({ action }) => action !== 'publish') : steps;
  return {
    ...rest,
    ...(left.length > 0 && { steps: left }),
    ...(also.length > 0 && { notices: [`publishing it also changes ${listed(also)}`] }),
  };
}

const MOST_NAMED = 5;

function listed(paths: readonly LeafPath[]): string {
  const more = paths.length - MOST_NAMED;
  return more <= 1 ? paths.join(', ') : `${paths.slice(0, MOST_NAMED).join(', ')} and ${more} more fields`;
}
