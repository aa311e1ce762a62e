import assert from 'node:assert/strict';
import type { BehaviourPatch } from '../../src/emulator/behaviour.ts';
import type { Fault } from '../../src/emulator/faults.ts';
import { type Bench, Lab } from './lab.ts';
import { emailOf, FIFTY, fifty, promptOf, sizeOf } from './manifests.ts';
import { settleUnknowns } from './person.ts';
import type { Ended } from './processes.ts';
import type { Random } from './random.ts';

/** Where the command dies. Those of the first list are passages that `victim.ts` knows, one write at a time. */
const oneByOne = [
  'before intent',
  'after intent',
  'while sending',
  'after send',
  'when the answer begins',
  'after answer',
  'before outcome',
  'after outcome',
] as const;
/** Passages while many writes are under way. */
const manyAtOnce = ['before-append', 'after-append', 'after send', 'after answer'] as const;
const folding = ['before-fold', 'before-rename', 'after-rename', 'before-truncate'] as const;

interface Place {
  readonly name: string;
  readonly kill: (trial: Trial) => Promise<Ended>;
}

export const places: readonly Place[] = [
  { name: 'at a random instant', kill: atRandomInstant },
  ...oneByOne.map((name) => place(name, name, { atMost: 8, args: ['--concurrency', '1'] })),
  ...manyAtOnce.map((name) => place(`${name}, many at once`, name, { atMost: 4, args: [] })),
  ...folding.map((name) => place(name, name, { atMost: 2, args: [] })),
  { name: 'request arrived, never carried out', kill: (trial) => onArrival(trial, { cut: 'before' }) },
  { name: 'request arrived, carried out', kill: (trial) => onArrival(trial, undefined) },
];

interface Trial {
  readonly lab: Lab;
  readonly random: Random;
  /** Milliseconds that a run takes; measured as the trial goes on. */
  duration: number;
}

export interface KillOptions {
  readonly random: Random;
  /** Most kills of one trial before it is let run to its end. */
  readonly mostKills: number;
  /** The place of the next kill. */
  readonly nextPlace: () => Place;
  /** True once nothing more is to be killed. */
  readonly isOver: () => boolean;
}

/** Takes places by turns, so that each is visited as often as any other. */
export function placesByTurns(random: Random): () => Place {
  let queue: Place[] = [];
  return () => {
    if (queue.length === 0) queue = random.shuffled(places);
    return queue.pop() as Place;
  };
}

/**
 * Applies fifty resources, killed again and again; then their second edition, killed again, until everything is there. After each
 * kill the platform's records are held against the state, and now and then a person answers what the plan asks.
 */
