import { renameSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Fault, ReceivedRequest } from '../../src/emulator/faults.ts';
import type { Fate } from '../../test/state/backends/tcp-proxy.ts';
import type { Case } from './cases.ts';
import { FleetGround, type Machine } from './fleet-ground.ts';
import { allAsDeclared, decideOnPlans, editionsIn, type Fleet, killOne, startAll } from './fleet-promises.ts';
import type { Bench } from './lab.ts';
import { agent, documents, number, webhook } from './manifests.ts';
import type { Running } from './processes.ts';
import type { Random } from './random.ts';
import { type OwnDatabase, ownDatabase } from './shared-places.ts';

/** Troubles of one trial, any number of them at once. */
interface Troubles {
  readonly kills?: boolean;
  /** Processes that stand still until others have taken over. */
  readonly freezes?: boolean;
  /** Of connections to the database. */
  readonly cuts?: boolean;
  /** The database is away for a while. */
  readonly outages?: boolean;
  /** PostgreSQL is stopped, or crashes, and is started again. */
  readonly restarts?: boolean;
  /** Processes that stand still with a transaction open. */
  readonly transactions?: boolean;
  /** Of answers of platforms. */
  readonly swallows?: boolean;
  /** Platforms that are down. */
  readonly down?: boolean;
  /** Projects that change, break, and vanish for a while. */
  readonly sources?: boolean;
}

interface Trial extends Troubles {
  readonly name: string;
  readonly short?: boolean;
  /** The embedded database, which one process has. */
  readonly isEmbedded?: boolean;
  /** Plans need the approval of a person. */
  readonly approves?: boolean;
  /** Troubles one after the other. */
  readonly steps?: number;
}

const ALL: Troubles = {
  kills: true,
  freezes: true,
  cuts: true,
  outages: true,
  swallows: true,
  down: true,
  sources: true,
};

const trials: readonly Trial[] = [
  { name: 'processes are killed', kills: true },
  { name: 'a process freezes, is taken over, and goes on', freezes: true },
  { name: 'connections to the database break, and it is away for a while', cuts: true, outages: true },
  { name: 'answers of platforms are lost, and some are down', swallows: true, down: true },
  { name: 'projects change, break and vanish while processes are killed', kills: true, sources: true },
  { name: 'PostgreSQL is stopped and crashes while processes are killed', restarts: true, kills: true },
  { name: 'a process freezes with a transaction open', transactions: true },
  {
    name: 'plans are approved while processes are killed and answers lost',
    approves: true,
    kills: true,
    swallows: true,
    sources: true,
  },
  { name: 'everything at once', ...ALL, restarts: true, transactions: true },
  { name: 'everything at once, for a moment', ...ALL, short: true, steps: 1 },
  { name: 'the process of an embedded database is killed', isEmbedded: true, kills: true, swallows: true },
];

export const fleetCases: readonly Case[] = trials.map((trial) => ({
  group: 'fleets',
  name: trial.name,
  backend: 'fleet',
  short: trial.short ?? false,
  run: (bench, random) => serveUnder(trial, bench, random),
}));

const SKEW = 55;
const FORBIDDEN = 'What no workspace may say.';
const POLICIES = `policies: [{ name: said, kind: Agent, deny: 'spec.prompt_config.prompt == "${FORBIDDEN}"' }]\n`;
const DOWN: Fault = { status: 503, headers: { 'content-type': 'text/html' }, body: '<h1>down</h1>' };

async function serveUnder(trial: Trial, bench: Bench, random: Random): Promise<void> {
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
    (_, index): Machine => ({ host: `machine-${index + 1}`, ahead: random.int(-SKEW, SKEW) }),
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
  for (let step = trial.steps ?? random.int(3, 6); step > 0; step--) await trouble(trial, fleet, random);
  ground.hook = async (project, request) => noteForbidden(fleet, project, request);
  // A plan that was rejected waits no more.
  if (trial.approves) for (const project of projects) change(fleet, project);
  if (database !== undefined) {
    database.proxy.latency = 0;
    database.proxy.fate = () => undefined;
    database.proxy.letGo();
    await ground.passTime();
  }
  await allAsDeclared(fleet);
}

export function manifestsOf(project: string, edition: number): string {
  return documents(
    ...['a', 'b', 'c'].map((name) => agent(`${project}-${name}`, `Edition ${edition}.`)),
    webhook(project),
    number(project, 1),
  );
}

/** Some seconds with whatever the trial has of troubles. */
async function trouble(trial: Trial, fleet: Fleet, random: Random): Promise<void> {
  const { ground, database, editions } = fleet;
  const isDown = new Set([...editions.keys()].filter(() => trial.down && random.chance(0.2)));
  let posts = random.int(1, 12);
  ground.hook = async (project, request) => {
    const { method } = request;
    noteForbidden(fleet, project, request);
    if (isDown.has(project)) return random.chance(0.5) ? DOWN : { cut: 'before' };
    if (method === 'GET') return undefined;
    posts -= 1;
    if (trial.kills && posts === 0) await killOne(fleet, random);
    if (!trial.swallows || !random.chance(0.1)) return undefined;
    return { cut: random.pick(['before', 'after'] as const) };
  };
  let pieces = random.int(1, 300);
  if (database !== undefined) {
    database.proxy.fate = () => {
      pieces -= 1;
      if (trial.kills && pieces === 0) void killOne(fleet, random);
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

/** Until others believe it dead and had the time to take over. */
async function freezeOne({ ground, running, figures }: Fleet, random: Random): Promise<void> {
  const [first, ...others] = running.values();
  if (first === undefined) return;
  const victim: Running = random.pick([first, ...others]);
  victim.child.kill('SIGSTOP');
  await ground.passTime();
  await delay(random.int(1_000, 5_000));
  victim.child.kill('SIGCONT');
  figures.count('kills of processes of a fleet', 'SIGSTOP and SIGCONT');
}

/** A process of its own, which may be gone for longer than its clients wait. */
async function restart({ server }: OwnDatabase, { figures }: Fleet, random: Random): Promise<void> {
  const signal = random.pick(['INT', 'QUIT'] as const);
  await server.stop(signal);
  await delay(random.int(0, 5_000));
  await server.start();
  figures.count('stops of PostgreSQL', `SIG${signal}`);
}

const OPEN = `SELECT count(*)::integer AS open FROM pg_stat_activity WHERE datname = current_database()
AND state LIKE 'idle in transaction%' AND state_change < now() - interval '300 ms'`;
const MOST_TRIES = 50;

/** Until the server has ended its transaction and others have taken over. */
async function freezeInTransaction(fleet: Fleet, random: Random): Promise<void> {
  const { ground, running, figures, database } = fleet;
  if (database === undefined) return;
  // What a transaction has of statements takes as many times as long.
  database.proxy.latency = 20;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
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

/** Nothing is written but what the rules of the fleet allow and, where plans need it, a person approved. */
function noteForbidden(
  { approved, figures }: Fleet,
  project: string,
  { method, path: place, body }: ReceivedRequest,
): undefined {
  if (method === 'GET') return;
  const sent = JSON.stringify(body);
  if (sent.includes(FORBIDDEN))
    figures.failed('fleets: policies hold', `${method} ${place} of ${project} writes what a rule denies`);
  const editions = approved?.get(project);
  if (editions === undefined) return;
  const written = editionsIn(sent);
  if (editions.size > 0 && written.every((edition) => editions.has(edition))) return;
  figures.failed('fleets: plans are approved', `${method} ${place} of ${project} writes what nobody approved`);
}

/** A project whose manifests are wrong or denied by the rules of the fleet, or that is away; undone by what is returned. */
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
