import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limitFor } from '../../src/platform/choose-limit.ts';
import type { Concurrency } from '../../src/platform/concurrency-limit.ts';
import { PauseTooLong, Throttle } from '../../src/platform/throttle.ts';
import { TestClock } from './clock.ts';

const GOOD = { type: 'response', status: 200, headers: {}, body: Buffer.alloc(0) } as const;
const REFUSED = { ...GOOD, status: 429 } as const;
const TIMED_OUT = { type: 'failure', reason: 'timeout', sent: true, status: undefined, error: undefined } as const;
const TIME = { type: 'GET', milliseconds: 20, at: 20, inFlight: 16 };

function throttle(concurrency: Concurrency, requestsPerSecond: number | null = null) {
  const clock = new TestClock();
  const controller = new AbortController();
  const limit = limitFor(concurrency);
  const notices: string[] = [];
  const permits = new Throttle({
    limit,
    requestsPerSecond,
    maxPauseMs: 300_000,
    signal: controller.signal,
    now: clock.now,
    wait: clock.wait,
    random: () => 1,
    onNotice: (text) => notices.push(text),
  });
  return { permits, limit, clock, controller, notices };
}

function refusedFor(seconds: number) {
  return { ...REFUSED, headers: { 'retry-after': String(seconds) } };
}

/** Runs all pending callbacks. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('limit', () => {
  it('is halved once by a burst of 429 responses', async () => {
    const { permits, limit } = throttle(16);
    const given = await Promise.all(Array.from({ length: 16 }, () => permits.take(false)));
    for (const permit of given) permits.observe(REFUSED, permit, TIME);
    expect(limit.now).toBe(8);
  });

  it('is halved again by the next burst, and never falls below one', async () => {
    const { permits, limit } = throttle(4);
    const limits: number[] = [];
    for (let round = 0; round < 4; round++) {
      permits.observe(REFUSED, await permits.take(false), TIME);
      permits.release();
      limits.push(limit.now);
    }
    expect(limits).toEqual([2, 1, 1, 1]);
  });

  it('is halved once by concurrent timeouts if automatic; a configured one stays', async () => {
    for (const [concurrency, after] of [
      ['auto', 8],
      [16, 16],
    ] as const) {
      const { permits, limit } = throttle(concurrency);
      const given = await Promise.all(Array.from({ length: 16 }, () => permits.take(false)));
      for (const permit of given) permits.observe(TIMED_OUT, permit, TIME);
      expect(limit.now).toBe(after);
    }
  });

  it('rises by one after many successes, up to the maximum', async () => {
    const { permits, limit } = throttle(4);
    const permit = await permits.take(false);
    permits.observe(REFUSED, permit, TIME);
    permits.release();
    const limits = Array.from({ length: 40 }, () => {
      permits.observe(GOOD, permit, TIME);
      return limit.now;
    });
    expect(limits.filter((each) => each === 2)).toHaveLength(9);
    expect(limits.filter((each) => each === 3)).toHaveLength(10);
    expect(limits.at(-1)).toBe(4);
  });

  it('is never exceeded and lets all requests end, for any responses', async () => {
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
            if (result === 'good') permits.observe(GOOD, permit, TIME);
            if (result === 'refused') permits.observe(REFUSED, permit, TIME);
            running--;
            permits.release();
          }),
        );
        expect(served).toBe(results.length);
      }),
    );
  });
});

describe('permit', () => {
  it('is granted to retries before new requests', async () => {
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

  it('is refused to waiting requests if the pause exceeds the maximum wait', async () => {
    const { permits, clock } = throttle(1);
    const held = await permits.take(false);
    const waiting = Promise.resolve(permits.take(false)).catch((error: unknown) => error);
    permits.observe(refusedFor(301), held, TIME);
    expect(await waiting).toBeInstanceOf(PauseTooLong);
    await expect(permits.take(false)).rejects.toBeInstanceOf(PauseTooLong);
    permits.release();
    clock.advance(301_000);
    expect(await permits.take(false)).toMatchObject({ burst: 1 });
  });

  it('is refused if the platform has only refused requests for longer than the maximum wait', async () => {
    const { permits, clock } = throttle(1);
    const refuse = async () => {
      permits.observe(refusedFor(200), await permits.take(true), TIME);
      permits.release();
    };
    await refuse();
    permits.observe(GOOD, await permits.take(true), TIME);
    permits.release();
    // A success in between restarts the count.
    await refuse();
    await refuse();
    await expect(permits.take(true)).rejects.toBeInstanceOf(PauseTooLong);
    expect(clock.waits).toEqual([200_000, 200_000]);
  });

  it('is refused to waiting requests on the signal', async () => {
    const { permits, controller } = throttle(1);
    await permits.take(false);
    const waiting = Promise.resolve(permits.take(false));
    controller.abort();
    await expect(waiting).rejects.toThrow('aborted');
  });

  it('is granted in time, in order, for a queue of thousands', async () => {
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

describe('pause', () => {
  it('is announced once for concurrent responses', () => {
    const { permits, clock, notices } = throttle(4);
    for (let answer = 0; answer < 4; answer++) {
      permits.observe(refusedFor(90), { burst: 0, timeoutBurst: 0, stamp: 0 }, TIME);
      clock.advance(50);
    }
    expect(notices).toHaveLength(1);
    clock.advance(90_000);
    permits.observe(refusedFor(90), { burst: 1, timeoutBurst: 0, stamp: 0 }, TIME);
    expect(notices).toHaveLength(2);
  });
});
