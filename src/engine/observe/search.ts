import type { Kind, Mention, ShownRecord } from '../../kinds/kind.ts';
import { type Address, kindOf, recordKey } from '../../manifests/resource.ts';
import { PlatformError } from '../../platform/errors.ts';
import type { PendingCreate } from '../../state/document.ts';
import { isMasked } from '../../state/fingerprint.ts';
import type { State } from '../../state/state.ts';
import type { LeafPath } from '../../values/path.ts';
import { sameValue } from '../decide/compare.ts';
import { ruleOf, shownAt } from '../decide/field-rules.ts';
import { eachConcurrently } from './each-concurrently.ts';
import type { ObserveOptions } from './observe-options.ts';
import { getRecord } from './read-record.ts';

/** A record that may be the one that an unknown create made, with what speaks for it. */
export interface Candidate {
  readonly id: string;
  /** Fields that are as they were sent. */
  readonly agrees: readonly LeafPath[];
  /** Fields that are shown and are not. */
  readonly differs: readonly LeafPath[];
  /** Clauses that say where the record was heard of. */
  readonly heardOf: readonly string[];
}

/** In numbers: how many mentions are followed for one kind, and how many candidates are offered for one resource. */
const MOST_MENTIONS = 2_000;
const MOST_READ = 200;
const MOST_OFFERED = 3;

/**
 * Looks for the records of unknown creates of a kind that cannot be listed: among the ids that other records mention and that the
 * state does not know. Only likely ones are given, the likeliest first.
 */
export async function searchLost(
  kind: Kind,
  lost: ReadonlyMap<Address, PendingCreate>,
  options: ObserveOptions,
): Promise<Map<Address, Candidate[]>> {
  const found = new Map<Address, Candidate[]>();
  if (kind.mentions === undefined || kind.get === undefined || lost.size === 0) return found;
  const since = new Date(Math.min(...[...lost.values()].map((pending) => Date.parse(pending.since))));
  const heardOf = await gather(kind, kind.mentions(options.client, since), options.state);
  const records: ShownRecord[] = [];
  await eachConcurrently([...heardOf.keys()].slice(0, MOST_READ), options.concurrency, async (id) => {
    const seen = await getRecord(kind, { ...options, id });
    if (seen.status === 'shown') records.push(seen.record);
  });
  for (const [address, pending] of lost) {
    const candidates = records
      .map((record) => candidateFor(kind, pending, { record, heardOf: heardOf.get(record.id) ?? [] }))
      .filter((candidate) => isLikely(candidate))
      .sort((a, b) => score(b) - score(a) || (a.id < b.id ? -1 : 1));
    if (candidates.length > 0) found.set(address, candidates.slice(0, MOST_OFFERED));
  }
  return found;
}

/** The unknown ids, each with where it was heard of. A source that refuses to answer is passed over: the others may do. */
async function gather(
  kind: Kind,
  sources: readonly AsyncIterable<Mention>[],
  state: State,
): Promise<Map<string, string[]>> {
  const known = new Set([...state.resources].map(([address, { id }]) => recordKey(kindOf(address), id)));
  for (const orphan of state.orphans) known.add(recordKey(orphan.kind, orphan.id));
  const heardOf = new Map<string, string[]>();
  for (const source of sources) {
    let count = 0;
    try {
      for await (const { id, clause } of source) {
        if (++count > MOST_MENTIONS) break;
        if (known.has(recordKey(kind.name, id))) continue;
        const clauses = heardOf.get(id);
        if (clauses === undefined) heardOf.set(id, [clause]);
        else if (!clauses.includes(clause) && clauses.length < MOST_OFFERED) clauses.push(clause);
      }
    } catch (error) {
      if (!(error instanceof PlatformError) || error.reason === 'aborted' || error.status === 401)
        throw error;
    }
  }
  return heardOf;
}

function candidateFor(
  kind: Kind,
  pending: PendingCreate,
  { record, heardOf }: { readonly record: ShownRecord; readonly heardOf: readonly string[] },
): Candidate {
  const agrees: LeafPath[] = [];
  const differs: LeafPath[] = [];
  for (const [path, sent] of Object.entries(pending.recorded)) {
    const shown = shownAt(kind, record, path);
    if (shown === undefined || isMasked(sent)) continue;
    (sameValue(ruleOf(kind, path), sent, shown) ? agrees : differs).push(path);
  }
  return { id: record.id, agrees: agrees.sort(), differs: differs.sort(), heardOf };
}

/** More is as it was sent than not. */
function isLikely({ agrees, differs }: Candidate): boolean {
  return agrees.length > differs.length;
}

function score({ agrees, differs }: Candidate): number {
  return agrees.length - differs.length;
}
