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
  const permits = new Throttle({
    limit,
    requestsPerSecond,
    longestPause: 300_000,
    signal: controller.signal,
    now: clock.now,
    wait: clock.wait,
  });
  return { permits, limit, clock, controller };
}

/** Lets everything that can go on go on. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('the limit', () => {
  it('is halved once by a burst of 429, however many answers bring it', async () => {
    const { permits, limit } = throttle(16);
    const given = await Promise.all(Array.from({ length: 16 }, () => permits.take(false)));
    const counted = given.map((permit) => permits.refused(permit));
    expect(counted.filter(Boolean)).toHaveLength(1);
    expect(limit.now).toBe(8);
  });

  it('is halved again by the next burst, and never falls below one', async () => {
    const { permits, limit } = throttle(4);
    const limits: number[] = [];
    for (let round = 0; round < 4; round++) {
      permits.refused(await permits.take(false));
      permits.release();
      limits.push(limit.now);
    }
    expect(limits).toEqual([2, 1, 1, 1]);
  });

  it('found by itself is halved once by timeouts that come together; a chosen one stays', async () => {
    for (const [concurrency, after] of [
      ['auto', 8],
      [16, 16],
    ] as const) {
      const { permits, limit } = throttle(concurrency);
      const given = await Promise.all(Array.from({ length: 16 }, () => permits.take(false)));
      for (const permit of given) permits.timedOut(permit);
      expect(limit.now).toBe(after);
    }
  });

  it('grows back by one in many successes, up to what is allowed', async () => {
    const { permits, limit } = throttle(4);
    const permit = await permits.take(false);
    permits.refused(permit);
    permits.release();
    const limits = Array.from({ length: 40 }, () => {
      permits.succeeded(permit, TIME);
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
        const { permits } = throttle(concurrency);
        let running = 0;
        let served = 0;
        await Promise.all(
          results.map(async (result) => {
            const permit = await permits.take(false);
            running++;
            served++;
            expect(running).toBeLessThanOrEqual(concurrency);
            await Promise.resolve();
            if (result === 'good') permits.succeeded(permit, TIME);
            if (result === 'refused' && permits.refused(permit)) permits.pause(1000, 429);
            running--;
            permits.release();
          }),
        );
        expect(served).toBe(results.length);
      }),
    );
  });
});

describe('a permit', () => {
  it('goes to who tries again before who comes first', async () => {
    const { permits } = throttle(1);
    await permits.take(false);
    const order: string[] = [];
    const waiting = [
      Promise.resolve(permits.take(false)).then(() => order.push('first')),
      Promise.resolve(permits.take(true)).then(() => order.push('again')),
    ];
    permits.release();
    await settle();
    expect(order).toEqual(['again']);
    permits.release();
    await Promise.all(waiting);
    expect(order).toEqual(['again', 'first']);
  });

  it('is refused to those who wait when the pause is longer than anyone waits', async () => {
    const { permits, clock } = throttle(1);
    await permits.take(false);
    const waiting = Promise.resolve(permits.take(false)).catch((error: unknown) => error);
    permits.pause(300_001, 429);
    expect(await waiting).toBeInstanceOf(PauseTooLong);
    await expect(permits.take(false)).rejects.toBeInstanceOf(PauseTooLong);
    permits.release();
    clock.advance(300_001);
    expect(await permits.take(false)).toMatchObject({ burst: 0 });
  });

  it('is refused when the platform has done nothing but refuse for longer than anyone waits', async () => {
    const { permits, clock } = throttle(1);
    const refuse = async () => {
      permits.refused(await permits.take(true));
      permits.pause(200_000, 429);
      permits.release();
    };
    await refuse();
    permits.succeeded(await permits.take(true), TIME);
    permits.release();
    // A success in between begins the count anew.
    await refuse();
    await refuse();
    await expect(permits.take(true)).rejects.toBeInstanceOf(PauseTooLong);
    expect(clock.waits).toEqual([200_000, 200_000]);
  });

  it('is refused to those who wait when the signal comes', async () => {
    const { permits, controller } = throttle(1);
    await permits.take(false);
    const waiting = Promise.resolve(permits.take(false));
    controller.abort();
    await expect(waiting).rejects.toThrow('aborted');
  });

  it('comes in time, in the order asked, for a queue of thousands', async () => {
    const { permits } = throttle(2);
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 5000 }, async (_, index) => {
        await permits.take(false);
        order.push(index);
        permits.release();
      }),
    );
    expect(order).toEqual(Array.from({ length: 5000 }, (_, index) => index));
  });
});

describe('a pause', () => {
  it('that is announced is announced once to answers that came together', () => {
    const { permits, clock } = throttle(4);
    const notices: string[] = [];
    const pace = new LoadControl({
      throttle: permits,
      longestPause: 300_000,
      now: clock.now,
      random: () => 1,
      onNotice: (text) => notices.push(text),
    });
    const headers = { 'retry-after': '90' };
    const refusal = { type: 'answer', status: 429, headers, body: Buffer.alloc(0) } as const;
    for (let answer = 0; answer < 4; answer++) {
      pace.observe(refusal, { burst: 0, timeoutBurst: 0, stamp: 0 }, TIME);
      clock.advance(50);
    }
    expect(notices).toHaveLength(1);
    clock.advance(90_000);
    pace.observe(refusal, { burst: 1, timeoutBurst: 0, stamp: 0 }, TIME);
    expect(notices).toHaveLength(2);
  });
});
