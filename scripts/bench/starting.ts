import { rmSync } from 'node:fs';
import path from 'node:path';
import { interleaved, runNode, startPlatform } from './processes.ts';
import type { Bench } from './report.ts';
import { BENCH_ENV, writeProject } from './workload.ts';

/** Compares `--version`, `--help` and a plan of one agent with an empty script. */
export async function startUp({ bin, folder, rounds, emit }: Bench): Promise<void> {
  const project = path.join(folder, 'one');
  const platform = await startPlatform(1, 0);
  writeProject(project, 1, platform.baseUrl);
  const options = { cwd: project, env: BENCH_ENV };
  try {
    await runNode([bin, 'apply', '--auto-approve', '--quiet'], options);
    const times = await interleaved(rounds * 5, {
      node: () => runNode(['-e', '0']),
      version: () => runNode([bin, '--version']),
      help: () => runNode([bin, '--help']),
      plan: () => runNode([bin, 'plan', '--quiet'], options),
    });
    const row = { floor: 'node -e 0', floorValue: times.node * 1000, unit: 'ms' as const };
    emit({ ...row, what: '--version', value: times.version * 1000, budget: 1.5 });
    emit({ ...row, what: '--help', value: times.help * 1000, budget: 2 });
    emit({ ...row, what: 'plan of one agent', value: times.plan * 1000, budget: 3.5 });
  } finally {
    await platform.stop();
    rmSync(project, { recursive: true, force: true });
  }
}
