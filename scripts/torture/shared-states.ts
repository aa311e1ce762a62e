import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { Fate } from '../../test/state/backends/tcp-proxy.ts';
import type { Case } from './cases.ts';
import { converges, succeeded, unwrapped } from './expectations.ts';
import type { Bench } from './lab.ts';
import { Machines, succeededOrLocked } from './machines.ts';
import { agent, documents, number, webhook } from './manifests.ts';
import { settleUnknowns } from './person.ts';
import type { ProcessResult } from './processes.ts';
import type { Random } from './random.ts';
import { type LocationKind, locationKinds } from './shared-locations.ts';

interface Attack {
  readonly name: string;
  /** True if the attack needs a proxy between the runs and the server. */
  readonly needsProxy?: boolean;
  /** The backends for which the test suite runs the attack. */
  readonly short?: 'all' | 'http';
  run(bench: Bench, random: Random, kind: LocationKind): Promise<void>;
}

const attacks: readonly Attack[] = [
  {
    name: 'some of many concurrent runs are killed',
    run: (...args) => concurrentRuns(args, { rounds: 3, kills: true }),
  },
  {
    name: 'responses of the server and the platform are lost',
    needsProxy: true,
    run: (...args) => concurrentRuns(args, { rounds: 2, cuts: true }),
  },
  {
    name: 'kills and lost responses',
    needsProxy: true,
    short: 'all',
    run: (...args) => concurrentRuns(args, { rounds: 1, kills: true, cuts: true, maxMachines: 2 }),
  },
  { name: 'a holder freezes, and is taken over', run: freezes },
  {
    name: 'a holder freezes right before a write, and does not send it when it resumes',
    short: 'http',
    run: freezesBeforeWrite,
  },
  { name: 'the server is down for a while', needsProxy: true, run: serverIsDownForAWhile },
  { name: 'the server is down until the run ends', needsProxy: true, short: 'http', run: serverStaysDown },
  { name: 'the server disappears in mid-apply', needsProxy: true, run: serverDisappears },
];

/** The test suite attacks only the first location of each backend. */
export const sharedStateCases: readonly Case[] = locationKinds.flatMap((kind) =>
  attacks
    .filter(({ needsProxy }) => !needsProxy || kind.name !== 'a repository in a folder')
    .map(({ name, short, run }) => ({
      group: `shared states: ${kind.name}`,
      name,
      backend: kind.backend,
      short:
        (short === 'all' || short === kind.backend) &&
        locationKinds.find(({ backend }) => backend === kind.backend) === kind,
      run: (bench: Bench, random: Random) => run(bench, random, kind),
    })),
);

const MANIFESTS = documents(
  ...['a', 'b', 'c', 'd', 'e', 'f'].map((name) => agent(name)),
  webhook('hook'),
  number('main', 1, { inbound_agent_id: { $ref: 'Agent/a' } }),
);
const SIZE = 8;

interface ConcurrentRuns {
  readonly rounds: number;
  readonly kills?: boolean;
  readonly cuts?: boolean;
  readonly maxMachines?: number;
}

