import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startPostgres } from '../test/state/backends/postgres/postgres-server.ts';
import { say, write } from './demo-text.ts';
import { FleetGround } from './torture/fleet-ground.ts';
import { agent, documents, number, webhook } from './torture/manifests.ts';
import { killProcesses, type RunningProcess } from './torture/processes.ts';

/*
 * Serves a fleet of 30 workspaces, each with its own platform, and kills a process halfway: one of two with PostgreSQL, then the only one
 * with the embedded database. The exit code is 1 if a workspace does not match its manifests in the end, or a record exists twice.
 *   npm run demo:fleet -- [--workspaces N] [--runs N] [--impatient] [--main FILE]
 * With --impatient, moves the times in the database back instead of waiting until the killed process counts as dead.
 */

const { values } = parseArgs({
  options: {
    workspaces: { type: 'string', default: '30' },
    runs: { type: 'string', default: '3' },
    impatient: { type: 'boolean', default: false },
    main: { type: 'string', default: path.resolve(import.meta.dirname, '..', 'src', 'main.ts') },
  },
});
const COUNT = Number(values.workspaces);
const RUNS = Number(values.runs);
const DEADLINE_MS = 180_000;
const projects = Array.from({ length: COUNT }, (_, index) => `client-${String(index + 1).padStart(2, '0')}`);
const PER_WORKSPACE = { agents: 2, webhooks: 1, numbers: 1 };

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  process.once(signal, () => {
    killProcesses();
    process.exit(code);
  });
}

try {
  await using postgres = await startPostgres();
  await using shared = await openGround(postgres.url('postgres'));
  say(`${COUNT} workspaces, two processes with one PostgreSQL database. The platforms are empty.`);
  const [first, second] = [serve(shared), serve(shared)];
  await killHalfway(shared, { processes: [first, second], victim: first });
  await using alone = await openGround();
  say(
    'The other process takes over 30 seconds after the last heartbeat. Meanwhile, the same with the embedded database: one process, which is killed and restarted.',
  );
  const only = serve(alone);
  await killHalfway(alone, { processes: [only], victim: only });
  const again = serve(alone);
  await again.waitForOutput('serving the fleet');
  for (const [ground, title] of [
    [shared, 'PostgreSQL, with the remaining process'],
    [alone, 'The embedded database, with the restarted process'],
  ] as const) {
    await inSync(ground);
    say(`${title}:`);
    await showStatus(ground);
    checkRecords(ground);
  }
  for (const { child, ended } of [second, again]) {
    child.kill('SIGTERM');
    await ended;
  }
  say(`All ${2 * COUNT} workspaces match their manifests, and no record exists twice.`);
} catch (error) {
  process.stderr.write(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  killProcesses();
}

function openGround(url?: string): Promise<FleetGround> {
  return FleetGround.open({
    main: values.main,
    projects,
    seed: 'demo',
    caches: process.env.NODE_COMPILE_CACHE,
    url,
    fleet: `workspaces: { "*": { mode: apply, interval: 30s } }\nlimits: { runs: ${RUNS} }\n`,
    manifests: (project) =>
      documents(agent(`${project}-reception`), agent(`${project}-support`), webhook(project), number(project, 1)),
  });
}

function serve(ground: FleetGround): RunningProcess {
  write('$ voxform fleet serve &\n');
  return ground.serve();
}

interface KillOptions {
  readonly processes: readonly RunningProcess[];
  readonly victim: RunningProcess;
}

/**
 * Kills a process when half of the workspaces are applied and the maximum number of others is in progress. No create is in flight then,
 * because a person would have to resolve an unknown create.
 */
async function killHalfway(ground: FleetGround, { processes, victim }: KillOptions): Promise<void> {
  const gate = Promise.withResolvers<void>();
  const half = Math.floor(COUNT / 2);
  const admitted = new Set<string>();
  const waiting = new Set<string>();
  ground.hook = async (project) => {
    if (admitted.size < half) admitted.add(project);
    if (admitted.has(project)) return undefined;
    waiting.add(project);
    await gate.promise;
    return undefined;
  };
  const maxRuns = RUNS * processes.length;
  await until(() => doneIn(ground) === half && waiting.size === maxRuns, 'half of the workspaces to be applied');
  write(`${half} workspaces match their manifests, runs of ${maxRuns} others are in progress.\n`);
  write(`\n$ kill -KILL ${victim.child.pid}\n`);
  victim.child.kill('SIGKILL');
  await victim.ended;
  if (values.impatient) await ground.passTime();
  ground.hook = async () => undefined;
  gate.resolve();
}

async function inSync(ground: FleetGround): Promise<void> {
  await until(() => doneIn(ground) === COUNT, 'every workspace to match its manifests');
  const startedAt = Date.now();
  for (;;) {
    const { counts } = await ground.status();
    if (counts['in-sync'] === COUNT) return;
    if (Date.now() - startedAt > DEADLINE_MS)
      throw new Error(`after ${DEADLINE_MS / 1000} s: ${JSON.stringify(counts)}`);
    await pause(1000);
  }
}

async function showStatus(ground: FleetGround): Promise<void> {
  write('\n$ voxform fleet status --detailed-exitcode\n');
  const { code, stdout } = await ground.run('fleet', 'status', '--detailed-exitcode');
  write(stdout);
  if (code !== 0) throw new Error('not every workspace is in sync');
}

function checkRecords(ground: FleetGround): void {
  const counts = { agents: 0, webhooks: 0, numbers: 0 };
  for (const [project, { world }] of ground.platforms) {
    if (!isDone(ground, project)) throw new Error(`${project} does not match its manifests`);
    for (const name of ['agents', 'webhooks', 'numbers'] as const) counts[name] += world[name].size;
  }
  const { agents, webhooks, numbers } = counts;
  write(`On the ${COUNT} platforms: ${agents} agents, ${webhooks} webhooks and ${numbers} numbers.\n`);
}

function doneIn(ground: FleetGround): number {
  return projects.filter((project) => isDone(ground, project)).length;
}

function isDone({ platforms }: FleetGround, project: string): boolean {
  const world = platforms.get(project)?.world;
  return Object.entries(PER_WORKSPACE).every(
    ([name, count]) => world?.[name as keyof typeof PER_WORKSPACE].size === count,
  );
}

async function until(condition: () => boolean, description: string): Promise<void> {
  const startedAt = Date.now();
  while (!condition()) {
    if (Date.now() - startedAt > DEADLINE_MS) throw new Error(`waited ${DEADLINE_MS / 1000} s for ${description}`);
    await pause(50);
  }
}
