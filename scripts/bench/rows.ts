import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { adapting } from './adapting.ts';
import { applying } from './applying.ts';
import { exporting } from './exporting.ts';
import {
  type Applied,
  BARE_LOOP,
  interleaved,
  type Platform,
  removeManifestCache,
  runNode,
  startPlatform,
  YAML_FLOOR,
} from './processes.ts';
import { type Bench, memoryBudget } from './report.ts';
import { BENCH_ENV, projectText, writeProject } from './workload.ts';

const CONCURRENCY = 16;

/** Measures all rows for a project of one size. */
export async function atSize(bench: Bench, agents: number): Promise<void> {
  const { bin, emit, wants } = bench;
  const rounds = agents > 10_000 ? 1 : bench.rounds;
  const project = path.join(bench.folder, String(agents));
  const env = BENCH_ENV;
  const voxform: Applied['voxform'] = (args, options = {}) =>
    runNode([bin, ...args], { cwd: project, env, ...options });

  const empty = await startPlatform(0, 0);
  writeProject(project, agents, empty.baseUrl);
  const applied = await voxform(['apply', '--auto-approve', '--allow-large-change', '--quiet'], {
    memory: true,
  });
  const { byMethod, requests } = await empty.figures();
  if (wants('apply')) {
    emit({
      what: `apply creating ${agents}: requests beyond one POST each`,
      value: requests - (byMethod.POST ?? 0) + Math.abs((byMethod.POST ?? 0) - agents),
      unit: 'requests',
      budget: 1,
    });
    const what = `apply creating ${agents}: memory`;
    const value = applied.mebibytes ?? Number.NaN;
    emit({ what, value, unit: 'MiB' });
    await applying(
      { ...bench, rounds },
      { agents, project, voxform },
      { concurrency: CONCURRENCY, platform: empty, counted: applied },
    );
  }
  await empty.stop();

  const of = { agents, project, voxform };
  if (wants('validate')) await validating({ ...bench, rounds }, of);
  if (wants('plan')) await planning({ ...bench, rounds }, of, 0);
  if (wants('plan') && agents <= 10_000) await planning({ ...bench, rounds }, of, 20);
  if (wants('plan') && agents === 10_000) await adapting({ ...bench, rounds }, of);
  if (wants('export')) await exporting({ ...bench, rounds }, of, CONCURRENCY);
  rmSync(project, { recursive: true, force: true });
}

/** Compares `validate` without and with a cache with the parser alone. */
async function validating({ emit, rounds }: Bench, { agents, project, voxform }: Applied): Promise<void> {
  const times = await interleaved(rounds, {
    floor: () => runNode([YAML_FLOOR, project]),
    cold: async () => {
      removeManifestCache();
      return voxform(['validate', '--quiet']);
    },
    warm: () => voxform(['validate', '--quiet']),
  });
  const row = { floor: 'yaml', floorValue: times.floor };
  emit({ ...row, what: `validate ${agents}, cold`, value: times.cold, budget: 1.15 });
  emit({ ...row, what: `validate ${agents}, unchanged`, value: times.warm, budget: 0.2 });
}

/** Compares a plan without changes with the bare loop over the same requests. */
async function planning(
  { emit, rounds }: Bench,
  { agents, project, voxform }: Applied,
  latency: number,
): Promise<void> {
  const platform = await startPlatform(agents, latency);
  writeFileSync(path.join(project, 'voxform.yaml'), projectText(platform.baseUrl));
  const flags = ['plan', '--quiet', '--detailed-exitcode', '--concurrency', String(CONCURRENCY)];
  try {
    await voxform(flags);
    const times = await interleaved(rounds, {
      bare: () => runNode([BARE_LOOP, platform.baseUrl, String(agents), String(CONCURRENCY)]),
      yaml: () => runNode([YAML_FLOOR, project]),
      warm: () => voxform(flags),
      cold: async () => {
        removeManifestCache();
        return voxform(flags);
      },
    });
    const what = `plan ${agents}, ${latency} ms`;
    emit({
      what: `${what}, warm`,
      floor: 'loop',
      floorValue: times.bare,
      value: times.warm,
      budget: latency === 0 ? 4 : 1.1,
    });
    emit({
      what: `${what}, cold`,
      floor: latency === 0 ? 'loop and yaml' : 'loop',
      floorValue: latency === 0 ? times.bare + times.yaml : times.bare,
      value: times.cold,
      budget: latency === 0 ? 1.3 : 1.25,
    });
    if (latency === 0) {
      await emitMemory(emit, { agents, project, voxform }, flags);
      await emitRequests(emit, { agents, project, voxform }, { platform, flags });
    }
  } finally {
    await platform.stop();
  }
}

async function emitMemory(emit: Bench['emit'], { agents, voxform }: Applied, flags: readonly string[]): Promise<void> {
  const budget = memoryBudget(agents);
  for (const cache of ['warm', 'cold']) {
    if (cache === 'cold') removeManifestCache();
    const { mebibytes = Number.NaN } = await voxform(flags, { memory: true });
    const what = `plan ${agents}: memory, ${cache}`;
    emit({ what, value: mebibytes, unit: 'MiB', budget });
  }
}

async function emitRequests(
  emit: Bench['emit'],
  { agents, voxform }: Applied,
  { platform, flags }: { readonly platform: Platform; readonly flags: readonly string[] },
): Promise<void> {
  await platform.reset();
  await voxform(flags);
  const { requests } = await platform.figures();
  const what = `plan ${agents}: requests`;
  emit({ what, floor: 'one each', floorValue: agents, value: requests, unit: 'requests', budget: 1 });
}
