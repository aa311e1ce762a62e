import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limitFor } from '../../src/platform/choose-limit.ts';
import type { Concurrency } from '../../src/platform/concurrency-limit.ts';
import { LoadControl } from '../../src/platform/load-control.ts';
import { PauseTooLong, Throttle } from '../../src/platform/throttle.ts';
import { TestClock } from './clock.ts';

const TIME = { sort: 'GET', milliseconds: 20, at: 20, inFlight: 16 };

function throttle(concurrency: Concurrency, requestsPerSecond: number | null = null) {
  const clock = new TestClock();
  const controller = new AbortController();
  const limit = limitFor(concurrency);
  const turns = new Throttle({
    limit,
    requestsPerSecond,
    longestPause: 300_000,
    signal: controller.signal,
    now: clock.now,
    wait: clock.wait,
  });
  return { turns, limit, clock, controller };
}

/** Lets everything that can go on go on. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('the limit', () => {
  it('is halved once by a burst of 429, however many answers bring it', async () => {
    const { turns, limit } = throttle(16);
    const given = await Promise.all(Array.from({ length: 16 }, () => turns.take(false)));
    const counted = given.map((turn) => turns.refused(turn));
    expect(counted.filter(Boolean)).toHaveLength(1);
    expect(limit.now).toBe(8);
  });

  it('is halved again by the next burst, and never falls below one', async () => {
    const { turns, limit } = throttle(4);
    const limits: number[] = [];
    for (let round = 0; round < 4; round++) {
      turns.refused(await turns.take(false));
      turns.release();
      limits.push(limit.now);
    }
    expect(limits).toEqual([2, 1, 1, 1]);
  });

  it('found by itself is halved once by timeouts that come together; a chosen one stays', async () => {
    for (const [concurrency, after] of [
      ['auto', 8],
      [16, 16],
    ] as const) {
      const { turns, limit } = throttle(concurrency);
      const given = await Promise.all(Array.from({ length: 16 }, () => turns.take(false)));
      for (const turn of given) turns.timedOut(turn);
      expect(limit.now).toBe(after);
    }
  });

  it('grows back by one in many successes, up to what is allowed', async () => {
    const { turns, limit } = throttle(4);
    const turn = await turns.take(false);
    turns.refused(turn);
    turns.release();
    const limits = Array.from({ length: 40 }, () => {
      turns.succeeded(turn, TIME);
      return limit.now;
    });
    expect(limits.filter((each) => each === 2)).toHaveLength(9);
    expect(limits.filter((each) => each === 3)).toHaveLength(10);
    expect(limits.at(-1)).toBe(4);
  });

  it('is never exceeded and leaves nobody waiting, whatever comes back', async () => {
    const outcomes = fc.array(fc.constantFrom('good', 'refused', 'failed'), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5 }), outcomes, async (concurrency, results) => {
        const { turns } = throttle(concurrency);
        let running = 0;
        let served = 0;
        await Promise.all(
          results.map(async (result) => {
            const turn = await turns.take(false);
            running++;
            served++;
            expect(running).toBeLessThanOrEqual(concurrency);
            await Promise.resolve();
            if (result === 'good') turns.succeeded(turn, TIME);
            if (result === 'refused' && turns.refused(turn)) turns.pause(1000, 429);
            running--;
            turns.release();
          }),
        );
        expect(served).toBe(results.length);
      }),
    );
  });
});

describe('a turn', () => {
  it('goes to who tries again before who comes first', async () => {
    const { turns } = throttle(1);
    await turns.take(false);
    const order: string[] = [];
    const waiting = [
      Promise.resolve(turns.take(false)).then(() => order.push('first')),
      Promise.resolve(turns.take(true)).then(() => order.push('again')),
    ];
    turns.release();
    await settle();
    expect(order).toEqual(['again']);
    turns.release();
    await Promise.all(waiting);
    expect(order).toEqual(['again', 'first']);
  });

  it('is refused to those who wait when the pause is longer than anyone waits', async () => {
    const { turns, clock } = throttle(1);
    await turns.take(false);
    const waiting = Promise.resolve(turns.take(false)).catch((error: unknown) => error);
    turns.pause(300_001, 429);
    expect(await waiting).toBeInstanceOf(PauseTooLong);
    await expect(turns.take(false)).rejects.toBeInstanceOf(PauseTooLong);
    turns.release();
    clock.advance(300_001);
    expect(await turns.take(false)).toMatchObject({ burst: 0 });
  });

  it('is refused when the platform has done nothing but refuse for longer than anyone waits', async () => {
    const { turns, clock } = throttle(1);
    const refuse = async () => {
      turns.refused(await turns.take(true));
      turns.pause(200_000, 429);
      turns.release();
    };
    await refuse();
    turns.succeeded(await turns.take(true), TIME);
    turns.release();
    // A success in between begins the count anew.
    await refuse();
    await refuse();
    await expect(turns.take(true)).rejects.toBeInstanceOf(PauseTooLong);
    expect(clock.waits).toEqual([200_000, 200_000]);
  });

  it('is refused to those who wait when the signal comes', async () => {
    const { turns, controller } = throttle(1);
    await turns.take(false);
    const waiting = Promise.resolve(turns.take(false));
    controller.abort();
    await expect(waiting).rejects.toThrow('aborted');
  });

  it('comes in time, in the order asked, for a queue of thousands', async () => {
    const { turns } = throttle(2);
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 5000 }, async (_, index) => {
        await turns.take(false);
        order.push(index);
        turns.release();
      }),
    );
    expect(order).toEqual(Array.from({ length: 5000 }, (_, index) => index));
  });
});

describe('a pause', () => {
  it('that is announced is announced once to answers that came together', () => {
    const { turns, clock } = throttle(4);
    const notices: string[] = [];
    const pace = new LoadControl({
      throttle: turns,
      longestPause: 300_000,
      now: clock.now,
      random: () => 1,
      onNotice: (text) => notices.push(text),
    });
    const headers = { 'retry-after': '90' };
    const refusal = { type: 'answer', status: 429, headers, body: Buffer.alloc(0) } as const;
    for (let answer = 0; answer < 4; answer++) {
      pace.hear(refusal, { burst: 0, lapse: 0, stamp: 0 }, TIME);
      clock.advance(50);
    }
    expect(notices).toHaveLength(1);
    clock.advance(90_000);
    pace.hear(refusal, { burst: 1, lapse: 0, stamp: 0 }, TIME);
    expect(notices).toHaveLength(2);
  });
});