async function concurrentRuns(
  [bench, random, kind]: readonly [Bench, Random, LocationKind],
  { rounds, kills = false, cuts = false, maxMachines = 8 }: ConcurrentRuns,
): Promise<void> {
  const count = random.int(2, maxMachines);
  await using machines = await Machines.open(bench, { kind, random, count, manifests: MANIFESTS });
  const { lab, location } = machines;
  for (let round = 1; round <= rounds; round++) {
    let posts = random.int(1, 4);
    let chunks = random.int(1, 120);
    lab.hook = async ({ method }) => {
      if (method === 'GET') return undefined;
      posts -= 1;
      if (kills && posts === 0) await machines.killOne(random);
      return cuts && random.chance(0.04) ? { cut: random.pick(['before', 'after'] as const) } : undefined;
    };
    if (location.proxy) {
      // Slow storage reveals actions that should wait for a stored state and do not.
      location.proxy.latency = random.pick([0, 10, 50]);
      location.proxy.fate = () => {
        chunks -= 1;
        if (kills && chunks === 0) {
          void machines.killOne(random);
          return random.chance(0.5) ? 'lost' : undefined;
        }
        return cuts && random.chance(kind.cutProbability) ? random.pick<Fate>(['lost', 'passed']) : undefined;
      };
    }
    const runs = machines.names.map((name) =>
      machines.apply(name, '--concurrency', String(random.int(1, 4)), '--lock-timeout', `${random.int(0, 6)}s`),
    );
    for (const result of await Promise.all(runs.map((run) => lab.waitFor(run)))) {
      if (!cuts) succeededOrLocked(result);
      else assert.ok(result.signal === 'SIGKILL' || result.code === 0 || result.code === 1, outputOf(result));
    }
    await checkWithoutFaults(machines, `after round ${round}`);
    if (random.chance(0.5)) await machines.unlock();
    else await machines.passTime();
  }
  await machines.passTime();
  await finish(machines);
}

/** Freezes a holder at a random write, lets another run take over, and resumes the holder. */
async function freezes(bench: Bench, random: Random, kind: LocationKind): Promise<void> {
  await using machines = await Machines.open(bench, { kind, random, count: 2, manifests: MANIFESTS });
  const { lab } = machines;
  const frozen = Promise.withResolvers<void>();
  const first = machines.apply('machine-1', '--concurrency', '2');
  let posts = random.int(1, 6);
  const withChildren = random.chance(0.5);
  lab.hook = ({ method }) => {
    posts -= method === 'GET' ? 0 : 1;
    if (posts === 0) {
      signal(first.child.pid, { name: 'SIGSTOP', withChildren });
      frozen.resolve();
    }
    return undefined;
  };
  await Promise.race([frozen.promise, first.ended]);
  await machines.passTime();
  const second = await lab.waitFor(machines.apply('machine-2'));
  succeeded(second, /acquired the lock of .* from a run without a heartbeat for [^:]+: \S+@machine-1/);
  await lab.check('while the first holder is frozen');
  signal(first.child.pid, { name: 'SIGCONT', withChildren });
  const resumed = await lab.waitFor(first);
  assert.equal(resumed.code, 1, outputOf(resumed));
  assert.match(outputOf(resumed), /this run lost the lock/);
  await checkWithoutFaults(machines, 'after the holder resumed');
  await finish(machines);
}

/** Freezes a holder after it has stored its intents and checked its lock, right before it sends the request. */
async function freezesBeforeWrite(bench: Bench, random: Random, kind: LocationKind): Promise<void> {
  await using machines = await Machines.open(bench, { kind, random, count: 2, manifests: MANIFESTS });
  const { lab } = machines;
  const first = machines.applyOn({ name: 'machine-1', freeze: random.int(1, 4) }, '--concurrency', '4');
  await first.waitUntilStopped();
  await machines.passTime();
  succeeded(
    await lab.waitFor(machines.apply('machine-2')),
    /acquired the lock of .* from a run without a heartbeat for/,
  );
  await lab.waitForPlatform();
  const writes = lab.writes();
  first.child.kill('SIGCONT');
  const resumed = await lab.waitFor(first);
  assert.equal(resumed.code, 1, outputOf(resumed));
  assert.match(outputOf(resumed), /this run lost the lock/);
  assert.equal(lab.writes(), writes, 'the run continued to write without its lock');
  await checkWithoutFaults(machines, 'after the holder resumed');
  await finish(machines);
}

/** From a random moment on, connections break or get no response for some time. */
async function serverIsDownForAWhile(bench: Bench, random: Random, kind: LocationKind): Promise<void> {
  await using machines = await Machines.open(bench, { kind, random, count: 1, manifests: MANIFESTS });
  const { lab } = machines;
  const { result, down } = startUntilDown(machines, random);
  await Promise.race([down, result]);
  await delay(random.int(100, 5_000));
  restoreServer(machines);
  succeeded(await result);
  await lab.check('after the server was down');
  await finish(machines);
}

