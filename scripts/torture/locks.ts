import assert from 'node:assert/strict';
import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import type { Case } from './cases.ts';
import { converges, refused, succeeded, unwrapped } from './expectations.ts';
import { APPLY, type Bench, Lab } from './lab.ts';
import { SIMULATED_MACHINE } from './machines.ts';
import { agent, documents } from './manifests.ts';
import { settleUnknowns } from './person.ts';
import type { RunningProcess } from './processes.ts';
import type { Random } from './random.ts';

const GROUP = 'locks';

export const lockCases: readonly Case[] = [
  { group: GROUP, name: 'a second apply fails, and names the holder', run: secondFails },
  { group: GROUP, name: 'a second apply waits, and has no changes', short: true, run: secondWaits },
  { group: GROUP, name: 'a dead holder is taken over', run: deadHolder },
  {
    group: GROUP,
    name: 'a holder in a removed container is taken over',
    short: true,
    run: goneContainer,
  },
  {
    group: GROUP,
    name: 'a holder that was stopped and resumes does not write again',
    short: true,
    run: resumesAfterStop,
  },
  {
    group: GROUP,
    name: 'a holder that was stopped right before a write does not send it',
    short: true,
    run: resumesBeforeSend,
  },
  { group: GROUP, name: 'unlock needs the right id, and stops the holder', run: unlocks },
];

interface LockedLab extends AsyncDisposable {
  readonly lab: Lab;
  /** The apply that holds the lock. Its first create waits for the response. */
  readonly holder: RunningProcess;
  /** Lets the platform answer. */
  readonly open: () => void;
}

async function lockedLab(bench: Bench): Promise<LockedLab> {
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
  await using locked = await lockedLab(bench);
  const { lab, holder, open } = locked;
  const message = new RegExp(
    `is locked by \\S+@${hostname()} \\(process ${holder.child.pid}\\) since \\d{4}-\\S+Z for apply, lock \\S+.*--lock-timeout.*state unlock`,
  );
  refused(await lab.run(...APPLY), message);
  refused(await lab.run('state', 'resolve', 'Agent/a', '--not-created'), message);
  refused(await lab.run('import', 'Agent/a', '01J'), message);
  const planned = await lab.run('plan');
  succeeded(planned);
  assert.doesNotMatch(planned.stderr, /lock/);
  succeeded(await lab.run('state', 'list'));
  open();
  succeeded(await lab.waitFor(holder));
  await converges(lab);
}

async function secondWaits(bench: Bench): Promise<void> {
  await using locked = await lockedLab(bench);
  const { lab, holder, open } = locked;
  const second = lab.start([...APPLY, '--lock-timeout', '60s']);
  await second.waitForOutput('waiting for the lock');
  open();
  succeeded(await lab.waitFor(holder));
  succeeded(await lab.waitFor(second), /No changes/);
  assert.equal(lab.writes(), 3);
  await lab.check('after two applies');
}

async function deadHolder(bench: Bench): Promise<void> {
  await using locked = await lockedLab(bench);
  const { lab, holder, open } = locked;
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
  await settleUnknowns(lab);
  await converges(lab);
  assert.equal(lab.emulator.world.agents.size, 3);
}

/** The holder's process id 1 always exists on this machine, so only its missing heartbeat shows that it is dead. */
async function goneContainer(bench: Bench): Promise<void> {
  await using locked = await lockedLab(bench);
  const { lab, holder, open } = locked;
  holder.child.kill('SIGKILL');
  await holder.ended;
  open();
  const file = `${lab.statePath}.lock`;
  const lock = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify({ ...lock, pid: 1, process: { ...lock.process, namespace: 'pid:[1]' } }));
  refused(await lab.run(...APPLY), /last heartbeat \d+ s ago.*state unlock/);
  expireHeartbeat(file);
  succeeded(await lab.run(...APPLY), /acquired the lock of \S+ from a run without a heartbeat for \d+ s/);
  await settleUnknowns(lab);
  await converges(lab);
  assert.equal(lab.emulator.world.agents.size, 3);
}

