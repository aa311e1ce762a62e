import assert from 'node:assert/strict';
import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import type { Case } from './cases.ts';
import { converges, refused, succeeded, unwrapped } from './expectations.ts';
import { type Bench, Lab } from './lab.ts';
import { ELSEWHERE } from './machines.ts';
import { agent, documents } from './manifests.ts';
import { settleUnknowns } from './person.ts';
import type { Running } from './processes.ts';
import { Random } from './random.ts';

const GROUP = 'locks';
const APPLY = ['apply', '--auto-approve'];

export const lockCases: readonly Case[] = [
  { group: GROUP, name: 'a second apply fails, and says who holds it', run: secondFails },
  { group: GROUP, name: 'a second apply waits, and finds nothing to do', short: true, run: secondWaits },
  { group: GROUP, name: 'a dead holder is taken over', run: deadHolder },
  {
    group: GROUP,
    name: 'a holder in a container that is gone is taken over',
    short: true,
    run: goneContainer,
  },
  { group: GROUP, name: 'a holder that was stopped and wakes up writes no more', short: true, run: wakesUp },
  {
    group: GROUP,
    name: 'a holder that was stopped right before it sends sends nothing',
    short: true,
    run: wakes,
  },
  { group: GROUP, name: 'unlock needs the right id, and stops who held it', run: unlocks },
];

interface Held extends AsyncDisposable {
  readonly lab: Lab;
  /** The apply that holds the lock: its first create has arrived, and is not answered. */
  readonly holder: Running;
  /** Lets the platform answer. */
  readonly open: () => void;
}

async function heldLab(bench: Bench): Promise<Held> {
  const lab = await Lab.open(bench, { manifests: documents(agent('a'), agent('b'), agent('c')) });
  const arrived = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  lab.hook = async ({ method }) => {
    if (method === 'GET') return undefined;
    arrived.resolve();
    await opened.promise;
    return undefined;
  };
  const holder = lab.start([...APPLY, '--concurrency', '1']);
  await Promise.race([arrived.promise, holder.ended.then(({ stderr }) => assert.fail(stderr))]);
  return { lab, holder, open: opened.resolve, [Symbol.asyncDispose]: () => lab[Symbol.asyncDispose]() };
}

async function secondFails(bench: Bench): Promise<void> {
  await using held = await heldLab(bench);
  const { lab, holder, open } = held;
  const says = new RegExp(
    `is locked by \\S+@${hostname()} \\(process ${holder.child.pid}\\) since \\d{4}-\\S+Z for apply, lock \\S+.*--lock-timeout.*state unlock`,
  );
  refused(await lab.run(...APPLY), says);
  refused(await lab.run('state', 'resolve', 'Agent/a', '--not-created'), says);
  refused(await lab.run('import', 'Agent/a', '01J'), says);
  const planned = await lab.run('plan');
  succeeded(planned);
  assert.doesNotMatch(planned.stderr, /lock/);
  succeeded(await lab.run('state', 'list'));
  open();
  succeeded(await lab.ended(holder));
  await converges(lab);
}

async function secondWaits(bench: Bench): Promise<void> {
  await using held = await heldLab(bench);
  const { lab, holder, open } = held;
  const second = lab.start([...APPLY, '--lock-timeout', '60s']);
  await second.said('waiting for the lock');
  open();
  succeeded(await lab.ended(holder));
  succeeded(await lab.ended(second), /No changes/);
  assert.equal(lab.writes(), 3);
  await lab.check('after two applies');
}

async function deadHolder(bench: Bench): Promise<void> {
  await using held = await heldLab(bench);
  const { lab, holder, open } = held;
  holder.child.kill('SIGKILL');
  await holder.ended;
  open();
  const lock = readFileSync(`${lab.statePath}.lock`, 'utf8');
  for (const kind of ['tmp', 'claim']) {
    writeFileSync(`${lab.statePath}.lock.${kind}-00000000-0000-4000-8000-000000000000`, lock);
  }
  writeFileSync(`${lab.statePath}.tmp`, '{');
  const next = await lab.run(...APPLY);
  succeeded(next, /acquired the lock of \S+ from a dead process: \S+ \(process \d+\) since \S+ for apply/);
  assert.deepEqual(
    Object.keys(lab.stateFiles()).filter((name) => /lock|tmp/.test(name)),
    [],
  );
  await settleUnknowns(lab, { random: new Random('locks'), leaves: 0, dies: 0 });
  await converges(lab);
  assert.equal(lab.emulator.world.agents.size, 3);
}

