import { rmSync } from 'node:fs';
import path from 'node:path';
import { median, runNode, startPlatform } from './processes.ts';
import type { Bench } from './report.ts';
import { BENCH_ENV, writeProject } from './workload.ts';

const FEW = 100;

/** Compares the cost of creating one of many agents with that of one of few. */
export async function growing(bench: Bench, agents: number): Promise<void> {
  const startUp = await applyTime(bench, 0);
  const each = async (count: number): Promise<number> => (((await applyTime(bench, count)) - startUp) / count) * 1e6;
  bench.emit({
    what: `apply: processor time of one of ${agents}, without start-up`,
    floor: `of ${FEW}`,
    floorValue: await each(FEW),
    value: await each(agents),
    unit: 'µs each',
    budget: 1.3,
  });
}

/** Returns the processor time in seconds of an apply that creates this many agents. */
async function applyTime({ bin, folder, rounds }: Bench, agents: number): Promise<number> {
  const project = path.join(folder, 'growing');
  const platform = await startPlatform(0, 0);
  writeProject(project, agents, platform.baseUrl);
  const flags = ['--auto-approve', '--allow-large-change', '--quiet'];
  const options = { cwd: project, env: BENCH_ENV, memory: true };
  const times: number[] = [];
  try {
    for (let round = 0; round < (agents > FEW ? 1 : rounds); round++) {
      rmSync(path.join(project, '.voxform'), { recursive: true, force: true });
      times.push((await runNode([bin, 'apply', ...flags], options)).processor ?? Number.NaN);
    }
    return median(times);
  } finally {
    await platform.stop();
    rmSync(project, { recursive: true, force: true });
  }
}
