import { hash } from 'node:crypto';
import { kindNamed } from '../../kinds/index.ts';
import type { PublishedRecord, ShownRecord } from '../../kinds/kind.ts';
import { PlatformError } from '../../platform/platform-error.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import type { LeafPath } from '../../values/path.ts';
import type { Plan } from '../decide/make-plan.ts';
import {
  draftDifferences,
  withDraftNotice,
  withDraftNoticeAfterUpdate,
  withoutVersion,
} from '../decide/publication.ts';
import type { PlannedResource } from '../plan/plan-document.ts';
import { eachConcurrently } from './each-concurrently.ts';
import type { ObserveOptions } from './read-records.ts';

/** The maximum number of drafts that one plan compares without updating them. A plan without changes must send few requests. */
const MAX_UNCHANGED = 10;

/** The result of each comparison and a digest of its inputs, by record id. With this cache, a watch compares each draft only once. */
export type ComparedDrafts = Map<string, { readonly inputs: string; readonly unpublished: readonly LeafPath[] }>;

export interface PublicationsRequest {
  /** The drafts to compare with their published versions. `changes`: the drafts that the plan updates, and a few others. Default: none. */
  readonly publications?: 'changes' | 'all' | undefined;
  /** Results of earlier plans in this process. If present, the few others include edited drafts, so that plans together compare all. */
  readonly comparedDrafts?: ComparedDrafts | undefined;
}

/** Compares drafts with their latest published versions, and adds notices about differences to the plan. Reads each version once. */
export async function planWithPublications(
  plan: Plan,
  { publications: selection, comparedDrafts: cache }: PublicationsRequest,
  options: ObserveOptions,
): Promise<Plan> {
  if (selection === undefined) return plan;
  const compared = new Map<string, PlannedResource>();
  const drafts = plan.document.resources.flatMap((planned) => {
    const kind = kindNamed(planned.kind);
    const observation = plan.observed.records.get(planned.address);
    if (observation?.status !== 'shown') return [];
    const status = kind.publishing?.draftStatus(observation.record);
    if (status !== 'edited' && status !== 'unclear') return [];
    const entry = options.state.resources.get(planned.previous_address ?? planned.address);
    return [{ planned, kind, observation, status, entry }];
  });
  const mustCompare = ({ planned }: (typeof drafts)[number]) => selection === 'all' || planned.action === 'update';
  const others = drafts.filter((draft) => {
    if (mustCompare(draft)) return false;
    const { planned, observation, status, entry } = draft;
    const cached = cache?.get(observation.record.id);
    if (cached === undefined || cached.inputs !== inputsDigest(observation.record, entry))
      return cache !== undefined || status === 'unclear';
    compared.set(planned.address, withDraftNotice(planned, cached));
    return false;
  });
  const wanted = [...drafts.filter(mustCompare), ...others.slice(0, MAX_UNCHANGED)];
  await eachConcurrently(wanted, options.concurrency, async ({ planned, kind, observation, status, entry }) => {
    const { record } = observation;
    const version =
      observation.published?.record ?? (await readLatestVersion(() => kind.published?.(options.client, record)));
    if (version === undefined || version === 'unreadable') {
      compared.set(planned.address, withoutVersion(planned, status, version !== undefined));
      return;
    }
    const { changes } = draftDifferences(kind, { record, entry }, version);
    const unpublished = changes.map(({ path }) => path);
    cache?.set(record.id, { inputs: inputsDigest(record, entry), unpublished });
    const gap = { unpublished, version };
    const isAfter = selection === 'changes' && planned.action === 'update';
    compared.set(
      planned.address,
      isAfter ? withDraftNoticeAfterUpdate(planned, kind, gap) : withDraftNotice(planned, gap),
    );
  });
  if (compared.size === 0) return plan;
  const resources = plan.document.resources.map((each) => compared.get(each.address) ?? each);
  return { ...plan, document: { ...plan.document, resources } };
}

/** Returns a digest that changes if the draft, its published version or its state entry changes. */
function inputsDigest({ version, published_at, updated_at }: ShownRecord, entry: ResourceEntry | undefined): string {
  const facts = [version, published_at, updated_at, entry?.recorded, entry?.observed];
  return hash('sha256', JSON.stringify(facts), 'base64');
}

async function readLatestVersion(
  read: () => Promise<PublishedRecord | undefined> | undefined,
): Promise<ShownRecord | 'unreadable' | undefined> {
  try {
    return (await read())?.record;
  } catch (error) {
    if (error instanceof PlatformError && error.reason !== 'aborted') return 'unreadable';
    throw error;
  }
}