export async function killTrial(bench: Bench, options: KillOptions): Promise<void> {
  const { random } = options;
  await using lab = await Lab.open(bench, {
    seed: random.seed,
    manifests: fifty(1),
    project: 'guards: { max_changed_percent: 100 }\n',
    behaviour: randomBehaviour(random),
  });
  lab.emulator.dashboard.addKnowledgeBase({ name: 'FAQ' });
  for (let index = 0; index < FIFTY.users; index++) {
    lab.emulator.dashboard.inviteUser({
      email: emailOf(`user-${index}`),
      role: index === 0 ? 'owner' : 'member',
    });
  }
  const trial: Trial = { lab, random, duration: 1_000 };
  const half = Math.ceil(options.mostKills / 2);
  try {
    await killAndGoOn(trial, half, options);
    // Manifests also change while something is still unknown.
    if (random.chance(0.6)) await finish(trial, 1);
    lab.write('manifests/all.yaml', fifty(2));
    await killAndGoOn(trial, options.mostKills - half, options);
    await finish(trial, 2);
  } catch (error) {
    throw new Error(`seed ${random.seed}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

async function killAndGoOn(trial: Trial, mostKills: number, options: KillOptions): Promise<void> {
  const { lab, random } = trial;
  for (let kills = 0; kills < mostKills && !options.isOver(); kills++) {
    const { name, kill } = options.nextPlace();
    const { code, signal, stderr } = await kill(trial);
    lab.hook = () => undefined;
    await lab.check(`after the kill ${name}`);
    if (signal !== 'SIGKILL') {
      assert.equal(code, 0, `a run that was not killed (${name}) failed: ${stderr}`);
      if ((await lab.state()).pending.size === 0) return;
    } else {
      lab.figures.count('kills by place', name);
    }
    if (random.chance(0.3)) await settleUnknowns(lab, { random, leaves: 0.3, dies: 0.15 });
  }
}

/** Lets it run to its end, and holds that everything is there once, is known, and is as the manifests say. */
async function finish({ lab, random }: Trial, edition: 1 | 2): Promise<void> {
  // What is settled may be forgotten by the first apply, where its manifest is gone, and only then be settled for good.
  await settleUnknowns(lab, { random, leaves: 0, dies: 0 });
  const applied = await lab.run('apply', '--auto-approve');
  assert.equal(applied.code, 0, `the last apply failed: ${applied.stdout}${applied.stderr}`);
  const planned = await lab.run('plan', '--detailed-exitcode');
  assert.equal(planned.code, 0, `there is something left to do: ${planned.stdout}${planned.stderr}`);
  await lab.check('at the end');
  const { agents, webhooks } = lab.emulator.world;
  const { resources, pending } = await lab.state();
  assert.deepEqual([...pending.keys()], [], `something is still unknown: ${applied.stdout}\n${planned.stdout}`);
  assert.equal(resources.size, sizeOf(edition));
  for (const [address, { id }] of resources) {
    const isThere = address.startsWith('Agent/') ? agents.has(id) : !address.startsWith('Webhook/') || webhooks.has(id);
    assert.ok(isThere, `${address} is ${id} in the state, and the platform has no such record`);
    const prompt = agents.get(id)?.prompt_config?.prompt;
    if (prompt !== undefined) assert.ok(String(prompt).startsWith(promptOf(edition)), `${address}: ${prompt}`);
    if (webhooks.has(id)) assert.equal(webhooks.get(id)?.timeout, 10 * edition);
  }
}

function place(
  name: string,
  point: string,
  { atMost, args }: { readonly atMost: number; readonly args: readonly string[] },
): Place {
  return {
    name,
    kill: ({ lab, random }) => lab.runAndDie(point, random.int(1, atMost), 'apply', '--auto-approve', ...args),
  };
}

async function atRandomInstant(trial: Trial): Promise<Ended> {
  const { lab, random } = trial;
  const startedAt = performance.now();
  const running = lab.start(['apply', '--auto-approve']);
  const timer = setTimeout(() => running.child.kill('SIGKILL'), random.next() * trial.duration * 1.1);
  const ended = await lab.ended(running);
  clearTimeout(timer);
  if (ended.signal === null) trial.duration = performance.now() - startedAt;
  return ended;
}

/** Kills the command when its nth write has arrived, and then lets the platform go on. */
async function onArrival({ lab, random }: Trial, fault: Fault | undefined): Promise<Ended> {
  let left = random.int(1, 8);
  const running = lab.start(['apply', '--auto-approve']);
  lab.hook = async ({ method }) => {
    if (method === 'GET') return undefined;
    left -= 1;
    if (left > 0) return undefined;
    running.child.kill('SIGKILL');
    await running.ended;
    return fault;
  };
  return lab.ended(running);
}

function randomBehaviour(random: Random): BehaviourPatch {
  return {
    put: random.pick(['merge', 'replace']),
    numericNumbers: random.chance(0.5),
    uniqueNumbers: random.chance(0.5),
    agentCreateStatus: random.pick([200, 201]),
    normalise: { trim: random.chance(0.5), reorderSets: random.chance(0.5), defaults: random.chance(0.5) },
    users: random.pick(['paged', 'whole', 'ignoresCursor', 'refusesQuery']),
    meta: random.pick(['documented', 'odd']),
    seesOtherWorkspace: random.chance(0.5),
  };
}
