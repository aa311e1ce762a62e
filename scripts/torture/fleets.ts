import { renameSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Fault, ReceivedRequest } from '../../src/emulator/faults.ts';
import type { Fate } from '../../test/state/backends/tcp-proxy.ts';
import type { Case } from './cases.ts';
import { FleetGround, type Machine } from './fleet-ground.ts';
import { convergesAsDeclared, decideOnPlans, editionsIn, type Fleet, killOne, startAll } from './fleet-promises.ts';
import type { Bench } from './lab.ts';
import { agent, documents, number, webhook } from './manifests.ts';
import type { RunningProcess } from './processes.ts';
import type { Random } from './random.ts';
import { type OwnDatabase, ownDatabase } from './shared-locations.ts';

/** The faults of a trial. */
interface Faults {
  readonly kills?: boolean;
  /** Stop processes until others have taken over. */
  readonly freezes?: boolean;
  /** Break connections to the database. */
  readonly cuts?: boolean;
  /** Make the database unreachable for a while. */
  readonly outages?: boolean;
  /** Stop or crash PostgreSQL, and start it again. */
  readonly restarts?: boolean;
  /** Stop processes with an open transaction. */
  readonly transactions?: boolean;
  /** Lose requests or responses of platforms. */
  readonly losses?: boolean;
  /** Take platforms down. */
  readonly down?: boolean;
  /** Change, break, and temporarily remove projects. */
  readonly sources?: boolean;
}

interface Trial extends Faults {
  readonly name: string;
  readonly short?: boolean;
  /** True for the embedded database, which only one process can use. */
  readonly isEmbedded?: boolean;
  /** True if a person must approve plans. */
  readonly approves?: boolean;
  /** The number of rounds of faults. Default: random. */
  readonly steps?: number;
}

const ALL: Faults = {
  kills: true,
  freezes: true,
  cuts: true,
  outages: true,
  losses: true,
  down: true,
  sources: true,
};

const trials: readonly Trial[] = [
  { name: 'processes are killed', kills: true },
  { name: 'a process freezes, is taken over, and continues', freezes: true },
  { name: 'connections to the database break, and it is unreachable for a while', cuts: true, outages: true },
  { name: 'responses of platforms are lost, and some platforms are down', losses: true, down: true },
  { name: 'projects change, break and disappear while processes are killed', kills: true, sources: true },
  { name: 'PostgreSQL is stopped and crashes while processes are killed', restarts: true, kills: true },
  { name: 'a process freezes with a transaction open', transactions: true },
  {
    name: 'plans are approved while processes are killed and responses are lost',
    approves: true,
    kills: true,
    losses: true,
    sources: true,
  },
  { name: 'all faults at once', ...ALL, restarts: true, transactions: true },
  { name: 'all faults at once, briefly', ...ALL, short: true, steps: 1 },
  { name: 'the process of an embedded database is killed', isEmbedded: true, kills: true, losses: true },
];

export const fleetCases: readonly Case[] = trials.map((trial) => ({
  group: 'fleets',
  name: trial.name,
  backend: 'fleet',
  short: trial.short ?? false,
  run: (bench, random) => serveUnderFaults(trial, bench, random),
}));

const MAX_SKEW_SECONDS = 55;
const FORBIDDEN = 'A forbidden prompt.';
const POLICIES = `policies: [{ name: forbidden, kind: Agent, deny: 'spec.prompt_config.prompt == "${FORBIDDEN}"' }]\n`;
const DOWN: Fault = { status: 503, headers: { 'content-type': 'text/html' }, body: '<h1>down</h1>' };

