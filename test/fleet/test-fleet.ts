import path from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import { type FleetControl, fleetControl } from '../../src/fleet/control.ts';
import { type FleetDatabase, fleetDatabaseAt } from '../../src/fleet/database/fleet-database.ts';
import { loadFleetFile } from '../../src/fleet/fleet-file.ts';
import type { RunRow } from '../../src/fleet/rows/run-rows.ts';
import { FleetServer, type ServeOptions } from '../../src/fleet/serve.ts';
import { openSources } from '../../src/fleet/sources/open-sources.ts';
import { systemClock } from '../../src/operator/clock.ts';
import type { RunReport } from '../../src/operator/run-report.ts';
import { Redactor } from '../../src/values/redactor.ts';
import { type Folder, temporaryFolder } from '../cli/voxform-process.ts';
import { agentManifest, projectFile } from '../cli/workspace.ts';
import { type Database, freshDatabase } from '../state/backends/postgres/databases.ts';

export const KEY = 'key-of-the-fleet-test';

interface TestFleetOptions {
  readonly projects: readonly string[];
  readonly rules?: string;
  /** Database of the fleet; one of its own where absent. */
  readonly url?: string;
}

export interface Told {
  readonly server: string;
  readonly address: string;
  readonly report: RunReport | undefined;
}

/** A folder of projects with a platform each, and processes that serve them. */
export interface TestFleet {
  readonly folder: Folder;
  readonly emulators: ReadonlyMap<string, Emulator>;
  readonly pg: Database;
  readonly database: FleetDatabase;
  readonly control: FleetControl;
  readonly told: readonly Told[];
  readonly log: readonly string[];
  server(changes?: Partial<ServeOptions>): Promise<FleetServer>;
  /** Waits until it holds. */
  until(what: () => boolean | Promise<boolean>): Promise<void>;
  write(project: string, prompt: string): Promise<void>;
  status(address: string): Promise<string>;
}

export async function testFleet({ projects, rules = '', url }: TestFleetOptions): Promise<TestFleet> {
  const pg = await freshDatabase();
  const emulators = new Map<string, Emulator>();
  const files: Record<string, string> = {};
  for (const [index, project] of projects.entries()) {
    const emulator = await startEmulator({ seed: index + 1, workspaceId: workspaceId(index), apiKey: KEY });
    onTestFinished(() => emulator.close());
    emulators.set(project, emulator);
    files[`${project}/voxform.yaml`] = projectFile(emulator);
    files[`${project}/manifests/a.yaml`] = agentManifest(`agent-of-${project}`, 'One.');
  }
  const folder = await temporaryFolder({
    ...files,
    'fleet.yaml': `version: 1
database: { $secret: FLEET_DATABASE_URL }
sources: { voices: { path: ., projects: ["*"] } }
${rules}`,
  });
  onTestFinished(() => folder[Symbol.asyncDispose]());
  const database = fleetDatabaseAt(url ?? pg.url);
  const control = fleetControl(database);
  const told: Told[] = [];
  const log: string[] = [];
  const env = { VOXFORM_API_KEY: KEY };
  const write = (project: string, prompt: string) =>
    folder.write(`${project}/manifests/a.yaml`, agentManifest(`agent-of-${project}`, prompt));
  let count = 0;
  return {
    folder,
    emulators,
    pg,
    database,
    control,
    told,
    log,
    write,
    async server(changes) {
      const fleet = loadFleetFile(path.join(folder.root, 'fleet.yaml'), {
        FLEET_DATABASE_URL: url ?? pg.url,
      });
      const name = `server ${++count}`;
      const server = await FleetServer.begin({
        database,
        sources: openSources({
          fleet,
          home: path.join(folder.root, '.home', String(count)),
          env,
          redactor: new Redactor(),
        }),
        context: {
          cwd: folder.root,
          env,
          log: { warn() {}, info() {}, debug() {} },
          now: () => new Date(),
          failPoint: undefined,
        },
        clock: systemClock,
        concurrency: 8,
        slots: 8,
        pauses: { firstRetry: 60_000, longestRetry: 600_000 },
        timeout: 60_000,
        grace: 5000,
        retention: 86_400_000,
        timing: { tick: 50, beat: 1000, heartbeat: 30_000 },
        random: Math.random,
        log: { entry: (level, message) => void log.push(`${level} ${message}`) },
        onRun: (row: RunRow, { report }) => void told.push({ server: name, address: row.address, report }),
        ...changes,
      });
      onTestFinished(() => server.stop('test is over'));
      return server;
    },
    async until(what) {
      await expect
        .poll(what, { interval: 20, timeout: 50_000 })
        .toBe(true)
        .catch(async (cause: unknown) => {
          const { counts, workspaces } = await control.status({});
          const rows = workspaces.map(({ address, status, last }) => ({ address, status, last }));
          throw new Error(JSON.stringify({ counts, rows, log, told: told.length }, null, 1), { cause });
        });
    },
    async status(address) {
      const { workspaces } = await control.status({ address });
      return workspaces[0]?.status ?? 'unknown';
    },
  };
}

function workspaceId(index: number): string {
  return `01JEMV1AT0RW0RKSPACE00${String(index + 10).padStart(4, '0')}`;
}
