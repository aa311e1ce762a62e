import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fleetDatabaseAt } from '../../src/fleet/database/fleet-database.ts';
import { startPostgres } from '../../test/state/backends/postgres/postgres-server.ts';
import { FleetFigures } from './fleet-figures.ts';
import { fleetStates } from './fleet-states.ts';
import { type Platform, processEnv, runNode, startPlatform } from './processes.ts';
import type { Bench } from './report.ts';
import { FLEET_AGENTS, FLEET_WORKSPACES, fleetAddress, fleetManifest, writeFleetProjects } from './workload.ts';

const REPORT_USAGE = path.join(import.meta.dirname, 'report-usage.ts');

/** Runs a second for any number of workspaces: 10,000 workspaces every 5 minutes. */
const PACE = 10_000 / 300;
const REPLICAS = 2;
/** As deploy/kubernetes/fleet starts them: without limits, V8 lets garbage wait while the machine has memory. */
const MEMORY = ['--max-semi-space-size=8', '--max-old-space-size=240'];
/** Seconds between two changes of a project. */
const CHANGES = 10;

interface Usage {
  /** Seconds of processor time. */
  readonly processor: number;
  /** MiB. */
  readonly largest: number;
}

/** Two replicas over PostgreSQL, a folder of projects with two workspaces each, and the platform, all on this machine. */
export async function fleet(
  { bin, folder: home, emit }: Bench,
  { workspaces, minutes }: { readonly workspaces: number; readonly minutes: number },
): Promise<void> {
  const folder = path.join(home, 'fleet');
  const projects = path.join(folder, 'clients');
  await using server = await startPostgres(
    '-c fsync=on -c shared_buffers=128MB -c wal_writer_delay=200ms -c shared_preload_libraries=pg_stat_statements',
  );
  const platform = await startPlatform(workspaces * FLEET_AGENTS, 0, { isFleet: true });
  const replicas: ChildProcess[] = [];
  try {
    writeFleetProjects(projects, workspaces, platform.baseUrl);
    const env = { BENCH_API_KEY: 'key-of-the-bench', FLEET_DATABASE_URL: server.url('postgres') };
    const [first = folder, ...others] = Array.from({ length: REPLICAS }, (_, nth) => {
      const cwd = path.join(folder, `replica-${nth + 1}`);
      mkdirSync(cwd);
      writeFileSync(path.join(cwd, 'fleet.yaml'), fleetText(projects, workspaces));
      return cwd;
    });
    await runNode([bin, 'fleet', 'init'], { cwd: first, env });
    const figures = new FleetFigures(fleetDatabaseAt(server.url('postgres')));
    for (const states of fleetStates(workspaces)) await figures.seed(states);
    for (const cwd of [first, ...others]) {
      const log = openSync(path.join(cwd, 'log'), 'a');
      replicas.push(
        fork(bin, ['fleet', 'serve'], {
          cwd,
          env: { ...processEnv(), ...env },
          execArgv: [...MEMORY, '--import', REPORT_USAGE],
          stdio: ['ignore', 'ignore', log, 'ipc'],
        }),
      );
    }
    await figures.allChecked(workspaces, () => refuseEnded(replicas));

    await figures.begin();
    const before = await usageOf(replicas, platform);
    const change = await changing({ projects, workspaces, minutes, figures });
    const after = await usageOf(replicas, platform);
    const { runs, seconds, lateness, statements, server: ofServer } = await figures.end();
    const own = (value: number, what: string, unit: 'ms' | 's' | 'MiB' | 'runs/s' | 'statements', budget?: number) =>
      emit({
        what: `fleet of ${workspaces}: ${what}`,
        floor: '',
        floorValue: undefined,
        value,
        unit,
        budget,
      });
    const each = (total: number): number => (total / runs) * 1000;
    const spent = (of: (usage: Awaited<ReturnType<typeof usageOf>>) => number) => each(of(after) - of(before));
    own(runs / seconds, 'runs begun a second', 'runs/s');
    own(lateness.median, 'lateness, median', 's');
    own(lateness.high, 'lateness, 99 %', 's');
    own(lateness.most, 'lateness, most', 's', 30);
    own(change, 'from the change of a file to the begin of its run, most', 's', 5);
    own(
      spent(({ replicas: all }) => sum(all.map(({ processor }) => processor))),
      'processor time of the replicas a run',
      'ms',
    );
    own(each(ofServer), 'processor time of PostgreSQL a run', 'ms');
    own(
      spent((usage) => usage.platform),
      'processor time of the platform a run',
      'ms',
    );
    own(statements / runs, 'statements a run', 'statements');
    for (const [index, { largest }] of after.replicas.entries())
      own(largest, `memory of replica ${index + 1}, most`, 'MiB', 400);
  } finally {
    for (const replica of replicas) {
      if (replica.exitCode !== null) continue;
      replica.kill('SIGTERM');
      await once(replica, 'exit');
    }
    await platform.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function fleetText(projects: string, workspaces: number): string {
  return `version: 1
database: { $secret: FLEET_DATABASE_URL }
sources: { clients: { path: ${projects}, projects: ["*"] } }
workspaces: { "*": { mode: report, interval: ${Math.max(1, Math.round(workspaces / PACE))}s } }
`;
}

interface Changing {
  readonly projects: string;
  readonly workspaces: number;
  readonly minutes: number;
  readonly figures: FleetFigures;
}

/** Changes a manifest at intervals. Returns the longest time in seconds until the run of its last workspace began. */
async function changing({ projects, workspaces, minutes, figures }: Changing): Promise<number> {
  let longest = 0;
  for (let nth = 0; nth < (minutes * 60) / CHANGES; nth++) {
    const began = Date.now();
    const { length } = FLEET_WORKSPACES;
    const project = nth % Math.floor(workspaces / length);
    appendFileSync(fleetManifest(projects, project, 0), '      - Say goodbye.\n');
    const changed = FLEET_WORKSPACES.map((_, workspace) => fleetAddress(project * length + workspace));
    longest = Math.max(longest, await figures.untilRun(changed, began));
    await setTimeout(Math.max(0, CHANGES * 1000 - (Date.now() - began)));
  }
  return longest;
}

async function usageOf(
  replicas: readonly ChildProcess[],
  platform: Platform,
): Promise<{ readonly replicas: readonly Usage[]; readonly platform: number }> {
  const { processor } = await platform.figures();
  return { replicas: await Promise.all(replicas.map(usage)), platform: processor };
}

async function usage(replica: ChildProcess): Promise<Usage> {
  replica.send('usage');
  const [{ microseconds, largest }] = (await once(replica, 'message')) as [
    { readonly microseconds: number; readonly largest: number },
  ];
  return { processor: microseconds / 1e6, largest };
}

function refuseEnded(replicas: readonly ChildProcess[]): void {
  for (const { exitCode } of replicas) if (exitCode !== null) throw new Error(`a replica ended with ${exitCode}`);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
