import assert from 'node:assert/strict';
import fc from 'fast-check';
import { FuzzGround } from '../../test/trust/fuzz-ground.ts';
import { faultOf, targets } from '../../test/trust/fuzz-targets.ts';
import type { Case } from './cases.ts';
import type { Bench } from './lab.ts';

const GROUP = 'bad inputs tried';
/** The number of inputs of each target. `npm run fuzz` tries more. */
const RUNS = 25;

/** Runs whole commands in this process on damaged manifests, project files, states, journals, saved plans and responses. */
export const badInputCases: readonly Case[] = targets.map(({ name, attempts }) => ({
  group: GROUP,
  name,
  counts: true,
  async run({ figures }: Bench, random) {
    await using ground = await FuzzGround.open();
    const property = fc.asyncProperty(attempts(ground), async (attempt) => {
      assert.equal(await faultOf(ground, attempt), undefined);
    });
    const outcome = await fc.check(property, { numRuns: RUNS, seed: random.int(0, 0x7fffffff) });
    figures.count(GROUP, name, outcome.numRuns);
    assert.ok(!outcome.failed, fc.stringify(outcome.counterexample).slice(0, 2_000));
  },
}));
