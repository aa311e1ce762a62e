import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Fault, ReceivedRequest } from '../../src/emulator/faults.ts';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import { embeddedFleetDatabase, type FleetDatabase, fleetDatabaseAt } from '../../src/fleet/database/fleet-database.ts';
import type { FleetFigures, FleetWorkspace } from '../../src/fleet/rows/status-rows.ts';
import { ELSEWHERE } from './machines.ts';
import { projectFile } from './manifests.ts';
import { type Ended, type Running, startProcess } from './processes.ts';
import { SECRETS } from './secrets.ts';

const { VOXFORM_API_KEY: PLATFORM_KEY = '', ...secrets } = SECRETS;

type SameName = 'address' | 'status' | 'failures' | 'asked' | 'plan' | 'last';

/** Of the JSON of `fleet status`, what is read here. */
export interface ToldFleet extends Pick<FleetFigures, 'at' | 'counts'> {
  readonly workspaces: readonly (Pick<FleetWorkspace, SameName> & {
    readonly checked_at: string | null;
    readonly due_at: string;
  })[];
}

interface GroundOptions {
  /** Script of the command. */
  readonly main: string;
  readonly projects: readonly string[];
  readonly seed: string;
  manifests(project: string): string;
  /** Lines of the fleet file beside its sources and its database. */
  readonly fleet: string;
  /** Address of the database; the embedded one where absent. */
  readonly url?: string | undefined;
  /** The same for whom nothing happens to; `url` where absent. */
  readonly direct?: string | undefined;
  /** Where one process finds what another compiled; a folder of its own where absent. */
  readonly caches?: string | undefined;
}

/** A process on a machine of its own. */
export interface Machine {
  readonly host: string;
  /** Seconds by which its clock is ahead. */
  readonly ahead: number;
}

interface Starting {
  readonly longest?: number;
  /** Options of node. */
  readonly node?: readonly string[];
}

export type PlatformHook = (project: string, request: ReceivedRequest) => Promise<Fault | undefined>;

/** Projects with a platform each, which stay whatever happens to the processes that serve them as a fleet. */
export class FleetGround implements AsyncDisposable {
  readonly folder: string;
  readonly platforms: ReadonlyMap<string, Emulator>;
  /** Hears of every request before its platform does anything about it. */
  hook: PlatformHook = async () => undefined;
  readonly #options: GroundOptions;
  readonly #started: Running[] = [];

  private constructor(options: GroundOptions, folder: string, platforms: ReadonlyMap<string, Emulator>) {
    this.#options = options;
    this.folder = folder;
    this.platforms = platforms;
  }

  /** A ground whose processes run the build of a bench, and share what they compiled. */
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

  /** Starts a process that serves the fleet, on this machine or on one that it believes to be another. */
  serve(machine?: Machine): Running {
    return this.#start(['fleet', 'serve'], {
      longest: Number.POSITIVE_INFINITY,
      ...(machine && { node: ['--import', `${ELSEWHERE}?host=${machine.host}&ahead=${machine.ahead}`] }),
    });
  }

  /** Gives a command in the folder of the fleet. */
  run(...args: readonly string[]): Promise<Ended> {
    return this.#start(args, {}).ended;
  }

  async status(): Promise<ToldFleet> {
    const { code, stdout, stderr } = await this.run('fleet', 'status', '--output', 'json');
    if (code !== 0) throw new Error(`fleet status ended with ${code}: ${stderr}`);
    return JSON.parse(stdout) as ToldFleet;
  }

  /** Does something in the database, which no process has open where it is the embedded one. */
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

  /** Lets so much time pass that silent processes count as dead. */
  passTime(): Promise<void> {
    return this.inDatabase(async ({ query }) => {
      const [row] = await query(`SELECT to_regclass('voxform_queue.job') IS NULL AS "isNew"`);
      // A process that was killed early made no tables.
      if (row?.isNew === true) return;
      // Each on its own: processes that lock the same rows in another order would be in a deadlock with all of them.
      for (const update of [
        `voxform_queue.job SET heartbeat_on = heartbeat_on - interval '61 s'`,
        `voxform_fleet.states SET heard = heard - interval '61 s'`,
        `voxform_fleet.sources SET next_fetch = next_fetch - interval '61 s'`,
        `voxform_fleet.pulls SET until = until - interval '61 s', work_at = work_at - interval '300 s'`,
      ])
        await query(`UPDATE ${update}`);
    });
  }

  /** What all processes have said. */
  get said(): string {
    return this.#started.map(({ text }) => text()).join('\n');
  }

  /** Text of all files, such as those of checkouts and of an embedded database. */
  texts(): string[] {
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

  #start(args: readonly string[], { longest, node = [] }: Starting): Running {
    const { main, url, caches = path.join(this.folder, '.caches') } = this.#options;
    const running = startProcess([process.execPath, ...node, main, ...args], {
      cwd: this.folder,
      env: {
        ...secrets,
        // One name for all workspaces is refused.
        PLATFORM_KEY,
        ...(url !== undefined && { FLEET_DATABASE_URL: url }),
        NODE_COMPILE_CACHE: caches,
        TMPDIR: this.folder,
      },
      ...(longest !== undefined && { longest }),
    });
    this.#started.push(running);
    return running;
  }
}
