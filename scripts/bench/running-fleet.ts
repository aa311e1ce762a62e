import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fleetDatabaseAt } from '../../src/fleet/database/fleet-database.ts';
import type { Mode } from '../../src/operator/workspace-status.ts';
import { type PostgresServer, startPostgres } from '../../test/state/backends/postgres/postgres-server.ts';
import { FleetFigures } from './fleet-figures.ts';
import { fleetStates } from './fleet-states.ts';
import { type Platform, runNode, startPlatform } from './processes.ts';
import type { Bench } from './report.ts';
import { BENCH_ENV, FLEET_AGENTS, writeFleetProjects } from './workload.ts';

const REPORT_USAGE = path.join(import.meta.dirname, 'report-usage.ts');

/** The runs per second for any number of workspaces, as for 10,000 workspaces every 5 minutes. */
const RUNS_PER_SECOND = 10_000 / 300;
const REPLICAS = 2;
/** The limits in deploy/kubernetes/fleet. Without limits, V8 collects garbage late on a machine with enough memory. */
const MEMORY = ['--max-semi-space-size=8', '--max-old-space-size=240'];
const SERVER =
  '-c fsync=on -c shared_buffers=128MB -c wal_writer_delay=200ms -c shared_preload_libraries=pg_stat_statements';
/** The time that a replica has to shut down. */
const SHUTDOWN_TIMEOUT_MS = 30_000;

interface FleetForm {
  readonly workspaces: number;
  readonly mode: Mode;
  /** Returns the base URL of a workspace, by its number. */
  urlOf(platform: Platform, workspace: number): string;
}

/** Two replicas, their PostgreSQL database, a folder of projects with two workspaces each, and the platform, all on this machine. */
export class RunningFleet implements AsyncDisposable {
  readonly figures: FleetFigures;
  readonly platform: Platform;
  readonly replicas: ChildProcess[] = [];
  readonly server: PostgresServer;
  /** The interval between runs of a workspace in seconds. */
  readonly interval: number;
  readonly #bin: string;
  readonly #folder: string;

  static async start({ bin, folder: home }: Bench, { workspaces, mode, urlOf }: FleetForm): Promise<RunningFleet> {
    const folder = path.join(home, 'fleet');
    const server = await startPostgres(SERVER);
    const platform = await startPlatform(workspaces * FLEET_AGENTS, 0, { isFleet: true });
    const interval = Math.max(1, Math.round(workspaces / RUNS_PER_SECOND));
    const fleet = new RunningFleet({ bin, folder, server, platform, interval });
    try {
      await fleet.#begin(workspaces, mode, (workspace) => urlOf(platform, workspace));
      return fleet;
    } catch (error) {
      await fleet[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(parts: {
    readonly bin: string;
    readonly folder: string;
    readonly server: PostgresServer;
    readonly platform: Platform;
    readonly interval: number;
  }) {
    this.#bin = parts.bin;
    this.#folder = parts.folder;
    this.server = parts.server;
    this.platform = parts.platform;
    this.interval = parts.interval;
    this.figures = new FleetFigures(fleetDatabaseAt(this.server.url('postgres')));
  }

  get projects(): string {
    return path.join(this.#folder, 'clients');
  }

  async #begin(workspaces: number, mode: Mode, urlOf: (workspace: number) => string): Promise<void> {
    writeFleetProjects(this.projects, workspaces, urlOf);
    for (let nth = 0; nth < REPLICAS; nth++) {
      mkdirSync(this.#cwd(nth));
      writeFileSync(
        path.join(this.#cwd(nth), 'fleet.yaml'),
        `version: 1
database: { $secret: FLEET_DATABASE_URL }
sources: { clients: { path: ${this.projects}, projects: ["*"] } }
workspaces: { "*": { mode: ${mode}, interval: ${this.interval}s } }
`,
      );
    }
    await runNode([this.#bin, 'fleet', 'init'], { cwd: this.#cwd(0), env: this.#env });
    for (const states of fleetStates(workspaces)) await this.figures.seed(states);
    for (let nth = 0; nth < REPLICAS; nth++) this.startReplica(nth);
  }

  /** Starts or restarts a replica. */
  startReplica(nth: number): void {
    const log = openSync(path.join(this.#cwd(nth), 'log'), 'a');
    this.replicas[nth] = fork(this.#bin, ['fleet', 'serve'], {
      cwd: this.#cwd(nth),
      env: { ...process.env, ...this.#env },
      execArgv: [...MEMORY, '--import', REPORT_USAGE],
      stdio: ['ignore', 'ignore', log, 'ipc'],
    });
    closeSync(log);
  }

  refuseEnded(): void {
    for (const { exitCode } of this.replicas)
      if (exitCode !== null) throw new Error(`a replica ended with ${exitCode}`);
  }

  get #env(): Readonly<Record<string, string>> {
    return { ...BENCH_ENV, FLEET_DATABASE_URL: this.server.url('postgres') };
  }

  #cwd(nth: number): string {
    return path.join(this.#folder, `replica-${nth + 1}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const replica of this.replicas) {
      if (replica.exitCode !== null || replica.signalCode !== null) continue;
      const timer = setTimeout(() => replica.kill('SIGKILL'), SHUTDOWN_TIMEOUT_MS);
      replica.kill('SIGTERM');
      await once(replica, 'exit');
      clearTimeout(timer);
    }
    await this.platform.stop();
    await this.server[Symbol.asyncDispose]();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
