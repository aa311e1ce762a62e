import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { applying } from './applying.ts';
import { exporting } from './exporting.ts';
import {
  type Applied,
  BARE_LOOP,
  forget,
  interleaved,
  median,
  type Platform,
  type Run,
  runNode,
  startPlatform,
  YAML_FLOOR,
} from './processes.ts';
import { memoryBudget, type Row } from './report.ts';
import { projectText, writeProject } from './workload.ts';

export interface Bench {
  /** Path of the built command. */
  readonly bin: string;
  /** An empty folder for projects. */
  readonly folder: string;
  /** How often each thing is timed; the median counts. */
  readonly rounds: number;
  emit(row: Row): void;
}

const CONCURRENCY = 16;

/** Everything about a project of one size. Gives what the commands took. */
export async function atSize(bench: Bench, agents: number): Promise<Costs> {
  const { bin, emit } = bench;
  const rounds = agents > 10_000 ? 1 : bench.rounds;
  const project = path.join(bench.folder, String(agents));
  const env = { BENCH_API_KEY: 'key-of-the-bench' };
  const voxform: Applied['voxform'] = (args, options = {}) =>
    runNode([bin, ...args], { cwd: project, env, ...options });

  const empty = await startPlatform(0, 0);
  writeProject(project, agents, empty.baseUrl);
  const applied = await voxform(['apply', '--auto-approve', '--allow-large-change', '--quiet'], {
    memory: true,
  });
  const { byMethod, requests } = await empty.figures();
  emit({
    what: `apply creating ${agents}: requests beyond one POST each`,
    floor: '',
    floorValue: undefined,
    value: requests - (byMethod.POST ?? 0) + Math.abs((byMethod.POST ?? 0) - agents),
    unit: 'requests',
    budget: 1,
  });
  await applying(
    { ...bench, rounds },
    { agents, project, voxform },
    { concurrency: CONCURRENCY, platform: empty, counted: applied },
  );
  await empty.stop();

  const of = { agents, project, voxform };
  await validating({ ...bench, rounds }, of);
  const plan = await planning({ ...bench, rounds }, of, 0);
  if (agents <= 10_000) await planning({ ...bench, rounds }, of, 20);
  await exporting({ rounds, concurrency: CONCURRENCY, emit }, of);
  forget();
  const validate = await voxform(['validate', '--quiet'], { memory: true });
  const list = await voxform(['state', 'list', '--quiet'], { memory: true });
  for (const [command, { mebibytes = Number.NaN }] of Object.entries({
    apply: applied,
    validate,
    'state list': list,
  })) {
    const what = `${command} ${agents}: memory`;
    emit({ what, floor: '', floorValue: undefined, value: mebibytes, unit: 'MiB', budget: undefined });
  }
  rmSync(project, { recursive: true, force: true });
  return {
    validate: processorOf(validate),
    plan,
    apply: processorOf(applied),
    'state list': processorOf(list),
  };
}

function processorOf({ processor = Number.NaN }: Run): number {
  return processor;
}

/** Seconds of processor time of each command: what else the machine does shows least in it. */
export interface Costs {
  readonly validate: number;
  readonly plan: number;
  readonly apply: number;
  readonly 'state list': number;
}

const GROWING = ['validate', 'plan', 'apply', 'state list'] as const;

/** What each command takes of the processor where there is nothing: starting up is not counted as the cost of resources. */
export async function withNothing({ bin, folder, rounds }: Bench): Promise<Costs> {
  const project = path.join(folder, 'nothing');
  const platform = await startPlatform(0, 0);
  writeProject(project, 0, platform.baseUrl);
  const env = { BENCH_API_KEY: 'key-of-the-bench' };
  const typical = async (...args: string[]): Promise<number> => {
    const found: number[] = [];
    for (let round = 0; round < Math.max(rounds, 3); round++) {
      found.push(processorOf(await runNode([bin, ...args], { cwd: project, env, memory: true })));
    }
    return median(found);
  };
  try {
    return {
      validate: await typical('validate', '--quiet'),
      plan: await typical('plan', '--quiet'),
      apply: await typical('apply', '--auto-approve', '--quiet'),
      'state list': await typical('state', 'list', '--quiet'),
    };
  } finally {
    await platform.stop();
    rmSync(project, { recursive: true, force: true });
  }
}

