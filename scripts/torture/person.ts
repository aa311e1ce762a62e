import assert from 'node:assert/strict';
import type { Emulator } from '../../src/emulator/start-emulator.ts';
import { commandOf } from '../../src/output/next-steps.ts';
import type { NextStep } from '../../src/problems/next-step.ts';
import { unknownRecord } from './census.ts';
import type { Lab } from './lab.ts';
import { firstAddress } from './manifests.ts';
import type { Random } from './random.ts';

interface PlannedUnknown {
  readonly address: string;
  readonly action: string;
  readonly steps?: readonly NextStep[];
}

/** What the person has before them. */
export interface Desk extends Pick<Lab, 'run' | 'runAndDie' | 'state' | 'check' | 'figures'> {
  readonly emulator: Pick<Emulator, 'world'>;
}

/** How the person goes about it. */
export interface Manner {
  readonly random: Random;
  /** How likely an answer is put off. */
  readonly leaves: number;
  /** How likely the command that answers is killed, and given again. */
  readonly dies: number;
}

/**
 * Does what a person does who knows the dashboard and nothing else of voxform than what the plan says: every unknown create is
 * imported where its record is there, and said not to be created where it is not.
 * @returns how many answers were given.
 */
export async function settleUnknowns(lab: Desk, manner: Manner): Promise<number> {
  const { code, stdout, stderr } = await lab.run('plan', '--output', 'json');
  assert.equal(code, 0, `plan failed: ${stderr}`);
  const { resources } = JSON.parse(stdout) as { readonly resources: readonly PlannedUnknown[] };
  let answers = 0;
  for (const { address, action, steps = [] } of resources) {
    if (action !== 'unknown' || manner.random.chance(manner.leaves)) continue;
    const record = unknownRecord(lab.emulator.world, await lab.state(), address);
    const words = commandIn(steps, record === undefined ? 'resolve_not_created' : 'import');
    const args = words.map((word) => (word === 'ID' && record !== undefined ? record.id : word));
    assert.ok(
      record === undefined || !address.startsWith('PhoneNumber/'),
      `${address} is in the list, and the plan asks about it`,
    );
    await answer(lab, args, manner);
    const open = [...(await lab.state()).pending.keys()].map(firstAddress);
    assert.ok(!open.includes(firstAddress(address)), `${args.join(' ')} did not settle ${address}`);
    answers += 1;
  }
  return answers;
}

/** The words after `voxform` of the command that the last step of this action gives: before it there may be guesses. */
function commandIn(steps: readonly NextStep[], action: NextStep['action']): string[] {
  const step = steps.findLast((each) => each.action === action);
  assert.ok(step, `no step is ${action}: ${JSON.stringify(steps)}`);
  return commandOf(step, undefined).split(' ').slice(1);
}

async function answer(lab: Desk, args: readonly string[], { random, dies }: Manner): Promise<void> {
  if (random.chance(dies)) {
    const place = random.pick(['before-append', 'after-append', 'before-fold', 'before-rename', 'after-rename']);
    const { signal } = await lab.runAndDie(place, random.int(1, 2), ...args);
    if (signal === 'SIGKILL') lab.figures.count('kills by place', `${args[0]}: ${place}`);
    await lab.check(`after ${args.join(' ')} was killed at ${place}`);
    const isOpen = [...(await lab.state()).pending.keys()].some((address) => args.includes(address));
    // What is settled already is settled; an import says so, and is no error.
    if (!isOpen && args[0] === 'state') return;
  }
  const { code, stderr } = await lab.run(...args);
  assert.equal(code, 0, `${args.join(' ')} failed: ${stderr}`);
}
