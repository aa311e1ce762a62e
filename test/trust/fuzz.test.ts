import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FuzzGround } from './fuzz-ground.ts';
import { faultOf, targets } from './fuzz-targets.ts';

/** A short form of what `npm run fuzz` does at length. */
const RUNS = 25;

let ground: FuzzGround;

beforeAll(async () => {
  ground = await FuzzGround.open();
});

afterAll(async () => {
  await ground[Symbol.asyncDispose]();
});

describe('bad input gives a message, never an error of our own', () => {
  it.each(targets)('$name', async ({ attempts }) => {
    await fc.assert(
      fc.asyncProperty(attempts(ground), async (attempt) => {
        expect(await faultOf(ground, attempt)).toBeUndefined();
      }),
      { numRuns: RUNS },
    );
  });
});
