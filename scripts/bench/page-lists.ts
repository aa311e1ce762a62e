import { get } from 'node:http';
import { fleetDatabaseAt } from '../../src/fleet/database/fleet-database.ts';
import { enterMany, listPaths } from '../../test/page/many-workspaces.ts';
import { readFleet } from '../../test/page/read-fleet.ts';
import { runningPage } from '../../test/page/running-page.ts';
import { startPostgres } from '../../test/state/backends/postgres/postgres-server.ts';
import type { Bench } from './report.ts';

const WORKSPACES = 10_000;
const REQUESTS = 20;

/** Measures the time to the first byte of each list on the page of a large fleet. */
export async function pageLists({ emit }: Pick<Bench, 'emit'>): Promise<void> {
  await using server = await startPostgres();
  const database = fleetDatabaseAt(server.url('postgres'));
  try {
    await enterMany(database, WORKSPACES);
    const source = readFleet({ database });
    await using page = await runningPage({ source, now: () => new Date(), pollIntervalMs: 3000 });
    for (const path of listPaths) {
      const times: number[] = [];
      for (let request = 0; request < REQUESTS; request++) times.push(await firstByte(`${page.url}${path}`));
      emit({
        what: `page, ${WORKSPACES} workspaces, ${path}: first byte, the slowest of ${REQUESTS} but one`,
        value: times.sort((a, b) => a - b).at(-2) ?? Number.NaN,
        unit: 'ms',
        budget: 100,
      });
    }
  } finally {
    await database.close();
  }
}

/** Returns the time to the first byte in milliseconds. */
async function firstByte(url: string): Promise<number> {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    get(url, (answer) => {
      answer.once('data', () => resolve(performance.now() - began));
      answer.resume();
    }).once('error', reject);
  });
}
