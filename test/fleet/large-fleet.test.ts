import { beforeAll, expect, it } from 'vitest';
import { type FleetDatabase, fleetDatabaseAt } from '../../src/fleet/database/fleet-database.ts';
import { resourceKindsInUse, unusedPatterns } from '../../src/fleet/rows/member-rows.ts';
import { fleetVersion, pageOfWorkspaces } from '../../src/fleet/rows/page-rows.ts';
import { removeExpiredRows } from '../../src/fleet/rows/process-rows.ts';
import { takeDue } from '../../src/fleet/rows/run-rows.ts';
import { fleetFigures, SHOWN_SINCE, SHOWN_STATUS } from '../../src/fleet/rows/status-rows.ts';
import { workspaceStatuses } from '../../src/operator/workspace-status.ts';
import { readFleet } from '../page/read-fleet.ts';
import { runningPage } from '../page/running-page.ts';
import { freshDatabase } from '../state/backends/postgres/databases.ts';
import { fillFleet, largeLists } from './large-fleet.ts';
import { costsOf, type Recorded, recording } from './statement-costs.ts';

/** Three times the maximum that a list counts. */
const WORKSPACES = 30_000;
/** A list counts its matches and all workspaces, each up to 10,000. */
const MOST_READ = 24_000;

let database: FleetDatabase;
let recorded: FleetDatabase;
const statements: Recorded[] = [];

beforeAll(async () => {
  database = fleetDatabaseAt((await freshDatabase()).url);
  recorded = recording(database, statements);
  await fillFleet(database, WORKSPACES, 1000);
});

async function rowsRead(work: () => Promise<unknown>): Promise<number> {
  statements.length = 0;
  await work();
  return (await costsOf(database, [...statements])).rows;
}

const reads = (most: number) => expect.toSatisfy((rows) => rows <= most);

it('reads a bounded part of many workspaces for each list, and all of them only for the overview', {
  tags: ['long'],
}, async () => {
  await using page = await runningPage({
    source: readFleet({ database: recorded }, { hasPulls: true }),
    pollIntervalMs: 3_600_000,
  });
  for (const path of largeLists.filter((each) => !/page=(50|200)/.test(each))) {
    const rows = await rowsRead(async () => expect((await page.ask(path)).status, path).toBeLessThan(400));
    const scanned = path === '/' || path.endsWith('/overview') ? WORKSPACES : 0;
    expect([path, rows]).toEqual([path, reads(MOST_READ + scanned)]);
  }
  const { text } = await page.ask('/workspaces?source=source-01&status=in-sync');
  expect(text).toMatch(/[\d,]+ of more than 10,000 workspaces/);
  const { headers } = await page.ask('/workspaces?page=999');
  expect(headers.location).toBe('/workspaces?page=200');
});

it.each([
  ['what follows the page', fleetVersion, 3000],
  ['metrics', fleetFigures, WORKSPACES * 1.2],
  ['the division of slots', resourceKindsInUse, 10],
  ['due work', (on: FleetDatabase) => takeDue(on, ['source-01']), 3000],
  ['the removal of old runs', (on: FleetDatabase) => removeExpiredRows(on, 101 * 86_400_000), 3000],
] as const)('reads only the necessary rows for %s', async (_, work, most) => {
  expect(await rowsRead(() => work(recorded))).toEqual(reads(most));
});

it.each(['status', 'since', 'address', 'due'] as const)(
  'lists many workspaces by %s at the cost of a few',
  { tags: ['long'] },
  async (order) => {
    const wanted = {
      status: `array_position($1::text[], ${SHOWN_STATUS}), ${SHOWN_SINCE} DESC`,
      since: `${SHOWN_SINCE} DESC`,
      address: 'address',
      due: 'paused_at IS NOT NULL OR vanished_at IS NOT NULL, due_at',
    };
    const all = { status: undefined, needs: undefined, source: undefined, label: undefined, word: undefined };
    for (const source of [undefined, 'source-01', 'source-20']) {
      const { rows } = await pageOfWorkspaces(database, { ...all, source, order, offset: 150, limit: 50 });
      const expected = await database.query(
        `SELECT address FROM voxform_fleet.workspaces WHERE $2::text IS NULL OR source = $2 AND $1::text[] IS NOT NULL ORDER BY ${wanted[order]}, address OFFSET 150 LIMIT 50`,
        workspaceStatuses,
        source ?? null,
      );
      expect(rows.map(({ address }) => address)).toEqual(expected.map(({ address }) => address));
    }
  },
);

it('lists all workspaces for programs in the order of addresses, and marks counts that are incomplete', {
  tags: ['long'],
}, async () => {
  await using page = await runningPage({ source: readFleet({ database }), pollIntervalMs: 3_600_000 });
  const get = async (path: string) =>
    JSON.parse((await page.ask(path, { headers: { accept: 'application/json' } })).text);
  const addresses = await database.query(
    'SELECT address FROM voxform_fleet.workspaces ORDER BY address OFFSET $1',
    WORKSPACES - 401,
  );
  const [first, ...others] = addresses.map(({ address }) => String(address));
  const seen: string[] = [];
  let next = `/api/v1/workspaces?limit=200&after=${encodeURIComponent(first ?? '')}`;
  for (; next !== null; ) {
    const list = await get(next);
    expect(list).toMatchObject({ found: 10_000, cut: true });
    seen.push(...list.items.map(({ address }: { readonly address: string }) => address));
    next = list.next;
  }
  expect(seen).toEqual(others);
  expect(await get('/api/v1/workspaces?sort=since&limit=200&page=50')).toMatchObject({ next: null, cut: true });
  expect(await get('/api/v1/workspaces?status=failed')).toMatchObject({ cut: false });
});

it('names the rules that are the first match of no workspace', async () => {
  const unused = ['source-01/*:production', 'source-99/*', 'source-02/%:*', 'source-03/clients/client-%:*'];
  const rules = ['source-01/*', unused[0], '*:staging', ...unused.slice(1), '*'].map(String);
  expect(await unusedPatterns(database, rules)).toEqual(unused);
  expect(await unusedPatterns(database, [])).toEqual([]);
  expect(await unusedPatterns(database, ['*', '*:production'])).toEqual(['*:production']);
});