async function resumesAfterStop(bench: Bench): Promise<void> {
  await using locked = await lockedLab(bench);
  const { lab, holder, open } = locked;
  const { pid } = holder.child;
  holder.child.kill('SIGSTOP');
  const file = `${lab.statePath}.lock`;
  const lock = JSON.parse(readFileSync(file, 'utf8'));
  // Without process details, as for a holder on another machine.
  writeFileSync(file, JSON.stringify({ ...lock, process: {} }));
  expireHeartbeat(file);
  open();
  succeeded(await lab.run(...APPLY), new RegExp(`without a heartbeat for \\d+ s: \\S+ \\(process ${pid}\\)`));
  const writes = lab.writes();
  holder.child.kill('SIGCONT');
  const stopped = await lab.waitFor(holder);
  assert.equal(stopped.code, 1);
  assert.match(unwrapped(stopped.stdout + stopped.stderr), /this run lost the lock/);
  assert.match(unwrapped(stopped.stdout), /Stopped early: another run or a forced unlock took the state lock/);
  assert.match(unwrapped(stopped.stdout + stopped.stderr), /voxform import Agent\/a 01\w+/);
  assert.equal(lab.writes(), writes, 'the run continued to write without its lock');
  await lab.check('after the holder resumed');
  // Records the outcomes that the holder wrote to a rescue file.
  await lab.run(...APPLY);
  await settleUnknowns(lab);
  await converges(lab);
}

/** The holder stops after it has stored its intent and checked its lock, right before it sends the request. */
async function resumesBeforeSend(bench: Bench, random: Random): Promise<void> {
  await using lab = await Lab.open(bench, { manifests: documents(agent('a'), agent('b'), agent('c')) });
  lab.write('clock', '0');
  const clock = path.join(lab.root, 'clock');
  const holder = lab.start([...APPLY, '--concurrency', '3'], {
    node: ['--import', `${SIMULATED_MACHINE}?clock=${clock}&freeze=${random.int(1, 3)}`],
  });
  await holder.waitUntilStopped();
  const file = `${lab.statePath}.lock`;
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), process: {} }));
  expireHeartbeat(file);
  lab.write('clock', '61');
  succeeded(await lab.run(...APPLY), /without a heartbeat for \d+ s/);
  await lab.waitForPlatform();
  const writes = lab.writes();
  holder.child.kill('SIGCONT');
  const stopped = await lab.waitFor(holder);
  assert.equal(stopped.code, 1);
  assert.match(unwrapped(stopped.stdout + stopped.stderr), /this run lost the lock/);
  assert.equal(lab.writes(), writes, 'the run continued to write without its lock');
  await lab.check('after the holder resumed');
  // Records the outcomes that the holder wrote to a rescue file.
  await lab.run(...APPLY);
  await settleUnknowns(lab);
  await converges(lab);
}

/** Dates the last heartbeat of a lock more than a minute back. */
function expireHeartbeat(file: string): void {
  const then = new Date(Date.now() - 61_000);
  utimesSync(file, then, then);
}

async function unlocks(bench: Bench): Promise<void> {
  await using locked = await lockedLab(bench);
  const { lab, holder, open } = locked;
  const id = /state unlock (\S+)/.exec(unwrapped((await lab.run(...APPLY)).stderr))?.[1] ?? '';
  refused(await lab.run('state', 'unlock', 'something-else'), /has the id \S+, not something-else/);
  succeeded(
    await lab.run('state', 'unlock', id),
    new RegExp(`Released the lock of .* for apply, lock ${id}, last heartbeat \\d+ s ago`),
  );
  open();
  const stopped = await lab.waitFor(holder);
  assert.equal(stopped.code, 1);
  assert.match(unwrapped(stopped.stdout + stopped.stderr), /this run lost the lock/);
  assert.match(unwrapped(stopped.stdout), /Stopped early: another run or a forced unlock took the state lock/);
  assert.match(unwrapped(stopped.stdout + stopped.stderr), /voxform import Agent\/a 01\w+/);
  assert.equal(lab.writes(), 1, 'the run continued to write without its lock');
  await lab.check('after an unlock');
  // Records the outcomes that the holder wrote to a rescue file.
  await lab.run(...APPLY);
  await settleUnknowns(lab);
  await converges(lab);
}
