import type { Kind, Mention, ShownRecord } from '../../kinds/kind.ts';
import { type Address, idKey } from '../../manifests/resource.ts';
import { PlatformError } from '../../platform/platform-error.ts';
import { isMasked } from '../../state/fingerprint.ts';
import { managedRecords } from '../../state/state.ts';
import type { PendingCreate } from '../../state/state-document.ts';
import { evidenceOf, likelihood, MAX_OFFERED } from '../decide/compare.ts';
import { valueInRecord } from '../decide/field-rules.ts';
import type { Candidate } from '../decide/observed.ts';
import { eachConcurrently } from './each-concurrently.ts';
import { getRecord, type ObserveOptions } from './read-records.ts';

/** The maximum number of mentions that are read from each source. */
const MAX_MENTIONS = 2_000;
/** The maximum number of records that are read. */
const MAX_READ = 200;

/**
 * Searches for records that may be the result of unknown creates, for a kind without a list. Searches the ids that other records mention
 * and that are not in the state. Returns only likely candidates, the most likely first.
 */
export async function searchCandidates(
  kind: Kind,
  unknownCreates: ReadonlyMap<Address, PendingCreate>,
  options: ObserveOptions,
): Promise<Map<Address, Candidate[]>> {
  const found = new Map<Address, Candidate[]>();
  if (kind.mentions === undefined || kind.get === undefined || unknownCreates.size === 0) return found;
  const since = new Date(Math.min(...[...unknownCreates.values()].map((pending) => Date.parse(pending.since))));
  const mentions = new Map<string, string[]>();
  const { state } = options;
  const managed = managedRecords(state);
  const orphans = new Set(state.orphans.map((orphan) => idKey(orphan.kind, orphan.id)));
  const isKnown = (id: string): boolean => [managed, orphans].some((ids) => ids.has(idKey(kind.name, id)));
  for (const source of kind.mentions) {
    await gatherMentions(source.read(options.client, since), mentions, { limit: MAX_MENTIONS, skips: isKnown });
  }
  const records: ShownRecord[] = [];
  await eachConcurrently([...mentions.keys()].slice(0, MAX_READ), options.concurrency, async (id) => {
    const observation = await getRecord(kind, { ...options, id });
    if (observation.status === 'shown') records.push(observation.record);
  });
  for (const [address, pending] of unknownCreates) {
    // A fingerprint cannot be compared with a value from the platform.
    const sent = Object.entries(pending.recorded).filter(([, value]) => !isMasked(value));
    const candidates = records
      .map((record) => ({
        id: record.id,
        ...evidenceOf(kind, sent, (path) => valueInRecord(kind, record, path)),
        mentions: mentions.get(record.id) ?? [],
      }))
      .filter((candidate) => likelihood(candidate) > 0)
      .sort((a, b) => likelihood(b) - likelihood(a) || (a.id < b.id ? -1 : 1));
    if (candidates.length > 0) found.set(address, candidates.slice(0, MAX_OFFERED));
  }
  return found;
}

/** For each id, clauses that describe the records that mention it. */
export type MentionsById = ReadonlyMap<string, readonly string[]>;

/** The maximum number of clauses for one id. They suffice to recognize the record, even if many calls mention it. */
const MAX_CLAUSES = 3;

/**
 * Collects the ids that a source mentions, until its end or its first error.
 * @param options.limit the maximum number of mentions.
 * @returns the error that ended the read, if any.
 * @throws PlatformError if the run was interrupted or the API key is refused.
 */
export async function gatherMentions(
  source: AsyncIterable<Mention>,
  ids: Map<string, string[]>,
  { limit = Number.POSITIVE_INFINITY, skips = () => false }: { limit?: number; skips?(id: string): boolean } = {},
): Promise<PlatformError | undefined> {
  let count = 0;
  try {
    for await (const mention of source) {
      if (++count > limit) break;
      if (!skips(mention.id)) addClause(ids, mention);
    }
    return undefined;
  } catch (error) {
    if (!(error instanceof PlatformError) || error.reason === 'aborted' || error.status === 401) throw error;
    return error;
  }
}

export function addClause(ids: Map<string, string[]>, { id, clause }: Mention): void {
  if (id === '') return;
  const clauses = ids.get(id);
  if (clauses === undefined) ids.set(id, [clause]);
  else if (clauses.length < MAX_CLAUSES && !clauses.includes(clause)) clauses.push(clause);
}
