import { afterAll, describe, expect, inject, it } from 'vitest';
import { allCases } from '../../scripts/torture/all-cases.ts';
import { Skipped } from '../../scripts/torture/cases.ts';
import { Figures } from '../../scripts/torture/figures.ts';
import { killTrial, placesByTurns } from '../../scripts/torture/kills.ts';
import type { Bench } from '../../scripts/torture/lab.ts';
import { Random } from '../../scripts/torture/random.ts';
import { command } from '../trust/in-process.ts';

/* The short form of `npm run torture`: the same attacks, a few of each; in a process of its own only what is attacked there. */

const figures = new Figures();
const bench: Bench = {
  built: inject('built'),
  figures,
  calmly: async (args, surroundings) => ({ ...(await command(args, surroundings)), signal: null }),
};
const seed = `short ${process.env.TORTURE_SEED ?? Date.now()}`;

afterAll(() => {
  expect(figures.isGood, figures.table()).toBe(true);
});

/** Far more than it takes, for machines that are busy. */
const timeout = 240_000;

describe.concurrent('under attack', () => {
  it('loses nothing and makes nothing twice, wherever it is killed', { timeout }, async () => {
    const random = new Random(seed);
    const nextPlace = placesByTurns(random.branch('places'));
    await killTrial(bench, { random, mostKills: 3, nextPlace, isOver: () => false });
    expect(figures.countOf('kills by place')).toBeGreaterThan(0);
  });

  it.each(allCases.filter((each) => each.short))('$group: $name', { timeout }, async (each) => {
    try {
      await each.run(bench);
    } catch (error) {
      if (!(error instanceof Skipped)) throw error;
    }
  });
});
