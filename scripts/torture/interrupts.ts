import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { type Case, Skipped } from './cases.ts';
import { converges, unwrapped } from './expectations.ts';
import { type Bench, Lab, type RunOptions } from './lab.ts';
import { agent, documents } from './manifests.ts';
import { settleUnknowns } from './person.ts';
import type { Running } from './processes.ts';
import { Random } from './random.ts';

const GROUP = 'interrupts';
const NAMES = Array.from({ length: 8 }, (_, index) => `agent-${index}`);
const APPLY = ['apply', '--auto-approve', '--concurrency', '2'];

const signals = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 143],
] as const;

export const interruptCases: readonly Case[] = [
  ...signals.flatMap(([signal, code]): Case[] => [
    {
      group: GROUP,
      name: `${signal} in mid-run`,
      short: signal === 'SIGINT',
      run: (bench) => inMidRun(bench, signal, code),
    },
    {
      group: GROUP,
      name: `${signal} before anything is written`,
      run: (bench) => early(bench, signal, code),
    },
  ]),
  { group: GROUP, name: 'SIGINT twice', short: true, run: twice },
  { group: GROUP, name: 'a reader of the plan that leaves', run: readerOfPlan },
  { group: GROUP, name: 'a reader of an apply that leaves', run: readerOfApply },
  { group: GROUP, name: 'a closed terminal', short: true, run: closedTerminal },
];

interface Halfway extends AsyncDisposable {
  readonly lab: Lab;
  readonly running: Running;
  /** Lets the platform answer. */
  readonly open: () => void;
}

/** An apply whose third create has arrived and is not answered; or any first request of that method. */
async function halfway(
  bench: Bench,
  {
    method = 'POST',
    wanted = 3,
    names = NAMES,
    ...options
  }: RunOptions & { method?: string; wanted?: number; names?: readonly string[] } = {},
): Promise<Halfway> {
  const lab = await Lab.open(bench, { manifests: documents(...names.map((name) => agent(name))) });
  const arrived = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  let count = 0;
  lab.hook = async (request) => {
    if (request.method === method) count += 1;
    if (request.method !== method || count < wanted) return undefined;
    arrived.resolve();
    await opened.promise;
    return undefined;
  };
  const running = lab.start(APPLY, options);
  await Promise.race([
    arrived.promise,
    running.ended.then(({ stdout, stderr }) => assert.fail(`it ended early: ${stdout}${stderr}`)),
  ]);
  const open = (): void => {
    lab.hook = () => undefined;
    opened.resolve();
  };
  return { lab, running, open, [Symbol.asyncDispose]: () => lab[Symbol.asyncDispose]() };
}

/** Finishes what is under way, starts nothing new, saves, and says so. */
async function inMidRun(bench: Bench, signal: NodeJS.Signals, code: number): Promise<void> {
  await using half = await halfway(bench);
  const { lab, running, open } = half;
  running.child.kill(signal);
  // The child takes the signal before the answer: it was there first.
  open();
  const ended = await lab.ended(running);
  assert.equal(ended.code, code, ended.stderr);
  assert.match(unwrapped(ended.stdout), /Interrupted by SIG(INT|TERM)\. Requests in flight were finished/);
  assert.match(unwrapped(ended.stdout), /skipped/);
  const { resources, pending } = await lab.state();
  assert.equal(pending.size, 0, 'what was under way was not finished');
  assert.equal(resources.size, lab.emulator.world.agents.size);
  assert.ok(resources.size < NAMES.length);
  await lab.check(`after ${signal}`);
  await converges(lab);
}

async function early(bench: Bench, signal: NodeJS.Signals, code: number): Promise<void> {
  await using lab = await Lab.open(bench, { manifests: documents(agent('a'), agent('b')) });
  await lab.run('apply', '--auto-approve');
  lab.write('manifests/more.yaml', agent('c'));
  const arrived = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  lab.hook = async () => {
    arrived.resolve();
    await opened.promise;
    return undefined;
  };
  const running = lab.start(APPLY);
  await arrived.promise;
  running.child.kill(signal);
  const ended = await lab.ended(running);
  lab.hook = () => undefined;
  opened.resolve();
  assert.equal(ended.code, code, ended.stderr);
  assert.match(ended.stderr, /interrupted/);
  assert.equal(lab.writes(), 2);
  await converges(lab);
}

async function twice(bench: Bench): Promise<void> {
  await using half = await halfway(bench);
  const { lab, running, open } = half;
  running.child.kill('SIGINT');
  running.child.kill('SIGTERM');
  const ended = await lab.ended(running);
  assert.ok(ended.code === 130 || ended.code === 143, `exit code ${ended.code}`);
  open();
  await lab.check('after two signals');
  assert.ok((await lab.state()).pending.size > 0, 'the journal does not know what was under way');
  await settleUnknowns(lab, { random: new Random('twice'), leaves: 0, dies: 0 });
  await converges(lab);
}

const PIPED = (reader: string): RunOptions => ({
  wrapper: ['bash', '-c', `"$@" | ${reader}; exit \${PIPESTATUS[0]}`, 'piped'],
});

async function readerOfPlan(bench: Bench): Promise<void> {
  await using lab = await Lab.open(bench, { manifests: documents(...NAMES.map((name) => agent(name))) });
  for (const reader of ['head -1', 'true']) {
    const ended = await lab.runWith(PIPED(reader), 'plan');
    assert.ok(ended.code === 0 || ended.code === 141, `exit code ${ended.code}`);
    assert.doesNotMatch(ended.stderr, /EPIPE|error/);
  }
  assert.equal(lab.writes(), 0);
}

/** A pager that was closed must not end a run in the middle of its writes. */
async function readerOfApply(bench: Bench): Promise<void> {
  await using lab = await Lab.open(bench, { manifests: documents(...NAMES.map((name) => agent(name))) });
  const ended = await lab.runWith(PIPED('true'), 'apply', '--auto-approve');
  assert.equal(ended.code, 0, ended.stderr);
  assert.doesNotMatch(ended.stderr, /EPIPE|error/);
  assert.equal(lab.emulator.world.agents.size, NAMES.length);
  await converges(lab);
  assert.equal(lab.writes(), NAMES.length);
}

/** The window is closed: the terminal goes, and with it everything that the command writes to. */
async function closedTerminal(bench: Bench): Promise<void> {
  if (spawnSync('script', ['--version']).status !== 0) throw new Skipped('script is not here');
  const wrapper = ['bash', '-c', 'exec script -qec "$(printf "%q " "$@")" /dev/null', 'terminal'];
  // More than are sent between two looks of the command at its signals, which may come after the answers.
  const names = Array.from({ length: 60 }, (_, index) => `agent-${index}`);
  await using half = await halfway(bench, { wrapper, names, extraPipes: 1 });
  const { lab, running, open } = half;
  const gone = once(running.child, 'exit');
  running.child.kill('SIGKILL');
  await gone;
  open();
  // The command has the extra pipe open too: that closes when the command has ended, and only then does this resolve.
  await running.ended;
  const { resources, pending } = await lab.state();
  assert.equal(pending.size, 0, 'what was under way was not finished');
  assert.equal(resources.size, lab.emulator.world.agents.size);
  assert.ok(resources.size < names.length, 'it went on although its terminal was closed');
  await lab.check('after the terminal was closed');
  await converges(lab);
}
