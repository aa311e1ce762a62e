import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Fault, ReceivedRequest } from '../../src/emulator/faults.ts';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import { embeddedFleetDatabase, type FleetDatabase, fleetDatabaseAt } from '../../src/fleet/database/fleet-database.ts';
import type { FleetFigures, FleetWorkspace } from '../../src/fleet/rows/status-rows.ts';
import { SIMULATED_MACHINE } from './machines.ts';
import { projectFile } from './manifests.ts';
import { type ProcessResult, type RunningProcess, startProcess } from './processes.ts';
import { SECRETS } from './secrets.ts';

const { VOXFORM_API_KEY: PLATFORM_KEY = '', ...secrets } = SECRETS;

type SharedField = 'address' | 'status' | 'failures' | 'asked' | 'plan' | 'last';

/** The fields of `fleet status --output json` that the campaign reads. */
export interface FleetStatus extends Pick<FleetFigures, 'at' | 'counts'> {
  readonly workspaces: readonly (Pick<FleetWorkspace, SharedField> & {
    readonly checked_at: string | null;
    readonly due_at: string;
  })[];
}

interface GroundOptions {
  /** The path of the command's main file. */
  readonly main: string;
  readonly projects: readonly string[];
  readonly seed: string;
  manifests(project: string): string;
  /** Lines of the fleet file in addition to its sources and its database. */
  readonly fleet: string;
  /** The URL of the database. Default: the embedded database. */
  readonly url?: string | undefined;
  /** A URL of the database without a proxy. Default: `url`. */
  readonly direct?: string | undefined;
  /** The compile cache that processes share. Default: a new folder. */
  readonly caches?: string | undefined;
}

/** A simulated machine. */
export interface Machine {
  readonly host: string;
  /** Seconds by which its clock is ahead. */
  readonly ahead: number;
}

interface StartOptions {
  readonly timeoutMs?: number;
  /** Options of Node. */
  readonly node?: readonly string[];
}

export type PlatformHook = (project: string, request: ReceivedRequest) => Promise<Fault | undefined>;

/** Projects that are served as a fleet, each with its own platform. Projects and platforms outlive the processes of the fleet. */
export class FleetGround implements AsyncDisposable {
  readonly folder: string;
  readonly platforms: ReadonlyMap<string, Emulator>;
  /** Called with each request before the platform handles it. */
  hook: PlatformHook = async () => undefined;
  readonly #options: GroundOptions;
  readonly #started: RunningProcess[] = [];

  private constructor(options: GroundOptions, folder: string, platforms: ReadonlyMap<string, Emulator>) {
    this.#options = options;
    this.folder = folder;
    this.platforms = platforms;
  }

  /** Creates a fleet whose processes run the built command and share its compile cache. */
  static ofBench(built: string, options: Omit<GroundOptions, 'main' | 'caches'>): Promise<FleetGround> {
    return FleetGround.open({
      ...options,
      main: path.join(built, 'main.js'),
      caches: path.join(built, '.compile-cache'),
    });
  }

  static async open(options: GroundOptions): Promise<FleetGround> {
    const { projects, seed, url, fleet } = options;
    const platforms = new Map<string, Emulator>();
    for (const [index, project] of projects.entries()) {
      const workspaceId = `01JEMV1AT0RW0RKSPACE00${String(index + 1000)}`;
      const onRequest = (request: ReceivedRequest) => ground.hook(project, request);
      platforms.set(
        project,
        await startEmulator({ seed: `${seed} ${project}`, workspaceId, apiKey: PLATFORM_KEY, onRequest }),
      );
    }
    const folder = mkdtempSync(path.join(tmpdir(), 'voxform-fleet-'));
    const ground: FleetGround = new FleetGround(options, folder, platforms);
    for (const [project, emulator] of platforms) {
      ground.write(`${project}/voxform.yaml`, projectFile(emulator).replace('VOXFORM_API_KEY', 'PLATFORM_KEY'));
      ground.write(`${project}/manifests/all.yaml`, options.manifests(project));
    }
    ground.write(
      'fleet.yaml',
      `version: 1
${url === undefined ? '' : 'database: { $secret: FLEET_DATABASE_URL }\n'}sources: { voices: { path: ., projects: ["*"] } }
${fleet}`,
    );
    return ground;
  }

