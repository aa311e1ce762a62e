import { get } from 'node:http';
import { fleetControl } from '../../src/fleet/control.ts';
import { type FleetDatabase, fleetDatabaseAt } from '../../src/fleet/database/fleet-database.ts';
import { setUpTables } from '../../src/fleet/database/set-up-tables.ts';
import { type ClaimedJob, Queue } from '../../src/fleet/queue.ts';
import { claimWorkspace } from '../../src/fleet/rows/claim-rows.ts';
import { dropJobs } from '../../src/fleet/rows/finished-runs.ts';
import { resourceKindsInUse, unusedPatterns, versionsInUse } from '../../src/fleet/rows/member-rows.ts';
import { fleetVersion } from '../../src/fleet/rows/page-rows.ts';
import { removeExpiredRows } from '../../src/fleet/rows/process-rows.ts';
import { rowsToRun } from '../../src/fleet/rows/run-rows.ts';
import { fleetFigures } from '../../src/fleet/rows/status-rows.ts';
import { scheduleDue } from '../../src/fleet/serve.ts';
import { othersStatement } from '../../src/state/backends/postgres/statements.ts';
import { fillFleet, largeLists } from '../../test/fleet/large-fleet.ts';
import { costsOf, type Recorded, recording } from '../../test/fleet/statement-costs.ts';
import { readFleet } from '../../test/page/read-fleet.ts';
import { runningPage } from '../../test/page/running-page.ts';
import { startPostgres } from '../../test/state/backends/postgres/postgres-server.ts';
import type { Bench } from './report.ts';

const REQUESTS = 5;
const DAY_MS = 86_400_000;
const TIMING = { heartbeat: 30, monitor: 600, expiry: 700 };

/** The settings of a database server with more memory, and with syncs. */
const SERVER =
  '-c fsync=on -c shared_buffers=2GB -c work_mem=16MB -c max_wal_size=4GB -c maintenance_work_mem=256MB -c wal_writer_delay=200ms';

/** Measures the lists of the page and the statements of a process, in a fleet with many workspaces and ten times as many runs, without platforms. */
export async function million({ emit }: Pick<Bench, 'emit'>, workspaces: number): Promise<void> {
  await using server = await startPostgres(SERVER);
  const database = fleetDatabaseAt(server.url('postgres'));
  try {
    await fillFleet(database, workspaces);
    await measureFleet(database, (row) => emit({ ...row, what: `fleet of ${workspaces} rows: ${row.what}` }));
  } finally {
    await database.close();
  }
}

export async function measureFleet(database: FleetDatabase, emit: Bench['emit']): Promise<void> {
  const statements: Recorded[] = [];
  const recorded = recording(database, statements);
  const measured = async (what: string, work: () => Promise<unknown>, budget?: number): Promise<void> => {
    const times: number[] = [];
    for (let request = 0; request < REQUESTS; request++) {
      statements.length = 0;
      const began = performance.now();
      await work();
      times.push(performance.now() - began);
    }
    const last = [...statements];
    const { rows, pages } = await costsOf(database, last);
    const floor = `reads ${rows} rows, ${pages} pages`;
    const value = times.sort((a, b) => a - b).at(-2) ?? Number.NaN;
    emit({ what, floor, value, unit: 'ms', budget });
  };

  const source = readFleet({ database: recorded }, { hasPulls: true });
  await using page = await runningPage({ source, now: () => new Date(), pollIntervalMs: 3_600_000 });
  for (const path of largeLists) await measured(path, () => readPage(`${page.url}${path}`), 300);

  const control = fleetControl(recorded);
  await measured('figures of /metrics and /status', () => fleetFigures(recorded));
  await measured('version of open pages', () => fleetVersion(recorded));
  await measured('fleet status', () => control.status({}));

  await measured('start: version of the tables', () => setUpTables(recorded));
  await measured('start, heartbeat: kinds of groups', () => resourceKindsInUse(recorded));
  await measured('fetch: unused rules', () => unusedPatterns(recorded, ['source-01/*', '*:staging', '*']));
  await measured('versions in use of the largest source', () => versionsInUse(recorded, 'source-01'));

  const queue = await Queue.open(database, TIMING, (error) => {
    throw error;
  });
  try {
    const sources = ['source-01', 'source-02', 'source-20'];
    await database.query(
      `UPDATE voxform_fleet.workspaces SET due_at = now() - interval '1 second' WHERE address IN
  (SELECT address FROM voxform_fleet.workspaces WHERE source = ANY ($1::text[]) ORDER BY random() LIMIT 4000)`,
      sources,
    );
    await measured('queueing 500 due workspaces', () => scheduleDue(recorded, queue, sources));
    const jobs: ClaimedJob[] = [];
    await measured('picking 8 of them', async () => jobs.push(...(await queue.take(8, []))), 20);
    await measured('reading 8 workspaces to run, twins included', () => rowsToRun(recorded, jobs.slice(0, 8)));
    await measured('a workspace is claimed', () =>
      claimWorkspace(
        recorded,
        {
          address: jobs[0]?.address ?? '',
          holder: 'job',
          workspaceId: 'id-3',
          baseUrl: 'https://region-1.example.com/api',
        },
        { expiry: 30_000, corrects: false },
      ),
    );
    const other = othersStatement('voxform_fleet', jobs[0]?.address ?? '', 'id-4');
    await measured('second state of a workspace', () => recorded.query(other.text, ...other.values));
    await dropJobs(database, queue, jobs);
  } finally {
    await queue.close();
  }

  const waiting = await database.query(
    `SELECT address, digest FROM voxform_fleet.plans WHERE state = 'waiting' LIMIT ${REQUESTS}`,
  );
  let next = 0;
  await measured('approving a plan', async () => {
    const { address, digest } = waiting[next++] ?? {};
    await control.approve(String(address), String(digest), 'ann');
  });

  let slowest = 0;
  const timed: FleetDatabase['query'] = async (text, ...values) => {
    const began = performance.now();
    const rows = await database.query(text, ...values);
    slowest = Math.max(slowest, performance.now() - began);
    return rows;
  };
  await removeExpiredRows({ query: timed }, 98 * DAY_MS);
  emit({
    what: 'retention: the slowest batch, of rows that no run reads',
    value: slowest,
    unit: 'ms',
  });
  await measured('retention: nothing to remove', () => removeExpiredRows(recorded, 98 * DAY_MS));
}

/** Reads the whole response. */
async function readPage(url: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    get(url, { headers: { accept: 'text/html' } }, (response) => {
      if ((response.statusCode ?? 500) >= 400) reject(new Error(`${url}: ${response.statusCode}`));
      response.resume().once('end', resolve);
    }).once('error', reject);
  });
}
