import type { Mention } from '../../kinds/kind.ts';
import { PlatformError } from '../../platform/platform-error.ts';

/** By id: clauses about the records that mention it. */
export type MentionsById = ReadonlyMap<string, readonly string[]>;

/** Clauses kept for one record: enough to recognize it, however many calls it had. */
const MOST_CLAUSES = 3;

/**
 * Collects the ids that a source mentions. A source that refuses is skipped.
 * @param options.most the maximum number of mentions.
 * @returns why the source was not read to its end, if so.
 */
export async function gatherMentions(
  source: AsyncIterable<Mention>,
  ids: Map<string, string[]>,
  {
    most = Number.POSITIVE_INFINITY,
    skips = () => false,
  }: { most?: number; skips?(id: string): boolean } = {},
): Promise<PlatformError | undefined> {
  let count = 0;
  try {
    for await (const mention of source) {
      if (++count > most) break;
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
  else if (clauses.length < MOST_CLAUSES && !clauses.includes(clause)) clauses.push(clause);
}
