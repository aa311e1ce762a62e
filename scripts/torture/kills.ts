import assert from 'node:assert/strict';
import type { BehaviourPatch } from '../../src/emulator/behaviour.ts';
import type { Fault } from '../../src/emulator/faults.ts';
import { APPLY, type Bench, Lab } from './lab.ts';
import { emailOf, FIFTY, fifty, promptOf, sizeOf } from './manifests.ts';
import { settleUnknowns } from './person.ts';
import type { ProcessResult } from './processes.ts';
import type { Random } from './random.ts';

/** Kill points of `victim.ts`, with one write at a time. */
const sequentialPoints = [
  'before intent',
  'after intent',
  'while sending',
  'after send',
  'when the answer begins',
  'after answer',
  'before outcome',
  'after outcome',
] as const;
/** Kill points with concurrent writes. */
const concurrentPoints = ['before-append', 'after-append', 'after send', 'after answer'] as const;
const foldPoints = ['before-fold', 'before-rename', 'after-rename', 'before-truncate'] as const;

interface KillPoint {
  readonly name: string;
  readonly kill: (trial: Trial) => Promise<ProcessResult>;
}

const killPoints: readonly KillPoint[] = [
  { name: 'at a random instant', kill: atRandomInstant },
  ...sequentialPoints.map((name) => killPoint(name, name, { maxNth: 8, args: ['--concurrency', '1'] })),
  ...concurrentPoints.map((name) => killPoint(`${name}, concurrent writes`, name, { maxNth: 4, args: [] })),
  ...foldPoints.map((name) => killPoint(name, name, { maxNth: 2, args: [] })),
  { name: 'request received, not applied', kill: (trial) => onArrival(trial, { cut: 'before' }) },
  { name: 'request received and applied', kill: (trial) => onArrival(trial, undefined) },
];

interface Trial {
  readonly lab: Lab;
  readonly random: Random;
  /** The duration of the last complete run. */
  durationMs: number;
}

export interface KillOptions {
  readonly random: Random;
  /** The maximum number of kills before the trial runs to its end. */
  readonly maxKills: number;
  /** Returns the next kill point. */
  readonly nextKillPoint: () => KillPoint;
  /** Returns true if no more runs may be killed. */
  readonly isOver: () => boolean;
}

/** Returns a function that visits all kill points in turn, in random order. */
export function killPointsInTurn(random: Random): () => KillPoint {
  let queue: KillPoint[] = [];
  return () => {
    if (queue.length === 0) queue = random.shuffled(killPoints);
    return queue.pop() as KillPoint;
  };
}

/**
 * Applies fifty resources, then their second edition, with repeated kills. After each kill, compares the records on the platform with the
 * state, and sometimes settles unknown creates as a person does.
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
  const trial: Trial = { lab, random, durationMs: 1_000 };
  const half = Math.ceil(options.maxKills / 2);
  try {
    await applyWithKills(trial, half, options);
    // Manifests may also change while creates are unknown.
    if (random.chance(0.6)) await finish(trial, 1);
    lab.write('manifests/all.yaml', fifty(2));
    await applyWithKills(trial, options.maxKills - half, options);
    await finish(trial, 2);
  } catch (error) {
    throw new Error(`seed ${random.seed}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

async function applyWithKills(trial: Trial, maxKills: number, options: KillOptions): Promise<void> {
  const { lab, random } = trial;
  for (let kills = 0; kills < maxKills && !options.isOver(); kills++) {
    const { name, kill } = options.nextKillPoint();
    const { code, signal, stderr } = await kill(trial);
    lab.hook = () => undefined;
    await lab.check(`after the kill ${name}`);
    if (signal !== 'SIGKILL') {
      assert.equal(code, 0, `a run that was not killed (${name}) failed: ${stderr}`);
      if ((await lab.state()).pending.size === 0) return;
    } else {
      lab.figures.count('kills by point', name);
    }
    if (random.chance(0.3)) await settleUnknowns(lab, { random, skips: 0.3, kills: 0.15 });
  }
}

/** Applies without kills, and checks that each declared record exists once, is in the state, and matches its manifest. */
async function finish({ lab, random }: Trial, edition: 1 | 2): Promise<void> {
  // The apply may then release a settled record whose manifest was removed.
  await settleUnknowns(lab, { random });
  const applied = await lab.run(...APPLY);
  assert.equal(applied.code, 0, `the last apply failed: ${applied.stdout}${applied.stderr}`);
  const planned = await lab.run('plan', '--detailed-exitcode');
  assert.equal(planned.code, 0, `the plan is not empty: ${planned.stdout}${planned.stderr}`);
  await lab.check('at the end');
  const { agents, webhooks } = lab.emulator.world;
  const { resources, pending } = await lab.state();
  assert.deepEqual([...pending.keys()], [], `creates are still unknown: ${applied.stdout}\n${planned.stdout}`);
  assert.equal(resources.size, sizeOf(edition));
  for (const [address, { id }] of resources) {
    const exists = address.startsWith('Agent/') ? agents.has(id) : !address.startsWith('Webhook/') || webhooks.has(id);
    assert.ok(exists, `${address} is ${id} in the state, but the platform has no such record`);
    const prompt = agents.get(id)?.prompt_config?.prompt;
    if (prompt !== undefined) assert.ok(String(prompt).startsWith(promptOf(edition)), `${address}: ${prompt}`);
    if (webhooks.has(id)) assert.equal(webhooks.get(id)?.timeout, 10 * edition);
  }
}

function killPoint(
  name: string,
  point: string,
  { maxNth, args }: { readonly maxNth: number; readonly args: readonly string[] },
): KillPoint {
  return {
    name,
    kill: ({ lab, random }) => lab.runAndDie(point, random.int(1, maxNth), 'apply', '--auto-approve', ...args),
  };
}

async function atRandomInstant(trial: Trial): Promise<ProcessResult> {
  const { lab, random } = trial;
  const startedAt = performance.now();
  const running = lab.start(['apply', '--auto-approve']);
  const timer = setTimeout(() => running.child.kill('SIGKILL'), random.next() * trial.durationMs * 1.1);
  const result = await lab.waitFor(running);
  clearTimeout(timer);
  if (result.signal === null) trial.durationMs = performance.now() - startedAt;
  return result;
}

/** Kills the command when the platform has received its nth write. Then the platform handles the write. */
async function onArrival({ lab, random }: Trial, fault: Fault | undefined): Promise<ProcessResult> {
  let remaining = random.int(1, 8);
  const running = lab.start(['apply', '--auto-approve']);
  lab.hook = async ({ method }) => {
    if (method === 'GET') return undefined;
    remaining -= 1;
    if (remaining > 0) return undefined;
    running.child.kill('SIGKILL');
    await running.ended;
    return fault;
  };
  return lab.waitFor(running);
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