async function serverStaysDown(bench: Bench, random: Random, kind: LocationKind): Promise<void> {
  await using machines = await Machines.open(bench, { kind, random, count: 1, manifests: MANIFESTS });
  const { child, result, down } = startUntilDown(machines, random);
  await Promise.race([down, result]);
  child.kill('SIGTERM');
  const { code } = await result;
  assert.notEqual(code, null, 'the run did not end by itself');
  await checkWithoutFaults(machines, 'after a run without its server');
  await machines.passTime();
  await finish(machines);
}

/** The run must give up by itself before the timeout of the campaign, and report the reason once. */
async function serverDisappears(bench: Bench, random: Random, kind: LocationKind): Promise<void> {
  await using machines = await Machines.open(bench, { kind, random, count: 1, manifests: MANIFESTS });
  const { lab, location } = machines;
  let posts = random.int(1, 6);
  const fate = random.pick<Fate>(['lost', 'held']);
  lab.hook = ({ method }) => {
    posts -= method === 'GET' ? 0 : 1;
    if (posts === 0 && location.proxy) location.proxy.fate = () => fate;
    return undefined;
  };
  const result = await lab.waitFor(machines.apply('machine-1', '--concurrency', '2'));
  assert.equal(result.code, 1, outputOf(result));
  assert.equal(outputOf(result).match(/cannot reach the state/g)?.length, 1, outputOf(result));
  await checkWithoutFaults(machines, 'after a run whose server disappeared');
  await machines.passTime();
  await finish(machines);
}

function startUntilDown(machines: Machines, random: Random) {
  const { lab, location } = machines;
  const down = Promise.withResolvers<void>();
  const run = machines.apply('machine-1', '--concurrency', '2');
  let chunks = random.int(1, 80);
  const fate = random.pick<Fate>(['lost', 'passed', 'held']);
  if (location.proxy) {
    location.proxy.fate = () => {
      chunks -= 1;
      if (chunks > 0) return undefined;
      down.resolve();
      return fate;
    };
  }
  return { child: run.child, result: lab.waitFor(run), down: down.promise };
}

function restoreServer({ location: { proxy } }: Machines): void {
  if (proxy === undefined) return;
  proxy.fate = () => undefined;
  proxy.letGo();
}

/** Ends all faults, and compares the records with the state. */
async function checkWithoutFaults(machines: Machines, when: string): Promise<void> {
  machines.lab.hook = () => undefined;
  restoreServer(machines);
  await machines.lab.check(when);
}

/** Finishes interrupted applies, settles unknown creates, and checks that each declared record exists once. */
async function finish(machines: Machines): Promise<void> {
  const { lab, location, names } = machines;
  for (const name of new Set([...machines.machinesWithRescueFiles, ...names.slice(0, 1)])) {
    succeeded(await lab.waitFor(machines.apply(name, '--lock-timeout', '30s')));
  }
  assert.deepEqual(machines.machinesWithRescueFiles, [], 'a rescue file was not recorded');
  await lab.check('after a run without faults');
  assert.equal(await location.store.holder(), undefined, 'a lock is left');
  await settleUnknowns(lab);
  await converges(lab);
  const { resources, pending } = await lab.state();
  assert.deepEqual([resources.size, pending.size], [SIZE, 0]);
  const contents = await location.contents();
  const readable = [...resources.values()].filter(({ id }) => contents.includes(id));
  assert.equal(readable.length, machines.isSealed ? 0 : SIZE, 'ids in the store');
  assert.equal(contents.includes('Be kind.'), !machines.isSealed, 'a prompt in the store');
}

function signal(
  pid: number | undefined,
  { name, withChildren }: { readonly name: NodeJS.Signals; readonly withChildren: boolean },
): void {
  if (pid !== undefined) process.kill(withChildren ? -pid : pid, name);
}

function outputOf({ code, signal, stdout, stderr }: ProcessResult): string {
  return `${signal ?? code}: ${unwrapped(stdout + stderr)}`;
}
