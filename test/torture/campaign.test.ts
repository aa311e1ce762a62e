import { afterAll, describe, expect, inject, it } from 'vitest';
import { allCases } from '../../scripts/torture/all-cases.ts';
import { Skipped } from '../../scripts/torture/cases.ts';
import { Figures } from '../../scripts/torture/figures.ts';
import { killTrial, placesByTurns } from '../../scripts/torture/kills.ts';
import { Random } from '../../scripts/torture/random.ts';

/* The short form of `npm run torture`: the same attacks, a few of each. */

const figures = new Figures();
const bench = { built: inject('built'), figures };
const seed = `short ${process.env.TORTURE_SEED ?? Date.now()}`;

afterAll(() => {
  expect(figures.isGood, figures.table()).toBe(true);
});

describe('killed anywhere', () => {
  it('loses nothing and makes nothing twice', { timeout: 120_000 }, async () => {
    const random = new Random(seed);
    const nextPlace = placesByTurns(random.branch('places'));
    await killTrial(bench, { random, mostKills: 8, nextPlace, isOver: () => false });
    expect(figures.countOf('kills by place')).toBeGreaterThan(0);
  });
});

describe.concurrent('under attack', () => {
  it.each(allCases.filter((each) => each.short))('$group: $name', { timeout: 120_000 }, async (each) => {
    try {
      await each.run(bench);
    } catch (error) {
      if (!(error instanceof Skipped)) throw error;
    }
  });
});
