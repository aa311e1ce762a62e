import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { BARE_LOOP, type Platform, runNode, startPlatform } from './processes.ts';
import type { Bench } from './report.ts';
import { BENCH_ENV, writeProject } from './workload.ts';

const REPORT_USAGE = path.join(import.meta.dirname, 'report-usage.ts');

interface Watched {
  /** Waits for this many more runs. */
  runs(count: number): Promise<void>;
  usage(): Promise<{ readonly microseconds: number; readonly resident: number; readonly heap: number }>;
}

/** Measures the cost of an interval without changes, and the growth of memory over 10,000 intervals. */
export async function watching(bench: Bench): Promise<void> {
  const { emit } = bench;
  await watched(bench, AGENTS, async ({ runs, usage }) => {
    await runs(WARM_UP_RUNS);
    const before = await usage();
    await runs(MEASURED_RUNS);
    const after = await usage();
    emit({
      what: `watch at rest, ${AGENTS} agents: processor time of an interval`,
      floor: 'loop',
      floorValue: (await loopTime()) * 1000,
      value: (after.microseconds - before.microseconds) / 1000 / MEASURED_RUNS,
      unit: 'ms',
      budget: 2,
    });
  });
  await watched(bench, 3, async ({ runs, usage }) => {
    let done = 0;
    let first: number | undefined;
    for (const total of [1000, 2000, 5000, 10_000]) {
      await runs(total - done);
      done = total;
      const { resident, heap } = await usage();
      const row = { unit: 'MiB', floor: first === undefined ? '' : 'after 1000' } as const;
      const what = `watch at rest, 3 agents: after ${total} runs`;
      emit({ ...row, what: `${what}, heap`, floorValue: first, value: heap, budget: first && 1.1 });
      emit({
        what: `${what}, resident memory`,
        value: resident,
        unit: 'MiB',
      });
      first ??= heap;
    }
  });
}

const AGENTS = 1000;
const WARM_UP_RUNS = 10;
const MEASURED_RUNS = 20;

/** Returns the processor time in seconds of the warm bare loop for the requests of one run. */
async function loopTime(): Promise<number> {
  const platform = await startPlatform((WARM_UP_RUNS + MEASURED_RUNS) * AGENTS, 0);
  const loop = async (runs: number): Promise<number> => {
    const args = [BARE_LOOP, platform.baseUrl, String(runs * AGENTS), '16'];
    return (await runNode(args, { memory: true })).processor ?? Number.NaN;
  };
  try {
    return ((await loop(WARM_UP_RUNS + MEASURED_RUNS)) - (await loop(WARM_UP_RUNS))) / MEASURED_RUNS;
  } finally {
    await platform.stop();
  }
}

/** Starts a process that watches a project without pauses between runs, and measures it. */
async function watched(
  { bin, folder }: Bench,
  agents: number,
  measure: (watched: Watched) => Promise<void>,
): Promise<void> {
  const project = path.join(folder, 'watched');
  const platform = await startPlatform(0, 0);
  writeProject(project, agents, platform.baseUrl);
  await runNode([bin, 'apply', '--auto-approve', '--quiet'], { cwd: project, env: BENCH_ENV });
  await platform.reset();
  const child = fork(bin, ['watch', '--mode', 'apply', '--auto-approve', '--interval', '0.001s'], {
    cwd: project,
    env: { ...process.env, ...BENCH_ENV },
    execArgv: ['--import', REPORT_USAGE],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  try {
    await measure(watchedBy(child, agents, platform));
  } finally {
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
    await platform.stop();
    rmSync(project, { recursive: true, force: true });
  }
}

function watchedBy(child: ChildProcess, agents: number, platform: Platform): Watched {
  const done = async (): Promise<number> => (await platform.figures()).requests / agents;
  return {
    async runs(count) {
      for (const enough = (await done()) + count; (await done()) < enough; ) {
        if (child.exitCode !== null) throw new Error(`watch ended with ${child.exitCode}`);
        await setTimeout(20);
      }
    },
    async usage() {
      child.send('usage');
      const [usage] = await once(child, 'message');
      return usage as Awaited<ReturnType<Watched['usage']>>;
    },
  };
}
