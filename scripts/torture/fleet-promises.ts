import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { fleetStateLocation } from '../../src/fleet/fleet-state.ts';
import { readState } from '../../src/state/session.ts';
import { createStore } from '../../src/state/state-location.ts';
import { Secret } from '../../src/values/value.ts';
import { census } from './census.ts';
import type { Figures } from './figures.ts';
import type { FleetGround, Machine, ToldFleet } from './fleet-ground.ts';
import { CAMPAIGN } from './lab.ts';
import { settleUnknowns } from './person.ts';
import type { Running } from './processes.ts';
import { Random } from './random.ts';
import { secretsIn } from './secrets.ts';
import type { OwnDatabase } from './shared-places.ts';

/** A fleet under attack. */
export interface Fleet {
  readonly ground: FleetGround;
  /** Undefined where it is the embedded one. */
  readonly database: OwnDatabase | undefined;
  /** Of the manifests of each project. */
  readonly editions: Map<string, number>;
  readonly machines: readonly Machine[];
  /** Processes by the names of their machines. */
  readonly running: Map<string, Running>;
  readonly figures: Figures;
  /** Where plans need approval: by project, the editions whose plans a person approved. */
  readonly approved?: Map<string, Set<number>> | undefined;
}

/** Shows each plan that waits to a person, who approves it or not. */
export async function decideOnPlans({ ground, approved, figures }: Fleet, random?: Random): Promise<void> {
  if (approved === undefined) return;
  const { workspaces } = await ground.status();
  for (const { address, plan } of workspaces) {
    if (plan?.state !== 'waiting') continue;
    const shown = await ground.run('fleet', 'show', address);
    // Another plan may wait by now, or none.
    if (!shown.stdout.includes(plan.id)) continue;
    const isRejected = random?.chance(0.2) ?? false;
    const [, project = ''] = /^\w+\/(\w+):/.exec(address) ?? [];
    if (!isRejected) for (const edition of editionsIn(shown.stdout)) approved.get(project)?.add(edition);
    const { code } = await ground.run('fleet', isRejected ? 'reject' : 'approve', address, plan.id);
    if (code === 0) figures.count('decisions on plans', isRejected ? 'rejected' : 'approved');
  }
}

export function editionsIn(text: string): number[] {
  return [...text.matchAll(/Edition (\d+)\./g)].map(([, edition]) => Number(edition));
}

/** One process on each machine that has none. */
export function startAll({ ground, machines, running }: Fleet): void {
  for (const machine of machines) {
    if (running.has(machine.host)) continue;
    const started = ground.serve(machine);
    running.set(machine.host, started);
    const gone = (): void => {
      if (running.get(machine.host) === started) running.delete(machine.host);
    };
    started.ended.then(gone, gone);
  }
}

export async function killOne({ running, figures }: Fleet, random: Random): Promise<void> {
  const [first, ...others] = running.values();
  if (first === undefined) return;
  const victim = random.pick([first, ...others]);
  victim.child.kill('SIGKILL');
  await victim.ended;
  figures.count('kills of processes of a fleet', 'SIGKILL');
}

export async function stopAll({ running }: Fleet): Promise<void> {
  await Promise.all(
    [...running.values()].map(async ({ child, ended }) => {
      child.kill('SIGTERM');
      const { code, stderr } = await ended;
      // The signal ends a process that was started just now before it takes signals.
      if (code === null && stderr === '') return;
      assert.equal(code, 0, `a process ended with ${code}: ${stderr.slice(-1_000)}`);
    }),
  );
}

/** Milliseconds. */
const LONGEST_WAIT = 75_000;
const SOURCE = 'voices';
const WORKSPACE = 'test';

