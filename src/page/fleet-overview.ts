import type { FleetDatabase } from '../fleet/database/fleet-database.ts';
import { neededCounts, pageOfWorkspaces } from '../fleet/rows/page-rows.ts';
import { fleetFigures } from '../fleet/rows/status-rows.ts';
import { shownStatuses } from '../fleet/shown-status.ts';
import { factsOf } from './fleet-facts.ts';
import { rowOf } from './fleet-rows.ts';
import type { Attention, Overview } from './page-data.ts';

/** Rows of each list. */
const MOST_SHOWN = 10;
/** A record that may exist twice costs money for as long as nobody looks. */
const MOST_DOUBTFUL = 50;

/** Why a workspace needs a person, the most urgent first. */
const reasons: readonly Attention['by'][] = [
  { needs: 'records' },
  { status: 'failed' },
  { status: 'invalid' },
  { status: 'waiting' },
  { status: 'vanished' },
  { status: 'drifted' },
  { needs: 'steps' },
];

export async function fleetOverview(database: FleetDatabase, now: Date): Promise<Overview> {
  const [figures, needed] = await Promise.all([fleetFigures(database), neededCounts(database)]);
  const isEmpty = ({ status, needs }: Attention['by']) =>
    (needs === undefined ? figures.counts[status] : needed[needs]) === 0;
  const listed = (all: readonly Attention['by'][]) =>
    Promise.all(all.filter((by) => !isEmpty(by)).map((by) => attentionFor(database, by)));
  const [lists, stale] = await Promise.all([listed(reasons), listed([{ status: 'stale' }])]);
  return {
    counts: new Map(shownStatuses.map((status) => [status, figures.counts[status]])),
    attention: eachOnce(lists),
    stale,
    broken: figures.sources.flatMap(({ broken }) => broken).slice(0, MOST_SHOWN),
    facts: factsOf(figures, now),
  };
}

async function attentionFor(database: FleetDatabase, by: Attention['by']): Promise<Attention> {
  const { rows, found } = await pageOfWorkspaces(database, {
    status: by.status,
    needs: by.needs,
    source: undefined,
    label: undefined,
    contains: undefined,
    order: by.status === 'stale' ? 'checked' : 'standing',
    offset: 0,
    limit: by.needs === 'records' ? MOST_DOUBTFUL : MOST_SHOWN,
  });
  return { by, rows: rows.map(rowOf), found, isCut: rows.length < found };
}

/** Under its most urgent reason. */
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
