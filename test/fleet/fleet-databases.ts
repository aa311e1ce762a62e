import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, onTestFinished } from 'vitest';
import { embeddedFleetDatabase, type FleetDatabase, fleetDatabaseAt } from '../../src/fleet/database/fleet-database.ts';
import { setUpTables } from '../../src/fleet/database/set-up-tables.ts';
import type { FleetMember, SourceContents } from '../../src/fleet/member.ts';
import { type ClaimedJob, Queue } from '../../src/fleet/queue.ts';
import type { FinishedRun } from '../../src/fleet/rows/finished-runs.ts';
import { claimSources, registerSources, storeContents } from '../../src/fleet/rows/member-rows.ts';
import { rowsToRun } from '../../src/fleet/rows/run-rows.ts';
import { freshDatabase } from '../state/backends/postgres/databases.ts';
import { putEmbedded } from './embedded-folder.ts';

/** An empty database of each kind. */
export const newDatabases: Readonly<Record<string, () => Promise<FleetDatabase>>> = {
  PostgreSQL: async () => fleetDatabaseAt((await freshDatabase()).url),
  embedded: async () => {
    embedded ??= beginEmbedded();
    const database = await embedded;
    onTestFinished(async () => {
      await database.query('DROP SCHEMA IF EXISTS voxform_fleet CASCADE; DROP SCHEMA IF EXISTS voxform_queue CASCADE');
    });
    return database;
  },
};

let embedded: Promise<FleetDatabase> | undefined;

async function beginEmbedded(): Promise<FleetDatabase> {
  const folder = await mkdtemp(path.join(tmpdir(), 'voxform-fleet-'));
  await putEmbedded(folder);
  const database = await embeddedFleetDatabase(folder);
  afterAll(async () => {
    embedded = undefined;
    await database.close();
    await rm(folder, { recursive: true });
  });
  return database;
}

export async function openQueue(database: FleetDatabase, { monitor = 600 } = {}): Promise<Queue> {
  await setUpTables(database);
  const queue = await Queue.open(database, { heartbeat: 30, monitor, expiry: 700 }, (error) => {
    throw error;
  });
  onTestFinished(() => queue.close());
  return queue;
}

export function memberNamed(project: string, changes: Partial<FleetMember> = {}): FleetMember {
  return {
    address: `voices/${project}:production`,
    source: 'voices',
    project,
    workspace: 'production',
    workspaceId: `id-${project}`,
    baseUrl: 'https://one.example.com',
    mode: 'report',
    interval: 60_000,
    version: '1',
    commit: 'c1',
    ...changes,
  };
}

/** Returns the contents of a source with exactly these members. */
export function contentsOf(members: readonly FleetMember[], broken: SourceContents['projects'] = []): SourceContents {
  const projects = [...Map.groupBy(members, ({ project }) => project)].map(([project, own]) => {
    const { version = '1', commit } = own[0] ?? {};
    return { project, version, commit, problem: undefined, members: own };
  });
  return { source: 'voices', commit: 'c1', projects: [...projects, ...broken], warnings: [] };
}

export const oneSource = [{ name: 'voices', shown: 'a folder', identity: 'a folder', interval: 1000 }];

/** Stores the contents of a source as a process does. New workspaces are due at once. */
export async function discover(database: FleetDatabase, contents: SourceContents): Promise<void> {
  await registerSources(database, oneSource);
  await database.query('UPDATE voxform_fleet.sources SET next_fetch = now()');
  const [claimed] = await claimSources(database, oneSource);
  if (claimed === undefined) throw new Error('nothing to fetch');
  await storeContents(database, { claimed, contents, interval: 1000 });
  await database.query(`UPDATE voxform_fleet.workspaces SET due_at = now() WHERE checked_at IS NULL`);
}

/** Returns finished runs that found everything in sync. */
export async function finishedRuns(
  database: FleetDatabase,
  jobs: readonly ClaimedJob[],
  changes: Partial<FinishedRun> = {},
): Promise<readonly FinishedRun[]> {
  const rows = await rowsToRun(database, jobs);
  return jobs.flatMap((job) => {
    const row = rows.get(job.address);
    if (row === undefined) return [];
    return {
      job,
      row,
      status: 'in-sync' as const,
      isChecked: true,
      hasDrift: false,
      failures: 0,
      nextRun: undefined,
      request: undefined,
      fulfillsRequest: true,
      isGood: true,
      summary: { records: 3 },
      plan: undefined,
      remaining: undefined,
      external: undefined,
      search: undefined,
      record: undefined,
      ...changes,
    };
  });
}
