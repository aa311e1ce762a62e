import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startPostgres } from '../test/state/backends/postgres/postgres-server.ts';
import { say, write } from './demo-text.ts';
import { FleetGround } from './torture/fleet-ground.ts';
import { agent, documents, number, webhook } from './torture/manifests.ts';
import { killProcesses, type RunningProcess } from './torture/processes.ts';

/*
 * Serves a fleet of 30 workspaces, each with a platform of its own, and kills a process half-way: one of two over a PostgreSQL, and
 * the only one over the embedded database. The exit code is 1 where a workspace does not end as declared, or a record is there twice.
 *   npm run demo:fleet -- [--workspaces N] [--runs N] [--impatient] [--main FILE]
 * An impatient one sets the clock forward where processes wait until a dead one was silent for long enough.
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
const DEADLINE = 180_000;
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
  say(`${COUNT} workspaces, two processes over one PostgreSQL. Nothing is on the platforms yet.`);
  const [first, second] = [serve(shared), serve(shared)];
  await killHalfWay(shared, { processes: [first, second], victim: first });
  await using alone = await openGround();
  say(
    'The other process takes over what that one had begun, once it was silent for 30 seconds. Meanwhile the same with the embedded database: one process, killed and started again.',
  );
  const only = serve(alone);
  await killHalfWay(alone, { processes: [only], victim: only });
  const again = serve(alone);
  await again.waitForOutput('serving the fleet');
  for (const [ground, title] of [
    [shared, 'PostgreSQL, with the process that is left'],
    [alone, 'The embedded database, with the process that was started again'],
  ] as const) {
    await inSync(ground);
    say(`${title}:`);
    await showStatus(ground);
    isAsDeclared(ground);
  }
  for (const { child, ended } of [second, again]) {
    child.kill('SIGTERM');
    await ended;
  }
  say(`All ${2 * COUNT} workspaces are as declared, and no record is there twice.`);
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

interface Killing {
  readonly processes: readonly RunningProcess[];
  readonly victim: RunningProcess;
}

/**
 * Kills it when half of the workspaces are there and it has begun as many others as it may. None of its requests creates anything
 * at that moment: what became of one that does, voxform would ask a person.
 */
async function killHalfWay(ground: FleetGround, { processes, victim }: Killing): Promise<void> {
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
  const most = RUNS * processes.length;
  await until(() => doneIn(ground) === half && waiting.size === most, 'half of the workspaces to be there');
  write(`${half} workspaces are as declared, runs of ${most} others are under way.\n`);
  write(`\n$ kill -KILL ${victim.child.pid}\n`);
  victim.child.kill('SIGKILL');
  await victim.ended;
  if (values.impatient) await ground.passTime();
  ground.hook = async () => undefined;
  gate.resolve();
}

async function inSync(ground: FleetGround): Promise<void> {
  await until(() => doneIn(ground) === COUNT, 'every workspace to be as declared');
  const began = Date.now();
  for (;;) {
    const { counts } = await ground.status();
    if (counts['in-sync'] === COUNT) return;
    if (Date.now() - began > DEADLINE) throw new Error(`after ${DEADLINE / 1000} s: ${JSON.stringify(counts)}`);
    await pause(1000);
  }
}

async function showStatus(ground: FleetGround): Promise<void> {
  write('\n$ voxform fleet status --detailed-exitcode\n');
  const { code, stdout } = await ground.run('fleet', 'status', '--detailed-exitcode');
  write(stdout);
  if (code !== 0) throw new Error('not every workspace is in sync');
}

function isAsDeclared(ground: FleetGround): void {
  const counts = { agents: 0, webhooks: 0, numbers: 0 };
  for (const [project, { world }] of ground.platforms) {
    if (!isDone(ground, project)) throw new Error(`${project} is not as declared`);
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

async function until(holds: () => boolean, what: string): Promise<void> {
  const began = Date.now();
  while (!holds()) {
    if (Date.now() - began > DEADLINE) throw new Error(`waited ${DEADLINE / 1000} s for ${what}`);
    await pause(50);
  }
}
