import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { type Case, Skipped } from './cases.ts';
import { converges, unwrapped } from './expectations.ts';
import { type Bench, Lab, type RunOptions } from './lab.ts';
import { agent, documents } from './manifests.ts';
import { settleUnknowns } from './person.ts';
import type { RunningProcess } from './processes.ts';

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
      run: (bench) => beforeWrites(bench, signal, code),
    },
  ]),
  { group: GROUP, name: 'SIGINT twice', short: true, run: signalTwice },
  { group: GROUP, name: 'a closed pipe during a plan', run: closedPipeInPlan },
  { group: GROUP, name: 'a closed pipe during an apply', run: closedPipeInApply },
  { group: GROUP, name: 'a closed terminal', short: true, run: closedTerminal },
];

interface ApplyInFlight extends AsyncDisposable {
  readonly lab: Lab;
  readonly running: RunningProcess;
  /** Lets the platform answer. */
  readonly open: () => void;
}

/** Starts an apply, and holds back the response to its third create. */
async function applyInFlight(
  bench: Bench,
  {
    method = 'POST',
    wanted = 3,
    names = NAMES,
    ...options
  }: RunOptions & { method?: string; wanted?: number; names?: readonly string[] } = {},
): Promise<ApplyInFlight> {
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
    running.ended.then(({ stdout, stderr }) => assert.fail(`the run ended early: ${stdout}${stderr}`)),
  ]);
  const open = (): void => {
    lab.hook = () => undefined;
    opened.resolve();
  };
  return { lab, running, open, [Symbol.asyncDispose]: () => lab[Symbol.asyncDispose]() };
}

/** The run must finish requests in flight, start no new ones, save the state, and report the interruption. */
async function inMidRun(bench: Bench, signal: NodeJS.Signals, code: number): Promise<void> {
  await using inFlight = await applyInFlight(bench);
  const { lab, running, open } = inFlight;
  running.child.kill(signal);
  // The signal arrives before the response, because it was sent first.
  open();
  const result = await lab.waitFor(running);
  assert.equal(result.code, code, result.stderr);
  assert.match(unwrapped(result.stdout), /Interrupted by SIG(INT|TERM)\. Requests in flight were finished/);
  assert.match(unwrapped(result.stdout), /skipped/);
  const { resources, pending } = await lab.state();
  assert.equal(pending.size, 0, 'requests in flight were not finished');
  assert.equal(resources.size, lab.emulator.world.agents.size);
  assert.ok(resources.size < NAMES.length);
  await lab.check(`after ${signal}`);
  await converges(lab);
}

async function beforeWrites(bench: Bench, signal: NodeJS.Signals, code: number): Promise<void> {
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
  const result = await lab.waitFor(running);
  lab.hook = () => undefined;
  opened.resolve();
  assert.equal(result.code, code, result.stderr);
  assert.match(result.stderr, /interrupted/);
  assert.equal(lab.writes(), 2);
  await converges(lab);
}

async function signalTwice(bench: Bench): Promise<void> {
  await using inFlight = await applyInFlight(bench);
  const { lab, running, open } = inFlight;
  running.child.kill('SIGINT');
  running.child.kill('SIGTERM');
  const result = await lab.waitFor(running);
  assert.ok(result.code === 130 || result.code === 143, `exit code ${result.code}`);
  open();
  await lab.check('after two signals');
  assert.ok((await lab.state()).pending.size > 0, 'the journal lacks the creates in flight');
  await settleUnknowns(lab);
  await converges(lab);
}

const PIPED = (reader: string): RunOptions => ({
  wrapper: ['bash', '-c', `"$@" | ${reader}; exit \${PIPESTATUS[0]}`, 'piped'],
});

async function closedPipeInPlan(bench: Bench): Promise<void> {
  await using lab = await Lab.open(bench, { manifests: documents(...NAMES.map((name) => agent(name))) });
  for (const reader of ['head -1', 'true']) {
    const result = await lab.runWith(PIPED(reader), 'plan');
    assert.ok(result.code === 0 || result.code === 141, `exit code ${result.code}`);
    assert.doesNotMatch(result.stderr, /EPIPE|error/);
  }
  assert.equal(lab.writes(), 0);
}

/** A closed pager must not stop a run in the middle of its writes. */
async function closedPipeInApply(bench: Bench): Promise<void> {
  await using lab = await Lab.open(bench, { manifests: documents(...NAMES.map((name) => agent(name))) });
  const result = await lab.runWith(PIPED('true'), 'apply', '--auto-approve');
  assert.equal(result.code, 0, result.stderr);
  assert.doesNotMatch(result.stderr, /EPIPE|error/);
  assert.equal(lab.emulator.world.agents.size, NAMES.length);
  await converges(lab);
  assert.equal(lab.writes(), NAMES.length);
}

/** Closes the terminal, and with it stdin, stdout and stderr of the command. */
async function closedTerminal(bench: Bench): Promise<void> {
  if (spawnSync('script', ['--version']).status !== 0) throw new Skipped('script is not installed');
  const wrapper = ['bash', '-c', 'exec script -qec "$(printf "%q " "$@")" /dev/null', 'terminal'];
  // More agents than the command creates before it handles the signal, which may arrive after responses.
  const names = Array.from({ length: 60 }, (_, index) => `agent-${index}`);
  await using inFlight = await applyInFlight(bench, { wrapper, names, extraPipes: 1 });
  const { lab, running, open } = inFlight;
  const exited = once(running.child, 'exit');
  running.child.kill('SIGKILL');
  await exited;
  open();
  // Resolves when the command has ended, because the command keeps the extra pipe open until then.
  await running.ended;
  const { resources, pending } = await lab.state();
  assert.equal(pending.size, 0, 'requests in flight were not finished');
  assert.equal(resources.size, lab.emulator.world.agents.size);
  assert.ok(resources.size < names.length, 'the run continued although its terminal was closed');
  await lab.check('after the terminal was closed');
  await converges(lab);
}
