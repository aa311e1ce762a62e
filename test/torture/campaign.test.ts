import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { allCases } from '../../scripts/torture/all-cases.ts';
import { type Case, Skipped } from '../../scripts/torture/cases.ts';
import { Figures } from '../../scripts/torture/figures.ts';
import { killPointsInTurn, killTrial } from '../../scripts/torture/kills.ts';
import type { Bench } from '../../scripts/torture/lab.ts';
import { Random } from '../../scripts/torture/random.ts';
import * as topics from '../../scripts/torture/topics.ts';
import { command } from '../trust/in-process.ts';

/* A short form of `npm run torture` with a few of each attack. Only the attacked program runs in a separate process. */

const figures = new Figures();
const bench: Bench = {
  built: inject('built'),
  figures,
  runInProcess: async (args, surroundings) => ({ ...(await command(args, surroundings)), signal: null }),
};
// The seed is fixed, so that unchanged code keeps passing; `TORTURE_SEED=random` draws another one, and prints it.
const given = process.env.TORTURE_SEED ?? '20261121';
const seed = given === 'random' ? String(Date.now()) : given;
const random = new Random(`short ${seed}`);
process.stdout.write(`campaign, seed ${seed}: again with TORTURE_SEED=${seed}\n`);

const short = allCases.filter((each) => each.short);
/** These take as long as all other types together, and have their own tests in which processes die. */
const slow = ['fleets', 'shared states', 'policies', 'moved states'];
/** One case of each other type, which the short form of the suite runs too. */
const firsts = new Map(short.toReversed().map((each) => [sortOf(each), each]));
for (const sort of slow) firsts.delete(sort);
const skipped: string[] = [];

afterAll(() => {
  expect(figures.hasPassed, `${figures.table()}seed ${seed}`).toBe(true);
  if (skipped.length === 0) return;
  const told = `WARNING: ${skipped.length} of ${short.length} attacks were NOT made: ${skipped.join('; ')}`;
  process.stderr.write(`${told}\n`);
  expect(skipped.length, told).toBeLessThan(short.length / 5);
});

describe.concurrent('under attack', () => {
  it('loses and duplicates nothing, wherever it is killed', async () => {
    const nextKillPoint = killPointsInTurn(random.branch('places'));
    await killTrial(bench, { random: random.branch('kills'), maxKills: 3, nextKillPoint, isOver: () => false });
    expect(figures.countOf('kills by point')).toBeGreaterThan(0);
  });

  for (const each of short) {
    const tags = firsts.get(sortOf(each)) === each ? [] : ['long'];
    it(`${each.group}: ${each.name}`, { tags }, async ({ skip }) => {
      try {
        await each.run(bench, random.branch(each.name));
      } catch (error) {
        if (!(error instanceof Skipped)) throw error;
        // A fault that did not occur has proved nothing.
        skipped.push(`${each.name} (${error.message})`);
        skip(error.message);
      }
    });
  }
});

function sortOf({ group }: Case): string {
  return group.split(':')[0] ?? group;
}

it('the campaign has the cases of every file that defines some', () => {
  const folder = path.join(import.meta.dirname, '../../scripts/torture');
  const made = readdirSync(folder).flatMap((file) =>
    [...readFileSync(path.join(folder, file), 'utf8').matchAll(/^export const (\w+Cases)\b/gm)].map(([, name]) => name),
  );
  expect(made.filter((name) => name !== 'allCases').sort()).toEqual(Object.keys(topics).sort());
});
