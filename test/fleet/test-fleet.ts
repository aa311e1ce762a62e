import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished } from 'vitest';
import { type Emulator, type EmulatorOptions, startEmulator } from '../../src/emulator/start-emulator.ts';
import { type FleetControl, fleetControl } from '../../src/fleet/control.ts';
import { type FleetDatabase, fleetDatabaseAt } from '../../src/fleet/database/fleet-database.ts';
import { FleetServer, type ServeOptions } from '../../src/fleet/serve.ts';
import type { RunReport } from '../../src/operator/run-report.ts';
import { type Folder, temporaryFolder } from '../cli/voxform-process.ts';
import { agentManifest, projectFile } from '../cli/workspace.ts';
import { type Database, freshDatabase } from '../state/backends/postgres/databases.ts';
import { KEY, serverOptions } from './server-options.ts';

interface TestFleetOptions {
  readonly projects: readonly string[];
  readonly rules?: string;
  /** Returns the URL of the fleet's database if it is not the default. */
  readonly url?: (pg: Database) => string;
  /** True if the fleet file names no database. */
  readonly isEmbedded?: boolean;
  /** Agent manifests of each project in addition to the first. */
  readonly agents?: readonly string[];
  /** Additional secrets in the environment of the servers. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** The behavior of the platforms. */
  readonly behaviour?: EmulatorOptions['behaviour'];
  /** Called for each request to a platform, before the response. */
  readonly onRequest?: EmulatorOptions['onRequest'];
}

export interface RunReported {
  readonly server: string;
  readonly address: string;
  readonly report: RunReport | undefined;
}

/** A process that serves, and the lines that it printed. */
export interface FleetChild {
  readonly id: string;
  readonly events: readonly Readonly<Record<string, unknown>>[];
  readonly ended: Promise<unknown>;
  kill(signal: NodeJS.Signals): void;
}

/** A folder of projects with a platform each, and processes that serve them. */
export interface TestFleet {
  readonly folder: Folder;
  readonly emulators: ReadonlyMap<string, Emulator>;
  readonly pg: Database;
  readonly database: FleetDatabase;
  readonly control: FleetControl;
  readonly reports: readonly RunReported[];
  readonly log: readonly string[];
  server(changes?: Partial<ServeOptions>): Promise<FleetServer>;
  /** Starts a serving process. */
  child(): Promise<FleetChild>;
  /** Waits until the condition is true. */
  until(what: () => boolean | Promise<boolean>): Promise<void>;
  write(project: string, prompt: string): Promise<void>;
  status(address: string): Promise<string>;
}

export async function testFleet({
  projects,
  rules = '',
  url,
  agents = [],
  isEmbedded = false,
  behaviour,
  onRequest,
  secrets,
}: TestFleetOptions): Promise<TestFleet> {
  const pg = await freshDatabase();
  const emulators = new Map<string, Emulator>();
  const files: Record<string, string> = {};
  for (const [index, project] of projects.entries()) {
    const emulator = await startEmulator({
      // Without a seed, the calls of the emulator end at the current time.
      seed: behaviour === undefined ? index + 1 : undefined,
      workspaceId: workspaceId(index),
      apiKey: KEY,
      behaviour,
      onRequest,
    });
    onTestFinished(() => emulator.close());
    emulators.set(project, emulator);
    files[`${project}/voxform.yaml`] = projectFile(emulator);
    files[`${project}/manifests/a.yaml`] = agentManifest(`agent-of-${project}`, 'One.');
    for (const name of agents) files[`${project}/manifests/${name}.yaml`] = agentManifest(name, 'One.');
  }
  const folder = await temporaryFolder({
    ...files,
    'fleet.yaml': `version: 1
${isEmbedded ? '' : 'database: { $secret: FLEET_DATABASE_URL }'}
sources: { voices: { path: ., projects: ["*"] } }
${rules}`,
  });
  onTestFinished(() => folder[Symbol.asyncDispose]());
  const at = url?.(pg) ?? pg.url;
  const database = fleetDatabaseAt(at);
  const control = fleetControl(database);
  const reports: RunReported[] = [];
  const log: string[] = [];
  const write = (project: string, prompt: string) =>
    folder.write(`${project}/manifests/a.yaml`, agentManifest(`agent-of-${project}`, prompt));
  let count = 0;
  return {
    folder,
    emulators,
    pg,
    database,
    control,
    reports,
    log,
    write,
    async server(changes) {
      const name = `server ${++count}`;
      const server = await FleetServer.begin({
        ...serverOptions(folder.root, { url: at, home: String(count), secrets }),
        log: { entry: (level, message) => void log.push(`${level} ${message}`) },
        onRun: ({ address }, { report }) => void reports.push({ server: name, address, report }),
        ...changes,
      });
      onTestFinished(() => server.stop('test is over'));
      return server;
    },
    child: () => fleetChild({ folder: folder.root, url: at, secrets: {} }),
    async until(what) {
      await expect
        .poll(what, { interval: 50 })
        .toBe(true)
        .catch(async (cause: unknown) => {
          const { counts, workspaces } = await control.status({});
          const rows = workspaces.map(({ address, status, last }) => ({ address, status, last }));
          throw new Error(JSON.stringify({ counts, rows, log, reports: reports.length }, null, 1), { cause });
        });
    },
    async status(address) {
      const { workspaces } = await control.status({ address });
      return workspaces[0]?.status ?? 'unknown';
    },
  };
}

/** Starts a process that serves the fleet of a folder. */
export async function fleetChild({
  folder,
  url,
  secrets,
}: {
  readonly folder: string;
  readonly url: string;
  readonly secrets: Readonly<Record<string, string>>;
}): Promise<FleetChild> {
  const main = path.join(import.meta.dirname, 'serve-child.ts');
  const child = spawn(process.execPath, [main, folder, url, JSON.stringify(secrets)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const events: Record<string, unknown>[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => events.push(JSON.parse(line)));
  await expect.poll(() => events[0]?.event).toBe('serving');
  return { id: String(events[0]?.id), events, ended, kill: (signal) => void child.kill(signal) };
}

function workspaceId(index: number): string {
  return `01JEMV1AT0RW0RKSPACE00${String(index + 10).padStart(4, '0')}`;
}