/** Cold and with a warm cache, against the parser alone. */
async function validating({ emit, rounds }: Bench, { agents, project, voxform }: Applied): Promise<void> {
  const times = await interleaved(rounds, {
    floor: () => runNode([YAML_FLOOR, project]),
    cold: async () => {
      forget();
      return voxform(['validate', '--quiet']);
    },
    warm: () => voxform(['validate', '--quiet']),
  });
  const row = { floor: 'yaml', floorValue: times.floor };
  emit({ ...row, what: `validate ${agents}, cold`, value: times.cold, budget: 1.15 });
  emit({ ...row, what: `validate ${agents}, unchanged`, value: times.warm, budget: 0.2 });
}

/** A plan with nothing to do, against the bare loop over the same requests. Gives the processor time of a warm one at no latency. */
async function planning(
  { emit, rounds }: Bench,
  { agents, project, voxform }: Applied,
  latency: number,
): Promise<number> {
  const platform = await startPlatform(agents, latency);
  writeFileSync(path.join(project, 'voxform.yaml'), projectText(platform.baseUrl));
  let processor = Number.NaN;
  const flags = ['plan', '--quiet', '--detailed-exitcode', '--concurrency', String(CONCURRENCY)];
  try {
    await voxform(flags);
    const times = await interleaved(rounds, {
      bare: () => runNode([BARE_LOOP, platform.baseUrl, String(agents), String(CONCURRENCY)]),
      yaml: () => runNode([YAML_FLOOR, project]),
      warm: () => voxform(flags),
      cold: async () => {
        forget();
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
      processor = await tellMemory(emit, { agents, project, voxform }, flags);
      await tellRequests(emit, { agents, project, voxform }, { platform, flags });
    }
    return processor;
  } finally {
    await platform.stop();
  }
}

async function tellMemory(
  emit: Bench['emit'],
  { agents, voxform }: Applied,
  flags: readonly string[],
): Promise<number> {
  let warm = Number.NaN;
  const budget = memoryBudget(agents);
  for (const cache of ['warm', 'cold']) {
    if (cache === 'cold') forget();
    const run = await voxform(flags, { memory: true });
    if (cache === 'warm') warm = processorOf(run);
    const { mebibytes = Number.NaN } = run;
    const what = `plan ${agents}: memory, ${cache}`;
    emit({ what, floor: '', floorValue: undefined, value: mebibytes, unit: 'MiB', budget });
  }
  return warm;
}

async function tellRequests(
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

/** What one resource costs at each size beside starting up, against what it costs at the smallest. */
export function growth(
  { emit }: Pick<Bench, 'emit'>,
  costs: ReadonlyMap<number, Costs>,
  nothing: Costs,
): void {
  const spent = (agents: number, command: keyof Costs): number =>
    (costs.get(agents)?.[command] ?? Number.NaN) - nothing[command];
  const each = (agents: number, command: keyof Costs): number => (spent(agents, command) / agents) * 1e6;
  for (const command of GROWING) {
    const [smallest, ...larger] = [...costs.keys()].filter((agents) => spent(agents, command) >= MEASURABLE);
    if (smallest === undefined) continue;
    for (const agents of larger) {
      emit({
        what: `${command}: a resource of ${agents}, processor time without start-up`,
        floor: `of ${smallest}`,
        floorValue: each(smallest, command),
        value: each(agents, command),
        unit: 'µs each',
        budget: 1.3,
      });
    }
  }
}

/** Seconds of processor time: less than this is lost in how start-up varies. */
const MEASURABLE = 0.02;
