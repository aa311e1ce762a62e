import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { fleetStateLocation } from '../../src/fleet/fleet-state.ts';
import { readState } from '../../src/state/session.ts';
import { createStore } from '../../src/state/state-location.ts';
import { Secret } from '../../src/values/value.ts';
import { census } from './census.ts';
import type { Figures } from './figures.ts';
import type { FleetGround, FleetStatus, Machine } from './fleet-ground.ts';
import { CAMPAIGN } from './lab.ts';
import { settleUnknowns } from './person.ts';
import type { RunningProcess } from './processes.ts';
import type { Random } from './random.ts';
import { secretsIn } from './secrets.ts';
import type { OwnDatabase } from './shared-locations.ts';

/** A fleet under attack. */
export interface Fleet {
  readonly ground: FleetGround;
  /** Undefined for the embedded database. */
  readonly database: OwnDatabase | undefined;
  /** The current edition of the manifests, by project. */
  readonly editions: Map<string, number>;
  readonly machines: readonly Machine[];
  /** The running processes, by host name. */
  readonly running: Map<string, RunningProcess>;
  readonly figures: Figures;
  /** The approved editions by project, if plans need approval. */
  readonly approved?: Map<string, Set<number>> | undefined;
}

/** Approves or rejects each pending plan, as a person does. */
export async function decideOnPlans({ ground, approved, figures }: Fleet, random?: Random): Promise<void> {
  if (approved === undefined) return;
  const { workspaces } = await ground.status();
  for (const { address, plan } of workspaces) {
    if (plan?.state !== 'waiting') continue;
    const shown = await ground.run('fleet', 'show', address);
    // The pending plan may have changed in the meantime.
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

/** Starts a process on each machine that has none. */
export function startAll({ ground, machines, running }: Fleet): void {
  for (const machine of machines) {
    if (running.has(machine.host)) continue;
    const started = ground.serve(machine);
    running.set(machine.host, started);
    const onExit = (): void => {
      if (running.get(machine.host) === started) running.delete(machine.host);
    };
    started.ended.then(onExit, onExit);
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
      // The signal kills a process that has not installed its signal handlers yet.
      if (code === null && stderr === '') return;
      assert.equal(code, 0, `a process ended with ${code}: ${stderr.slice(-1_000)}`);
    }),
  );
}

const MAX_WAIT_MS = 75_000;
const SOURCE = 'voices';
const WORKSPACE = 'test';

/** Runs every workspace without faults, settles unknown creates, and checks that each declared record exists once and is in the state. */
export async function convergesAsDeclared(fleet: Fleet): Promise<void> {
  const { ground, database, figures } = fleet;
  startAll(fleet);
  await allChecked(fleet);
  await stopAll(fleet);
  const unsettled = (await statesOf(fleet)).filter(({ state }) => state.pending.size > 0);
  for (const { project } of unsettled) await settleWorkspace(fleet, project);
  startAll(fleet);
  const { workspaces } = await allChecked(fleet);
  await stopAll(fleet);
  for (const { project, state } of await statesOf(fleet)) {
    const { world } = ground.platforms.get(project) ?? assert.fail(project);
    const { lost, duplicates } = census(world, state);
    for (const id of lost) figures.addViolation('lost ids', `${id} of ${project}`);
    for (const address of duplicates) figures.addViolation('silent duplicates', `${address} of ${project}`);
    assert.deepEqual([lost, duplicates], [[], []], project);
    if (state.pending.size > 0) continue;
    const listed = workspaces.find(({ address }) => address === addressOf(project));
    // On a busy machine, a status is stale after an interval of a second.
    assert.match(String(listed?.status), /^(in-sync|stale)$/, JSON.stringify(listed));
    const edition = `Edition ${fleet.editions.get(project)}.`;
    const prompts = [...world.agents.values()].map((each) => each.prompt_config?.prompt);
    assert.deepEqual(prompts, [edition, edition, edition], project);
    assert.deepEqual([world.webhooks.size, world.numbers.size], [1, 1], project);
    figures.add('records created', 5);
  }
  const texts = [ground.output, (await database?.contents()) ?? '', ...ground.fileContents()];
  for (const secret of new Set(texts.flatMap(secretsIn))) figures.addViolation('secrets seen', `${secret} of a fleet`);
  assert.doesNotMatch(ground.output, /\n\s+at .*:\d+:\d+/, 'a stack trace');
}

/** Waits until every workspace has been checked by a new run. Requests another run of each failed workspace once. */
async function allChecked(fleet: Fleet): Promise<FleetStatus> {
  const { ground, editions, running } = fleet;
  await Promise.all([...running.values()].map((process) => process.waitForOutput('serving the fleet')));
  const { at: since } = await ground.status();
  const until = performance.now() + MAX_WAIT_MS;
  const requested = new Set<string>();
  for (;;) {
    await decideOnPlans(fleet);
    const status = await ground.status();
    const { workspaces } = status;
    const open = workspaces.filter(
      (each) => each.failures > 0 || each.asked !== null || each.plan !== null || (each.checked_at ?? '') <= since,
    );
    if (open.length === 0 && workspaces.length === editions.size) return status;
    if (performance.now() > until) {
      const pending = open.map(({ address, status: state, checked_at, due_at, failures, asked, last }) =>
        JSON.stringify({ address, state, checked_at, due_at, failures, asked, last }),
      );
      const log = ground.output.split('\n').filter((line) => /"level":"(error|warning)"/.test(line));
      assert.fail(
        `since ${since}, ${workspaces.length} of ${editions.size}:\n${pending.join('\n')}\n${log.slice(-10).join('\n')}`,
      );
    }
    const failed = open.filter(({ failures, address }) => failures > 0 && !requested.has(address));
    for (const { address } of failed) requested.add(address);
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
        const location = fleetStateLocation(at, { source: SOURCE, project, workspace: WORKSPACE });
        const { workspaceId } = ground.platforms.get(project) ?? assert.fail(project);
        const store = createStore(location, { ...CAMPAIGN, root: '/', env: {}, cacheFolder: undefined });
        const fresh = { lineage: 'none yet', salt: 'none yet' };
        return { project, state: await readState(store, { workspaceId, fresh }) };
      }),
    ),
  );
}

/** Settles the unknown creates of a workspace, as a person does. */
async function settleWorkspace(fleet: Fleet, project: string): Promise<void> {
  const { ground, figures } = fleet;
  const emulator = ground.platforms.get(project) ?? assert.fail(project);
  await settleUnknowns(
    {
      emulator,
      figures,
      run: (...args) => ground.run('fleet', 'exec', addressOf(project), '--', ...args),
      runAndDie: () => assert.fail('no command is killed here'),
      check: async () => undefined,
      async state() {
        const stored = (await statesOf(fleet)).find((each) => each.project === project);
        return stored?.state ?? assert.fail(project);
      },
    },
    {},
  );
}
