import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { Fate } from '../../test/state/backends/tcp-proxy.ts';
import type { Case } from './cases.ts';
import { converges, succeeded, unwrapped } from './expectations.ts';
import type { Bench } from './lab.ts';
import { endedWell, Machines } from './machines.ts';
import { agent, documents, number, webhook } from './manifests.ts';
import { settleUnknowns } from './person.ts';
import type { Ended } from './processes.ts';
import { Random } from './random.ts';
import { type PlaceKind, placeKinds } from './shared-places.ts';

interface Attack {
  readonly name: string;
  /** Those that need something between the runs and the store. */
  readonly needsProxy?: boolean;
  /** In which backends the short form makes it. */
  readonly short?: 'all' | 'http';
  run(bench: Bench, random: Random, kind: PlaceKind): Promise<void>;
}

const attacks: readonly Attack[] = [
  {
    name: 'of many runs at once some are killed',
    run: (...given) => storms(given, { rounds: 3, kills: true }),
  },
  {
    name: 'answers of the store and the platform are lost',
    needsProxy: true,
    run: (...given) => storms(given, { rounds: 2, cuts: true }),
  },
  {
    name: 'kills and lost answers at once',
    needsProxy: true,
    short: 'all',
    run: (...given) => storms(given, { rounds: 1, kills: true, cuts: true, most: 2 }),
  },
  { name: 'a holder freezes, and is taken over', run: freezes },
  {
    name: 'a holder freezes right before it sends, and sends nothing when it wakes',
    short: 'http',
    run: wakes,
  },
  { name: 'a store that is down for a while', needsProxy: true, run: isDownForAWhile },
  { name: 'a store that stays away until the run ends', needsProxy: true, short: 'http', run: staysAway },
  { name: 'a store that vanishes in mid-apply', needsProxy: true, run: vanishes },
];

/** The first place of each backend is also attacked in the short form. */
export const sharedStateCases: readonly Case[] = placeKinds.flatMap((kind) =>
  attacks
    .filter(({ needsProxy }) => !needsProxy || kind.name !== 'a repository in a folder')
    .map(({ name, short, run }) => ({
      group: `shared states: ${kind.name}`,
      name,
      backend: kind.backend,
      short:
        (short === 'all' || short === kind.backend) &&
        placeKinds.find(({ backend }) => backend === kind.backend) === kind,
      run: (bench: Bench, random: Random) => run(bench, random, kind),
    })),
);

const MANIFESTS = documents(
  ...['a', 'b', 'c', 'd', 'e', 'f'].map((name) => agent(name)),
  webhook('hook'),
  number('main', 1, { inbound_agent_id: { $ref: 'Agent/a' } }),
);
const SIZE = 8;

interface Storm {
  readonly rounds: number;
  readonly kills?: boolean;
  readonly cuts?: boolean;
  /** Most machines. */
  readonly most?: number;
}

async function storms(
  [bench, random, kind]: readonly [Bench, Random, PlaceKind],
  { rounds, kills = false, cuts = false, most = 8 }: Storm,
): Promise<void> {
  const count = random.int(2, most);
  await using machines = await Machines.open(bench, { kind, random, count, manifests: MANIFESTS });
  const { lab, place } = machines;
  for (let round = 1; round <= rounds; round++) {
    let posts = random.int(1, 4);
    let pieces = random.int(1, 120);
    lab.hook = async ({ method }) => {
      if (method === 'GET') return undefined;
      posts -= 1;
      if (kills && posts === 0) await machines.killOne(random);
      return cuts && random.chance(0.04) ? { cut: random.pick(['before', 'after'] as const) } : undefined;
    };
    if (place.proxy) {
      // What happens before something is stored that should come after it is seen when storing takes its time.
      place.proxy.latency = random.pick([0, 10, 50]);
      place.proxy.fate = () => {
        pieces -= 1;
        if (kills && pieces === 0) {
          void machines.killOne(random);
          return random.chance(0.5) ? 'lost' : undefined;
        }
        return cuts && random.chance(kind.cuts) ? random.pick<Fate>(['lost', 'passed']) : undefined;
      };
    }
    const runs = machines.names.map((name) =>
      machines.apply(name, '--concurrency', String(random.int(1, 4)), '--lock-timeout', `${random.int(0, 6)}s`),
    );
    for (const ended of await Promise.all(runs.map((run) => lab.ended(run)))) {
      if (!cuts) endedWell(ended);
      else assert.ok(ended.signal === 'SIGKILL' || ended.code === 0 || ended.code === 1, said(ended));
    }
    await calm(machines, `after round ${round}`);
    if (random.chance(0.5)) await machines.unlock();
    else await machines.passTime();
  }
  await machines.passTime();
  await finish(machines);
}

/** At a random moment of its run; what it had sent goes on. Then it wakes up. */
async function freezes(bench: Bench, random: Random, kind: PlaceKind): Promise<void> {
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
  const second = await lab.ended(machines.apply('machine-2'));
  succeeded(second, /acquired the lock of .* from a run without a heartbeat for [^:]+: \S+@machine-1/);
  await lab.check('while the first holder is frozen');
  signal(first.child.pid, { name: 'SIGCONT', withChildren });
  const woken = await lab.ended(first);
  assert.equal(woken.code, 1, said(woken));
  assert.match(said(woken), /this run lost the lock/);
  await calm(machines, 'after it woke up');
  await finish(machines);
}

