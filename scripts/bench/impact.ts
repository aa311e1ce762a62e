import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { runNode } from './processes.ts';
import type { Bench } from './report.ts';
import { BENCH_ENV, writeProject } from './workload.ts';

const SERVER = path.join(import.meta.dirname, 'call-server.ts');

/** Limits the memory of the command, because Node otherwise collects garbage late on a machine with enough memory. */
const HEAP = ['--max-old-space-size=48', '--max-semi-space-size=2'];

/** Measures `impact` over many calls and over a tenth of them. Memory must not grow with the number of calls. */
export async function impactOfCalls({ bin, folder, emit }: Bench, calls: number): Promise<void> {
  const few = await measured(bin, path.join(folder, 'few-calls'), calls / 10);
  const many = await measured(bin, path.join(folder, 'many-calls'), calls);
  const row = { what: `impact ${calls} calls`, floor: `${calls / 10} calls` };
  emit({
    ...row,
    what: `${row.what}: memory`,
    floorValue: few.mebibytes,
    value: many.mebibytes,
    unit: 'MiB',
    budget: 1.1,
  });
  emit({
    ...row,
    value: (many.processor / calls) * 1e6,
    unit: 'µs each',
  });
}

async function measured(bin: string, project: string, calls: number) {
  const server = fork(SERVER, [String(calls)]);
  const [{ port }] = (await once(server, 'message')) as [{ port: number }];
  try {
    writeProject(project, 1, `http://127.0.0.1:${port}`);
    const options = { cwd: project, env: BENCH_ENV };
    await runNode([bin, 'apply', '--auto-approve', '--quiet'], options);
    const [address = ''] = (await runNode([bin, 'state', 'list'], options)).stdout.match(/Agent\/\S+/) ?? [];
    const run = await runNode([...HEAP, bin, 'impact', address, '--output', 'json', '--quiet'], {
      ...options,
      memory: true,
    });
    const { versions } = JSON.parse(run.stdout) as { versions: { calls: number }[] };
    const counted = versions.reduce((sum, each) => sum + each.calls, 0);
    if (counted < calls * 0.99) throw new Error(`impact counted ${counted} of ${calls} calls`);
    return { mebibytes: run.mebibytes ?? Number.NaN, processor: run.processor ?? Number.NaN };
  } finally {
    server.disconnect();
  }
}
