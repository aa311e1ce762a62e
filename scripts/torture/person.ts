import assert from 'node:assert/strict';
import type { Emulator } from '../../src/emulator/start-emulator.ts';
import { commandOf } from '../../src/output/next-steps.ts';
import type { NextStep } from '../../src/problems/next-step.ts';
import { unknownRecord } from './census.ts';
import type { Lab } from './lab.ts';
import { firstAddress } from './manifests.ts';
import { Random } from './random.ts';

interface PlannedUnknown {
  readonly address: string;
  readonly action: string;
  readonly steps?: readonly NextStep[];
}

/** The commands, the platform and the state that the simulated person uses. */
export interface PersonContext extends Pick<Lab, 'run' | 'runAndDie' | 'state' | 'check' | 'figures'> {
  readonly emulator: Pick<Emulator, 'world'>;
}

interface PersonOptions {
  readonly random?: Random;
  /** The probability that the person skips a create. */
  readonly skips?: number;
  /** The probability that the person's command is killed, and run again. */
  readonly kills?: number;
}

/** Runs the commands of the plan for unknown creates: imports the record if the dashboard has it, and resolves the others as not created. */
export async function settleUnknowns(
  lab: PersonContext,
  { random = new Random('person'), skips = 0, kills = 0 }: PersonOptions = {},
): Promise<void> {
  const { code, stdout, stderr } = await lab.run('plan', '--output', 'json');
  assert.equal(code, 0, `plan failed: ${stderr}`);
  const { resources } = JSON.parse(stdout) as { readonly resources: readonly PlannedUnknown[] };
  for (const { address, action, steps = [] } of resources) {
    if (action !== 'unknown' || random.chance(skips)) continue;
    const record = unknownRecord(lab.emulator.world, await lab.state(), address);
    const words = commandIn(steps, record === undefined ? 'resolve_not_created' : 'import');
    const args = words.map((word) => (word === 'ID' && record !== undefined ? record.id : word));
    assert.ok(
      record === undefined || !address.startsWith('PhoneNumber/'),
      `the plan asks about ${address}, although a list shows its record`,
    );
    await settle(lab, args, { random, kills });
    const open = [...(await lab.state()).pending.keys()].map(firstAddress);
    assert.ok(!open.includes(firstAddress(address)), `${args.join(' ')} did not settle ${address}`);
  }
}

/** Returns the arguments of the command in the last step with this action. Earlier steps may be guesses. */
function commandIn(steps: readonly NextStep[], action: NextStep['action']): string[] {
  const step = steps.findLast((each) => each.action === action);
  assert.ok(step, `no step is ${action}: ${JSON.stringify(steps)}`);
  return commandOf(step, undefined).split(' ').slice(1);
}

async function settle(
  lab: PersonContext,
  args: readonly string[],
  { random, kills }: { readonly random: Random; readonly kills: number },
): Promise<void> {
  if (random.chance(kills)) {
    const point = random.pick(['before-append', 'after-append', 'before-fold', 'before-rename', 'after-rename']);
    const { signal } = await lab.runAndDie(point, random.int(1, 2), ...args);
    if (signal === 'SIGKILL') lab.figures.count('kills by point', `${args[0]}: ${point}`);
    await lab.check(`after ${args.join(' ')} was killed at ${point}`);
    const isOpen = [...(await lab.state()).pending.keys()].some((address) => args.includes(address));
    // Resolving a settled create again is an error; importing it again is not.
    if (!isOpen && args[0] === 'state') return;
  }
  const { code, stderr } = await lab.run(...args);
  assert.equal(code, 0, `${args.join(' ')} failed: ${stderr}`);
}