/** Nothing happens any more: every workspace is run, a person answers what is unknown, and all is there once and known. */
export async function allAsDeclared(fleet: Fleet): Promise<void> {
  const { ground, database, figures } = fleet;
  startAll(fleet);
  await allChecked(fleet);
  await stopAll(fleet);
  const open = (await statesOf(fleet)).filter(({ state }) => state.pending.size > 0);
  for (const { project } of open) await answerFor(fleet, project);
  startAll(fleet);
  const { workspaces } = await allChecked(fleet);
  await stopAll(fleet);
  for (const { project, state } of await statesOf(fleet)) {
    const { world } = ground.platforms.get(project) ?? assert.fail(project);
    const { lost, duplicates } = census(world, state);
    for (const id of lost) figures.wrong('lost ids', `${id} of ${project}`);
    for (const address of duplicates) figures.wrong('silent duplicates', `${address} of ${project}`);
    assert.deepEqual([lost, duplicates], [[], []], project);
    if (state.pending.size > 0) continue;
    const shown = workspaces.find(({ address }) => address === addressOf(project));
    // On a busy machine, intervals of a second are soon over.
    assert.match(String(shown?.status), /^(in-sync|stale)$/, JSON.stringify(shown));
    const edition = `Edition ${fleet.editions.get(project)}.`;
    const prompts = [...world.agents.values()].map((each) => each.prompt_config?.prompt);
    assert.deepEqual(prompts, [edition, edition, edition], project);
    assert.deepEqual([world.webhooks.size, world.numbers.size], [1, 1], project);
    figures.add('records created', 5);
  }
  const texts = [ground.said, (await database?.contents()) ?? '', ...ground.texts()];
  for (const secret of new Set(texts.flatMap(secretsIn))) figures.wrong('secrets seen', `${secret} of a fleet`);
  assert.doesNotMatch(ground.said, /\n\s+at .*:\d+:\d+/, 'a stack trace');
}

/** Waits for a run of every workspace that begins after now; a person asks once more for those that have failed. */
async function allChecked(fleet: Fleet): Promise<ToldFleet> {
  const { ground, editions, running } = fleet;
  await Promise.all([...running.values()].map(({ said }) => said('serving the fleet')));
  const { at: since } = await ground.status();
  const until = performance.now() + LONGEST_WAIT;
  const asked = new Set<string>();
  for (;;) {
    await decideOnPlans(fleet);
    const status = await ground.status();
    const { workspaces } = status;
    const open = workspaces.filter(
      (each) => each.failures > 0 || each.asked !== null || each.plan !== null || (each.checked_at ?? '') <= since,
    );
    if (open.length === 0 && workspaces.length === editions.size) return status;
    if (performance.now() > until) {
      const told = open.map(({ address, status: shown, checked_at, due_at, failures, asked: why, last }) =>
        JSON.stringify({ address, shown, checked_at, due_at, failures, why, last }),
      );
      const said = ground.said.split('\n').filter((line) => /"level":"(error|warning)"/.test(line));
      assert.fail(
        `since ${since}, ${workspaces.length} of ${editions.size}:\n${told.join('\n')}\n${said.slice(-10).join('\n')}`,
      );
    }
    const failed = open.filter(({ failures, address }) => failures > 0 && !asked.has(address));
    for (const { address } of failed) asked.add(address);
    if (failed.length > 0) await ground.run('fleet', 'run', ...failed.map(({ address }) => address));
    await delay(500);
  }
}

function addressOf(project: string): string {
  return `${SOURCE}/${project}:${WORKSPACE}`;
}

function statesOf({ ground, database, editions }: Fleet) {
  const at = { database: database && new Secret('FLEET_DATABASE_URL', database.direct) };
  return ground.inDatabase(() =>
    Promise.all(
      [...editions.keys()].map(async (project) => {
        const place = fleetStateLocation(at, { source: SOURCE, project, workspace: WORKSPACE });
        const { workspaceId } = ground.platforms.get(project) ?? assert.fail(project);
        const store = createStore(place, { ...CAMPAIGN, root: '/', env: {}, cacheFolder: undefined });
        const fresh = { lineage: 'none yet', salt: 'none yet' };
        return { project, state: await readState(store, { workspaceId, fresh }) };
      }),
    ),
  );
}

/** Answers what a workspace asks, as a person does. */
async function answerFor(fleet: Fleet, project: string): Promise<void> {
  const { ground, figures } = fleet;
  const emulator = ground.platforms.get(project) ?? assert.fail(project);
  await settleUnknowns(
    {
      emulator,
      figures,
      run: (...args) => ground.run('fleet', 'exec', addressOf(project), '--', ...args),
      runAndDie: () => assert.fail('nobody dies here'),
      check: async () => undefined,
      async state() {
        const found = (await statesOf(fleet)).find((each) => each.project === project);
        return found?.state ?? assert.fail(project);
      },
    },
    { random: new Random('answers'), leaves: 0, dies: 0 },
  );
}
