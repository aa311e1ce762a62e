import { kindNamed } from '../../kinds/index.ts';
import type { PublishedRecord, ShownRecord } from '../../kinds/kind.ts';
import { PlatformError } from '../../platform/platform-error.ts';
import type { Plan } from '../decide/make-plan.ts';
import { unpublishedFields, withGap, withGapAfter } from '../decide/publication.ts';
import type { PlannedResource } from '../plan/plan-document.ts';
import { eachConcurrently } from './each-concurrently.ts';
import type { ObserveOptions } from './observe-options.ts';

/** How many unchanged records with an unclear draft a plan compares: one that changes nothing may cost no more reads than that. */
const MOST_UNCLEAR = 10;

/**
 * The plan after the drafts of which it is not certain that they are published were compared with the latest version: one read for
 * each of them. A version that cannot be read leaves what the plan says.
 * @param which `changes` for those that the plan updates and a few that are unclear, `all` for all that were looked at, undefined for none.
 */
export async function planWithPublications(
  plan: Plan,
  which: 'changes' | 'all' | undefined,
  options: ObserveOptions,
): Promise<Plan> {
  if (which === undefined) return plan;
  const compared = new Map<string, PlannedResource>();
  const drafts = plan.document.resources.flatMap((planned) => {
    const kind = kindNamed(planned.kind);
    const seen = plan.observed.records.get(planned.address);
    if (seen?.status !== 'shown') return [];
    const status = kind.publishing?.draftStatus(seen.record);
    return status === 'edited' || status === 'unclear' ? [{ planned, kind, seen, status }] : [];
  });
  const isWanted = ({ planned }: (typeof drafts)[number]) => which === 'all' || planned.action === 'update';
  const unclear = drafts.filter((draft) => draft.status === 'unclear' && !isWanted(draft));
  const wanted = [...drafts.filter(isWanted), ...unclear.slice(0, MOST_UNCLEAR)];
  await eachConcurrently(wanted, options.concurrency, async ({ planned, kind, seen }) => {
    const { record } = seen;
    const version = seen.published?.record ?? (await latest(() => kind.published?.(options.client, record)));
    if (version === undefined) return;
    const entry = options.state.resources.get(planned.previous_address ?? planned.address);
    const unpublished = unpublishedFields(kind, { record, entry }, version);
    const gap = { unpublished, version };
    const isAfter = which === 'changes' && planned.action === 'update';
    compared.set(planned.address, isAfter ? withGapAfter(planned, kind, gap) : withGap(planned, gap));
  });
  if (compared.size === 0) return plan;
  const resources = plan.document.resources.map((each) => compared.get(each.address) ?? each);
  return { ...plan, document: { ...plan.document, resources } };
}

async function latest(
  read: () => Promise<PublishedRecord | undefined> | undefined,
): Promise<ShownRecord | undefined> {
  try {
    return (await read())?.record;
  } catch (error) {
    if (error instanceof PlatformError && error.reason !== 'aborted') return undefined;
    throw error;
  }
}
