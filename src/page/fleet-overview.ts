import type { FleetDatabase } from '../fleet/database/fleet-database.ts';
import { needyWorkspaces } from '../fleet/rows/page-rows.ts';
import { fleetFigures } from '../fleet/rows/status-rows.ts';
import { shownStatuses } from '../fleet/shown-status.ts';
import { factsOf } from './fleet-facts.ts';
import { rowOf } from './fleet-rows.ts';
import type { Attention, Overview } from './page-data.ts';

/** Rows per list. */
const MOST_SHOWN = 10;

/** Why a workspace needs attention, most urgent first. A possible duplicate costs money until somebody resolves it. */
const reasons: readonly (Attention['by'] & { readonly most: number })[] = [
  { needs: 'records', most: 50 },
  { status: 'failed', most: MOST_SHOWN },
  { status: 'invalid', most: MOST_SHOWN },
  { needs: 'refused', most: MOST_SHOWN },
  { status: 'waiting', most: MOST_SHOWN },
  { status: 'vanished', most: MOST_SHOWN },
  { status: 'drifted', most: MOST_SHOWN },
  { needs: 'steps', most: MOST_SHOWN },
];

export async function fleetOverview(database: FleetDatabase, now: Date): Promise<Overview> {
  const most = reasons.map((reason) => [keyOf(reason), reason.most] as const);
  const [figures, needy] = await Promise.all([
    fleetFigures(database),
    needyWorkspaces(database, { ...Object.fromEntries(most), stale: MOST_SHOWN }),
  ]);
  const listed = (by: Attention['by']): Attention => {
    const { found, rows } = needy.get(keyOf(by)) ?? { found: 0, rows: [] };
    return { by, rows: rows.map(rowOf), found, isCut: rows.length < found };
  };
  return {
    counts: new Map(shownStatuses.map((status) => [status, figures.counts[status]])),
    attention: eachOnce(reasons.map(listed)),
    stale: eachOnce([listed({ status: 'stale' })]),
    broken: figures.sources.flatMap(({ broken }) => broken).slice(0, MOST_SHOWN),
    facts: factsOf(figures, now),
  };
}

function keyOf({ status, needs }: Attention['by']): string {
  return needs ?? status;
}

/** Each workspace under its most urgent reason; without empty lists. */
function eachOnce(lists: readonly Attention[]): Attention[] {
  const seen = new Set<string>();
  return lists
    .map((list) => {
      const rows = list.rows.filter(({ address }) => !seen.has(address));
      for (const { address } of rows) seen.add(address);
      return { ...list, rows };
    })
    .filter(({ rows, isCut }) => rows.length > 0 || isCut);
}
