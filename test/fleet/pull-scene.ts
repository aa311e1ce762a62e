import { expect, onTestFinished } from 'vitest';
import { type Emulator, type EmulatorOptions, startEmulator } from '../../src/emulator/start-emulator.ts';
import { type FleetControl, fleetControl } from '../../src/fleet/control.ts';
import { type FleetDatabase, fleetDatabaseAt } from '../../src/fleet/database/fleet-database.ts';
import { openPullHosts } from '../../src/fleet/pulls/pull-hosts.ts';
import type { ListedPull } from '../../src/fleet/rows/pull-rows.ts';
import { FleetServer } from '../../src/fleet/serve.ts';
import { Redactor } from '../../src/values/redactor.ts';
import { type Folder, temporaryFolder } from '../cli/voxform-process.ts';
import { agentManifest, projectFile } from '../cli/workspace.ts';
import { type CodeHostFake, TOKEN } from '../hosting/code-host-fake.ts';
import { type HostName, hosts } from '../hosting/drift-project.ts';
import { type Database, freshDatabase } from '../state/backends/postgres/databases.ts';
import { fleetFileIn, KEY, serverOptions } from './server-options.ts';
import { type FleetChild, fleetChild } from './test-fleet.ts';

export const ADDRESS = 'voices/clients/acme:test';
export const PAGE = 'https://voxform.example.com';
export const MANIFEST = 'clients/acme/manifests/agents.yaml';

interface SceneOptions {
  readonly rule?: string;
  /** Lines of `workspaces` to insert before the default rule. */
  readonly rules?: string;
  /** Additional settings in `pull_requests`. */
  readonly settings?: string;
  /** Additional lines of the source. */
  readonly source?: string;
  /** Additional lines of the fleet file. */
  readonly fleet?: string;
  /** The interval of the source, 1s by default. */
  readonly interval?: string;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
  /** Returns additional lines of the project file. */
  readonly project?: (emulator: Emulator) => string;
  readonly platform?: EmulatorOptions;
}

export interface PullScene {
  readonly host: CodeHostFake;
  readonly emulator: Emulator;
  readonly pg: Database;
  readonly database: FleetDatabase;
  readonly control: FleetControl;
  readonly folder: Folder;
  readonly log: readonly string[];
  serve(): Promise<FleetServer>;
  /** Starts a serving process. */
  child(): Promise<FleetChild>;
  pull(number: number): Promise<ListedPull | undefined>;
  /** Waits until the plans of the newest commit are reported. */
  planned(number: number): Promise<ListedPull>;
  prompts(): readonly string[];
  until(what: () => boolean | Promise<boolean>, why: string): Promise<void>;
  writes(): number;
}

export const agents = (prompt: string, name = 'day'): string => agentManifest(name, prompt);

/** Creates a project in a repository on a host, in sync with its platform, and a fleet that plans its pull requests. */
export async function pullScene(name: HostName, options: SceneOptions = {}): Promise<PullScene> {
  const {
    rule = 'mode: approve, approved_by: pull-request',
    rules = '',
    settings = '',
    source = '',
    interval = '1s',
    fleet = '',
    files = {},
    project,
  } = options;
  const emulator = await startEmulator({ seed: 1, apiKey: KEY, ...options.platform });
  const host = await hosts[name].start({
    'clients/acme/voxform.yaml': `${projectFile(emulator)}${project?.(emulator) ?? ''}`,
    [MANIFEST]: agents('One.'),
    ...files,
  });
  const pg = await freshDatabase();
  const { url } = pg;
  const folder = await temporaryFolder({
    'fleet.yaml': `version: 1
database: { $secret: FLEET_DATABASE_URL }
address: ${PAGE}
sources:
  voices:
    git: "${host.remote}"
    projects: ["clients/*"]
    interval: ${interval}
${source}    pull_requests: { host: ${name}, token: { $secret: HOST_TOKEN }${settings} }
workspaces:
${rules}
  "*": { ${rule}, interval: 1s }
${fleet}`,
  });
  const log: string[] = [];
  const database = fleetDatabaseAt(url);
  const control = fleetControl(database);
  const secrets = { HOST_TOKEN: TOKEN, ...options.secrets };
  onTestFinished(async () => {
    await database.close();
    await host[Symbol.asyncDispose]();
    await emulator.close();
    await folder[Symbol.asyncDispose]();
  });
  let count = 0;
  const pull = async (number: number) => (await control.pulls({})).find((each) => each.number === number);
  const until: PullScene['until'] = async (what, why) => {
    await expect
      .poll(what, { interval: 50 })
      .toBe(true)
      .catch(async (cause: unknown) => {
        const shown = { pulls: await control.pulls({}), log, calls: host.calls.slice(-10) };
        throw new Error(`${why}: ${JSON.stringify(shown, null, 1)}`, { cause });
      });
  };
  const scene: PullScene = {
    host,
    emulator,
    pg,
    database,
    control,
    folder,
    log,
    pull,
    until,
    prompts: () => [...emulator.world.agents.values()].map((each) => JSON.stringify(each)),
    writes: () => emulator.requests.filter(({ method }) => method !== 'GET').length,
    child: () => fleetChild({ folder: folder.root, url, secrets }),
    async serve() {
      const home = String(++count);
      const env = { FLEET_DATABASE_URL: url, ...secrets };
      const serving = serverOptions(folder.root, { url, home, secrets });
      const stop = new AbortController();
      const entry = (level: string, message: string) => void log.push(`${level} ${message}`);
      const hosts = openPullHosts({
        fleet: fleetFileIn(folder.root, env),
        env: {},
        redactor: new Redactor(),
        log: { entry },
        signal: stop.signal,
      });
      const server = await FleetServer.begin({
        ...serving,
        log: { entry },
        pullHosts: hosts.hosts,
        address: PAGE,
        pauses: { firstRetry: 200, maxRetry: 1000 },
      });
      onTestFinished(async () => {
        await server.stop('test is over');
        stop.abort();
        await hosts[Symbol.asyncDispose]();
      });
      return server;
    },
    async planned(number) {
      await until(async () => {
        const found = await pull(number);
        return found?.status === 'planned' && found.head === host.headOf(host.request(number));
      }, `request ${number} is planned`);
      return (await pull(number)) as ListedPull;
    },
  };
  return scene;
}

/** Brings the workspace in sync by approving its first plan. */
export async function inSync({ control, until }: PullScene, address = ADDRESS): Promise<void> {
  const statusOf = async () => (await control.status({ address })).workspaces[0];
  await until(async () => (await statusOf().catch(() => undefined))?.status === 'waiting', 'the first plan waits');
  const plan = (await control.plan(address)) as unknown as { readonly resources: unknown };
  expect(plan).toBeDefined();
  const { digest } = await waitingPlan(control, address);
  await control.approve(address, digest, 'carol');
  await until(async () => (await statusOf())?.status === 'in-sync', 'it is in sync');
}

async function waitingPlan(control: FleetControl, address: string): Promise<{ readonly digest: string }> {
  const { approvalDigest } = await import('../../src/engine/plan/plan-digest.ts');
  const { planDocument } = await import('../../src/engine/plan/plan-schema.ts');
  return { digest: approvalDigest(planDocument.parse(await control.plan(address))) };
}