/** When it stored its intents and checked its lock, so that only the first byte was missing. */
async function wakes(bench: Bench, random: Random, kind: PlaceKind): Promise<void> {
  await using machines = await Machines.open(bench, { kind, random, count: 2, manifests: MANIFESTS });
  const { lab } = machines;
  const first = machines.applyOn({ name: 'machine-1', freeze: random.int(1, 4) }, '--concurrency', '4');
  await first.frozen();
  await machines.passTime();
  succeeded(await lab.ended(machines.apply('machine-2')), /acquired the lock of .* from a run without a heartbeat for/);
  await lab.settled();
  const writes = lab.writes();
  first.child.kill('SIGCONT');
  const woken = await lab.ended(first);
  assert.equal(woken.code, 1, said(woken));
  assert.match(said(woken), /this run lost the lock/);
  assert.equal(lab.writes(), writes, 'it went on writing without its lock');
  await calm(machines, 'after it woke up');
  await finish(machines);
}

/** Its connections break, or nothing is answered, from some moment on and for some time. */
async function isDownForAWhile(bench: Bench, random: Random, kind: PlaceKind): Promise<void> {
  await using machines = await Machines.open(bench, { kind, random, count: 1, manifests: MANIFESTS });
  const { lab } = machines;
  const { ended, down } = goingDown(machines, random);
  await Promise.race([down, ended]);
  await delay(random.int(100, 5_000));
  comeBack(machines);
  succeeded(await ended);
  await lab.check('after the store was down');
  await finish(machines);
}

async function staysAway(bench: Bench, random: Random, kind: PlaceKind): Promise<void> {
  await using machines = await Machines.open(bench, { kind, random, count: 1, manifests: MANIFESTS });
  const { child, ended, down } = goingDown(machines, random);
  await Promise.race([down, ended]);
  child.kill('SIGTERM');
  const { code } = await ended;
  assert.notEqual(code, null, 'it did not end by itself');
  await calm(machines, 'after a run without its store');
  await machines.passTime();
  await finish(machines);
}

/** The run gives up by itself, in less time than any process of a campaign has, and says once why. */
async function vanishes(bench: Bench, random: Random, kind: PlaceKind): Promise<void> {
  await using machines = await Machines.open(bench, { kind, random, count: 1, manifests: MANIFESTS });
  const { lab, place } = machines;
  let posts = random.int(1, 6);
  const fate = random.pick<Fate>(['lost', 'held']);
  lab.hook = ({ method }) => {
    posts -= method === 'GET' ? 0 : 1;
    if (posts === 0 && place.proxy) place.proxy.fate = () => fate;
    return undefined;
  };
  const ended = await lab.ended(machines.apply('machine-1', '--concurrency', '2'));
  assert.equal(ended.code, 1, said(ended));
  assert.equal(said(ended).match(/cannot reach the state/g)?.length, 1, said(ended));
  await calm(machines, 'after a run whose store vanished');
  await machines.passTime();
  await finish(machines);
}

function goingDown(machines: Machines, random: Random) {
  const { lab, place } = machines;
  const down = Promise.withResolvers<void>();
  const run = machines.apply('machine-1', '--concurrency', '2');
  let pieces = random.int(1, 80);
  const fate = random.pick<Fate>(['lost', 'passed', 'held']);
  if (place.proxy) {
    place.proxy.fate = () => {
      pieces -= 1;
      if (pieces > 0) return undefined;
      down.resolve();
      return fate;
    };
  }
  return { child: run.child, ended: lab.ended(run), down: down.promise };
}

function comeBack({ place: { proxy } }: Machines): void {
  if (proxy === undefined) return;
  proxy.fate = () => undefined;
  proxy.letGo();
}

/** Nothing goes wrong any more; holds every record against the state. */
async function calm(machines: Machines, when: string): Promise<void> {
  machines.lab.hook = () => undefined;
  comeBack(machines);
  await machines.lab.check(when);
}

/** Lets the machines end what they began, a person answer what is unknown, and holds that everything is there once. */
async function finish(machines: Machines): Promise<void> {
  const { lab, place, names } = machines;
  for (const name of new Set([...machines.withRescues, ...names.slice(0, 1)])) {
    succeeded(await lab.ended(machines.apply(name, '--lock-timeout', '30s')));
  }
  assert.deepEqual(machines.withRescues, [], 'a rescue file was not taken in');
  await lab.check('after a run that nothing happened to');
  assert.equal(await place.store.holder(), undefined, 'a lock is left');
  await settleUnknowns(lab, { random: new Random('finish'), leaves: 0, dies: 0 });
  await converges(lab);
  const { resources, pending } = await lab.state();
  assert.deepEqual([resources.size, pending.size], [SIZE, 0]);
  const contents = await place.contents();
  const found = [...resources.values()].filter(({ id }) => contents.includes(id));
  assert.equal(found.length, machines.isSealed ? 0 : SIZE, 'ids in the store');
  assert.equal(contents.includes('Be kind.'), !machines.isSealed, 'a prompt in the store');
}

function signal(
  pid: number | undefined,
  { name, withChildren }: { readonly name: NodeJS.Signals; readonly withChildren: boolean },
): void {
  if (pid !== undefined) process.kill(withChildren ? -pid : pid, name);
}

function said({ code, signal, stdout, stderr }: Ended): string {
  return `${signal ?? code}: ${unwrapped(stdout + stderr)}`;
}
