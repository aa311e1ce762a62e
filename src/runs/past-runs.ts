import { z } from 'zod';
import { toMilliseconds } from '../platform/date-range.ts';
import { advice, command, UserError } from '../problems/user-error.ts';
import { type RunRecord, runRecord, runResults } from '../state/run-history.ts';
import type { StateStore } from '../state/store.ts';
import type { Immutable } from '../values/json.ts';

const pastRun = runRecord().extend({
  result: z
    .enum([...runResults, 'running'])
    .describe(
      '`running`: the run holds the lock. `died`: the run ended without a recorded result, and its resources come from its journal.',
    ),
});

export const historyDocument = z
  .object({
    format_version: z.literal(1),
    voxform_version: z.string(),
    workspace: z.string(),
    runs: z.array(pastRun).describe('Newest first.'),
  })
  .describe('A voxform history');

export type PastRun = Immutable<z.infer<typeof pastRun>>;
export type HistoryDocument = Immutable<z.infer<typeof historyDocument>>;

/** Returns the runs that took the lock, newest first. */
export async function pastRuns(store: StateStore): Promise<PastRun[]> {
  const recorded = await store.history();
  const holder = await store.holder();
  const isConsistent = recorded.every(({ run, result }) => result !== undefined || run === holder?.id);
  // If a run ended between the two reads, the second read returns its result.
  const runs = isConsistent ? recorded : await store.history();
  return withResults(runs, holder?.id).reverse();
}

/** @param holder the id of the run that holds the lock. */
export function withResults(runs: readonly RunRecord[], holder: string | undefined): PastRun[] {
  return runs.map((run) => ({ ...run, result: run.result ?? (run.run === holder ? 'running' : 'died') }));
}

interface HistorySelection {
  readonly address?: string | undefined;
  /** A date or a time. */
  readonly since?: string | undefined;
  readonly limit: number;
}

/** Returns the newest runs since `since` that concern the address. */
export function selectRuns(runs: readonly PastRun[], { address, since, limit }: HistorySelection): readonly PastRun[] {
  const earliest = since === undefined ? Number.NEGATIVE_INFINITY : toMilliseconds(since);
  const isAbout = ({ resources = [] }: PastRun): boolean =>
    address === undefined || resources.some((each) => each.address === address || each.from === address);
  return runs.filter((run) => Date.parse(run.began) >= earliest && isAbout(run)).slice(0, limit);
}

/**
 * Finds a run by the beginning of its id.
 * @throws UserError unless exactly one id begins with the prefix.
 */
export function runNamed(runs: readonly PastRun[], prefix: string): PastRun {
  const [found, ...more] = runs.filter(({ run }) => run.startsWith(prefix));
  if (found === undefined) {
    throw new UserError(`the history has no run ${prefix}`, {
      hint: advice`Run ${command('history')} to list the runs.`,
    });
  }
  if (more.length > 0) {
    const ids = [found, ...more].map(({ run }) => run);
    throw new UserError(`${ids.length} runs begin with ${prefix}: ${ids.slice(0, 5).join(', ')}`);
  }
  return found;
}