  write(name: string, text: string): void {
    const file = path.join(this.folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  /** Starts a process that serves the fleet, on this machine or on a simulated one. */
  serve(machine?: Machine): RunningProcess {
    return this.#start(['fleet', 'serve'], {
      timeoutMs: Number.POSITIVE_INFINITY,
      ...(machine && { node: ['--import', `${SIMULATED_MACHINE}?host=${machine.host}&ahead=${machine.ahead}`] }),
    });
  }

  /** Runs a command in the folder of the fleet. */
  run(...args: readonly string[]): Promise<ProcessResult> {
    return this.#start(args, {}).ended;
  }

  async status(): Promise<FleetStatus> {
    const { code, stdout, stderr } = await this.run('fleet', 'status', '--output', 'json');
    if (code !== 0) throw new Error(`fleet status ended with ${code}: ${stderr}`);
    return JSON.parse(stdout) as FleetStatus;
  }

  /** Opens the database for a callback. No process may use an embedded database at the same time. */
  async inDatabase<T>(work: (database: FleetDatabase) => Promise<T>): Promise<T> {
    const { url, direct = url } = this.#options;
    const database = await (direct === undefined
      ? embeddedFleetDatabase(path.join(this.folder, '.voxform', 'fleet'))
      : fleetDatabaseAt(direct));
    try {
      return await work(database);
    } finally {
      await database.close();
    }
  }

  /** Moves the times in the database back, so that processes without a recent heartbeat count as dead. */
  passTime(): Promise<void> {
    return this.inDatabase(async ({ query }) => {
      const [row] = await query(`SELECT to_regclass('voxform_queue.job') IS NULL AS "isNew"`);
      // A process that was killed early has not created the tables.
      if (row?.isNew === true) return;
      // Separate statements: one transaction could deadlock with processes that lock the same rows in another order.
      for (const update of [
        `voxform_queue.job SET heartbeat_on = heartbeat_on - interval '61 s'`,
        `voxform_fleet.states SET heard = heard - interval '61 s'`,
        `voxform_fleet.sources SET next_fetch = next_fetch - interval '61 s'`,
        `voxform_fleet.pulls SET until = until - interval '61 s', work_at = work_at - interval '300 s'`,
      ])
        await query(`UPDATE ${update}`);
    });
  }

  /** The output of all processes. */
  get output(): string {
    return this.#started.map(({ output }) => output()).join('\n');
  }

  /** The contents of all files, including checkouts and an embedded database. */
  fileContents(): string[] {
    return readdirSync(this.folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => readFileSync(path.join(parentPath, name), 'latin1'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { child } of this.#started) child.kill('SIGKILL');
    await Promise.allSettled(this.#started.map(({ ended }) => ended));
    for (const emulator of this.platforms.values()) await emulator.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #start(args: readonly string[], { timeoutMs, node = [] }: StartOptions): RunningProcess {
    const { main, url, caches = path.join(this.folder, '.caches') } = this.#options;
    const running = startProcess([process.execPath, ...node, main, ...args], {
      cwd: this.folder,
      env: {
        ...secrets,
        // A fleet refuses VOXFORM_API_KEY, because it would apply to all workspaces.
        PLATFORM_KEY,
        ...(url !== undefined && { FLEET_DATABASE_URL: url }),
        NODE_COMPILE_CACHE: caches,
        TMPDIR: this.folder,
      },
      ...(timeoutMs !== undefined && { timeoutMs }),
    });
    this.#started.push(running);
    return running;
  }
}