async function serveUnderFaults(trial: Trial, bench: Bench, random: Random): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const database = trial.isEmbedded ? undefined : stack.use(await ownDatabase({ isAlone: trial.restarts ?? false }));
  const projects = Array.from({ length: trial.short ? 3 : random.int(6, 14) }, (_, index) => `p${index}`);
  const editions = new Map(projects.map((project) => [project, 1]));
  const ground = stack.use(
    await FleetGround.ofBench(bench.built, {
      projects,
      seed: random.seed,
      manifests: (project) => manifestsOf(project, 1),
      url: database?.url,
      direct: database?.direct,
      fleet: `workspaces: { "*": { mode: ${trial.approves ? 'approve' : 'apply'}, interval: ${random.int(1, 3)}s } }\nlimits: { runs: ${random.int(2, 6)} }\n${POLICIES}`,
    }),
  );
  const count = trial.isEmbedded ? 1 : random.int(2, trial.short ? 2 : 4);
  const machines = Array.from(
    { length: count },
    (_, index): Machine => ({ host: `machine-${index + 1}`, ahead: random.int(-MAX_SKEW_SECONDS, MAX_SKEW_SECONDS) }),
  );
  const approved = new Map(projects.map((project) => [project, new Set<number>()]));
  const fleet: Fleet = {
    ground,
    database,
    editions,
    machines,
    running: new Map(),
    figures: bench.figures,
    approved: trial.approves ? approved : undefined,
  };
  startAll(fleet);
  for (let step = trial.steps ?? random.int(3, 6); step > 0; step--) await injectFaults(trial, fleet, random);
  ground.hook = async (project, request) => noteForbidden(fleet, project, request);
  // A rejected plan is no longer pending, so change the project to get a new plan.
  if (trial.approves) for (const project of projects) change(fleet, project);
  if (database !== undefined) {
    database.proxy.latency = 0;
    database.proxy.fate = () => undefined;
    database.proxy.letGo();
    await ground.passTime();
  }
  await convergesAsDeclared(fleet);
}

export function manifestsOf(project: string, edition: number): string {
  return documents(
    ...['a', 'b', 'c'].map((name) => agent(`${project}-${name}`, `Edition ${edition}.`)),
    webhook(project),
    number(project, 1),
  );
}

/** Injects the faults of the trial for some seconds. */
async function injectFaults(trial: Trial, fleet: Fleet, random: Random): Promise<void> {
  const { ground, database, editions } = fleet;
  const isDown = new Set([...editions.keys()].filter(() => trial.down && random.chance(0.2)));
  let writesUntilKill = random.int(1, 12);
  ground.hook = async (project, request) => {
    const { method } = request;
    noteForbidden(fleet, project, request);
    if (isDown.has(project)) return random.chance(0.5) ? DOWN : { cut: 'before' };
    if (method === 'GET') return undefined;
    writesUntilKill -= 1;
    if (trial.kills && writesUntilKill === 0) await killOne(fleet, random);
    if (!trial.losses || !random.chance(0.1)) return undefined;
    return { cut: random.pick(['before', 'after'] as const) };
  };
  let chunksUntilKill = random.int(1, 300);
  if (database !== undefined) {
    database.proxy.fate = () => {
      chunksUntilKill -= 1;
      if (trial.kills && chunksUntilKill === 0) void killOne(fleet, random);
      return trial.cuts && random.chance(0.01) ? random.pick<Fate>(['lost', 'passed']) : undefined;
    };
  }
  for (const project of editions.keys()) if (trial.sources && random.chance(0.3)) change(fleet, project);
  const restore = trial.sources ? breakOne(fleet, random) : undefined;
  await delay(random.int(500, 2_500));
  if (trial.approves) await decideOnPlans(fleet, random).catch(() => undefined);
  if (trial.restarts && database !== undefined) await restart(database, fleet, random);
  if (trial.outages && database !== undefined && random.chance(0.6)) {
    const fate = random.pick<Fate>(['lost', 'held']);
    database.proxy.fate = () => fate;
    await delay(random.int(500, 4_000));
    database.proxy.fate = () => undefined;
    database.proxy.letGo();
  }
  if (trial.transactions && random.chance(0.5)) await freezeInTransaction(fleet, random);
  else if (trial.freezes) await freezeOne(fleet, random);
  else if (!trial.isEmbedded && random.chance(0.5)) await ground.passTime();
  restore?.();
  startAll(fleet);
}

