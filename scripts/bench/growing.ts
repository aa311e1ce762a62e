import { rmSync } from 'node:fs';
import path from 'node:path';
import { median, runNode, startPlatform } from './processes.ts';
import type { Bench } from './report.ts';
import { writeProject } from './workload.ts';

const FEW = 100;

/** The cost of creating one of many agents, against one of few. */
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

/** Seconds of processor time of an apply that creates this many agents. */
async function applyTime({ bin, folder, rounds }: Bench, agents: number): Promise<number> {
  const project = path.join(folder, 'growing');
  const platform = await startPlatform(0, 0);
  writeProject(project, agents, platform.baseUrl);
  const flags = ['--auto-approve', '--allow-large-change', '--quiet'];
  const options = { cwd: project, env: { BENCH_API_KEY: 'key-of-the-bench' }, memory: true };
  const found: number[] = [];
  try {
    for (let round = 0; round < (agents > FEW ? 1 : rounds); round++) {
      rmSync(path.join(project, '.voxform'), { recursive: true, force: true });
      found.push((await runNode([bin, 'apply', ...flags], options)).processor ?? Number.NaN);
    }
    return median(found);
  } finally {
    await platform.stop();
    rmSync(project, { recursive: true, force: true });
  }
}