/** Its process number is alive here, as number 1 always is; only its silence tells. */
async function goneContainer(bench: Bench): Promise<void> {
  await using held = await heldLab(bench);
  const { lab, holder, open } = held;
  holder.child.kill('SIGKILL');
  await holder.ended;
  open();
  const file = `${lab.statePath}.lock`;
  const lock = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify({ ...lock, pid: 1, process: { ...lock.process, namespace: 'pid:[1]' } }));
  refused(await lab.run(...APPLY), /last heartbeat \d+ s ago.*state unlock/);
  age(file);
  succeeded(await lab.run(...APPLY), /acquired the lock of \S+ from a run without a heartbeat for \d+ s/);
  await settleUnknowns(lab, { random: new Random('locks'), leaves: 0, dies: 0 });
  await converges(lab);
  assert.equal(lab.emulator.world.agents.size, 3);
}

async function wakesUp(bench: Bench): Promise<void> {
  await using held = await heldLab(bench);
  const { lab, holder, open } = held;
  const { pid } = holder.child;
  holder.child.kill('SIGSTOP');
  const file = `${lab.statePath}.lock`;
  const lock = JSON.parse(readFileSync(file, 'utf8'));
  // As another machine sees it: there its process number says nothing.
  writeFileSync(file, JSON.stringify({ ...lock, process: {} }));
  age(file);
  open();
  succeeded(await lab.run(...APPLY), new RegExp(`without a heartbeat for \\d+ s: \\S+ \\(process ${pid}\\)`));
  const writes = lab.writes();
  holder.child.kill('SIGCONT');
  const stopped = await lab.ended(holder);
  assert.equal(stopped.code, 1);
  assert.match(unwrapped(stopped.stdout + stopped.stderr), /this run lost the lock/);
  assert.match(unwrapped(stopped.stdout), /Stopped early: another run or a forced unlock took the state lock/);
  assert.match(unwrapped(stopped.stdout + stopped.stderr), /voxform import Agent\/a 01\w+/);
  assert.equal(lab.writes(), writes, 'it went on writing without its lock');
  await lab.check('after it woke up');
  // Records the outcomes that the holder wrote to a rescue file.
  await lab.run(...APPLY);
  await settleUnknowns(lab, { random: new Random('locks'), leaves: 0, dies: 0 });
  await converges(lab);
}

/** Its intent is stored, its lock checked, and only the first byte is missing. */
async function wakes(bench: Bench, random: Random): Promise<void> {
  await using lab = await Lab.open(bench, { manifests: documents(agent('a'), agent('b'), agent('c')) });
  lab.write('clock', '0');
  const clock = path.join(lab.root, 'clock');
  const holder = lab.start([...APPLY, '--concurrency', '3'], {
    node: ['--import', `${ELSEWHERE}?clock=${clock}&freeze=${random.int(1, 3)}`],
  });
  await holder.frozen();
  const file = `${lab.statePath}.lock`;
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), process: {} }));
  age(file);
  lab.write('clock', '61');
  succeeded(await lab.run(...APPLY), /without a heartbeat for \d+ s/);
  await lab.settled();
  const writes = lab.writes();
  holder.child.kill('SIGCONT');
  const stopped = await lab.ended(holder);
  assert.equal(stopped.code, 1);
  assert.match(unwrapped(stopped.stdout + stopped.stderr), /this run lost the lock/);
  assert.equal(lab.writes(), writes, 'it went on writing without its lock');
  await lab.check('after it woke up');
  // Records the outcomes that the holder wrote to a rescue file.
  await lab.run(...APPLY);
  await settleUnknowns(lab, { random: new Random('locks'), leaves: 0, dies: 0 });
  await converges(lab);
}

/** As if nothing had been heard of its holder for over a minute. */
function age(file: string): void {
  const then = new Date(Date.now() - 61_000);
  utimesSync(file, then, then);
}

async function unlocks(bench: Bench): Promise<void> {
  await using held = await heldLab(bench);
  const { lab, holder, open } = held;
  const id = /state unlock (\S+)/.exec(unwrapped((await lab.run(...APPLY)).stderr))?.[1] ?? '';
  refused(await lab.run('state', 'unlock', 'something-else'), /has the id \S+, not something-else/);
  succeeded(
    await lab.run('state', 'unlock', id),
    new RegExp(`Released the lock of .* for apply, lock ${id}, last heartbeat \\d+ s ago`),
  );
  open();
  const stopped = await lab.ended(holder);
  assert.equal(stopped.code, 1);
  assert.match(unwrapped(stopped.stdout + stopped.stderr), /this run lost the lock/);
  assert.match(unwrapped(stopped.stdout), /Stopped early: another run or a forced unlock took the state lock/);
  assert.match(unwrapped(stopped.stdout + stopped.stderr), /voxform import Agent\/a 01\w+/);
  assert.equal(lab.writes(), 1, 'it went on writing without its lock');
  await lab.check('after an unlock');
  // Records the outcomes that the holder wrote to a rescue file.
  await lab.run(...APPLY);
  await settleUnknowns(lab, { random: new Random('locks'), leaves: 0, dies: 0 });
  await converges(lab);
}