/** Stops a process until others consider it dead and have had time to take over. */
async function freezeOne({ ground, running, figures }: Fleet, random: Random): Promise<void> {
  const [first, ...others] = running.values();
  if (first === undefined) return;
  const victim: RunningProcess = random.pick([first, ...others]);
  victim.child.kill('SIGSTOP');
  await ground.passTime();
  await delay(random.int(1_000, 5_000));
  victim.child.kill('SIGCONT');
  figures.count('kills of processes of a fleet', 'SIGSTOP and SIGCONT');
}

/** Stops PostgreSQL, possibly for longer than its clients wait, and starts it again. */
async function restart({ server }: OwnDatabase, { figures }: Fleet, random: Random): Promise<void> {
  const signal = random.pick(['INT', 'QUIT'] as const);
  await server.stop(signal);
  await delay(random.int(0, 5_000));
  await server.start();
  figures.count('stops of PostgreSQL', `SIG${signal}`);
}

const OPEN = `SELECT count(*)::integer AS open FROM pg_stat_activity WHERE datname = current_database()
AND state LIKE 'idle in transaction%' AND state_change < now() - interval '300 ms'`;
const MAX_TRIES = 50;

/** Stops a process until the server has ended its transaction and others have taken over. */
async function freezeInTransaction(fleet: Fleet, random: Random): Promise<void> {
  const { ground, running, figures, database } = fleet;
  if (database === undefined) return;
  // The latency of each statement makes transactions longer.
  database.proxy.latency = 20;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const [first, ...others] = running.values();
    if (first === undefined) return;
    const victim = random.pick([first, ...others]);
    victim.child.kill('SIGSTOP');
    await delay(400);
    const [row] = await ground.inDatabase(({ query }) => query(OPEN));
    if (Number(row?.open) > 0) {
      figures.count('kills of processes of a fleet', 'SIGSTOP in a transaction, and SIGCONT');
      await ground.passTime();
      await delay(random.int(1_000, 5_000));
      victim.child.kill('SIGCONT');
      return;
    }
    victim.child.kill('SIGCONT');
    await delay(random.int(1, 100));
  }
}

function change({ ground, editions }: Fleet, project: string): void {
  const edition = (editions.get(project) ?? 0) + 1;
  editions.set(project, edition);
  ground.write(`${project}/manifests/all.yaml`, manifestsOf(project, edition));
}

/** Records a failure if a write is denied by the policies of the fleet, or was not approved although plans need approval. */
function noteForbidden(
  { approved, figures }: Fleet,
  project: string,
  { method, path: url, body }: ReceivedRequest,
): undefined {
  if (method === 'GET') return;
  const sent = JSON.stringify(body);
  if (sent.includes(FORBIDDEN))
    figures.addFailure('fleets: policies hold', `${method} ${url} of ${project} writes a prompt that a policy denies`);
  const editions = approved?.get(project);
  if (editions === undefined) return;
  const written = editionsIn(sent);
  if (editions.size > 0 && written.every((edition) => editions.has(edition))) return;
  figures.addFailure(
    'fleets: plans are approved',
    `${method} ${url} of ${project} writes an edition that was not approved`,
  );
}

/** Makes a project invalid, denied by a policy, or missing. Returns a function that restores it. */
function breakOne({ ground, editions }: Fleet, random: Random): () => void {
  const project = random.pick([...editions.keys()]);
  const edition = editions.get(project) ?? 1;
  if (random.chance(0.7)) {
    const denied = manifestsOf(project, edition).replace(`Edition ${edition}.`, FORBIDDEN);
    ground.write(`${project}/manifests/all.yaml`, random.pick(['kind: [', denied]));
    return () => ground.write(`${project}/manifests/all.yaml`, manifestsOf(project, edition));
  }
  const [here, away] = [path.join(ground.folder, project), path.join(ground.folder, `.${project}`)];
  renameSync(here, away);
  return () => renameSync(away, here);
}
