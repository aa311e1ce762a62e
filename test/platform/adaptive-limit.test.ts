import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AdaptiveLimit } from '../../src/platform/adaptive-limit.ts';
import { MAX_AUTO_CONCURRENCY } from '../../src/platform/concurrency-limit.ts';
import { type Answer, type SimulatedServer, simulate } from './simulated-server.ts';

const idle = () => 0;
const twenty = () => 20;

function run(server: SimulatedServer, requests = 8000, seed = 1): Answer[] {
  return simulate(new AdaptiveLimit(idle), server, { requests, seed });
}

/** Returns the second half, when the limit has settled. */
function settled(answers: readonly Answer[]): readonly Answer[] {
  return answers.slice(answers.length / 2);
}

function highest(answers: readonly Answer[]): number {
  return Math.max(...answers.map(({ limit }) => limit));
}

/** Returns the largest share of refusals among any 500 consecutive responses. */
function worstShare(answers: readonly Answer[]): number {
  let [refused, worst] = [0, 0];
  for (const [index, { isRefused }] of answers.entries()) {
    refused += Number(isRefused) - Number(answers[index - 500]?.isRefused ?? false);
    worst = Math.max(worst, refused / 500);
  }
  return worst;
}

/** Returns the milliseconds for this number of responses at the best concurrency. */
function best(answers: number, latency: number, atOnce: number): number {
  return (answers / atOnce) * latency;
}

function timeOf(answers: readonly Answer[]): number {
  return answers.at(-1)?.time ?? Number.NaN;
}

describe('automatic limit', () => {
  it('starts at 16 and rises to 64 on a fast server, and no further', () => {
    const answers = run({ latency: twenty, noise: 0.1 }, 10_000);
    expect(answers[0]?.limit).toBe(16);
    expect(answers.slice(0, 1000).at(-1)?.limit).toBe(MAX_AUTO_CONCURRENCY);
    expect(highest(answers)).toBe(MAX_AUTO_CONCURRENCY);
    expect(timeOf(answers)).toBeLessThan(1.15 * best(10_000, 20, MAX_AUTO_CONCURRENCY));
  });

  it.each([0, 0.01])('counts waves in full: 300 creates at 150 ms reach 64, noise %d', (noise) => {
    const server = { latency: () => 150, noise };
    const sent = { requests: 300, every: 7 };
    for (const seed of [1, 2, 3]) {
      const answers = simulate(new AdaptiveLimit(idle), server, { ...sent, seed });
      expect(highest(answers), String(seed)).toBe(MAX_AUTO_CONCURRENCY);
      const few = simulate(new AdaptiveLimit(idle), { ...server, worksAt: () => 16 }, { ...sent, seed });
      expect(highest(few)).toBeLessThanOrEqual(24);
    }
  });

  it.each([0, 0.3])('changes nothing in a run of 16 requests, noise %d', (noise) => {
    expect(run({ latency: twenty, noise }, 16).map(({ limit }) => limit)).toEqual(Array(16).fill(16));
  });

  const refusing = [1, 2, 4, 12, 16, 20, 40, 50, 63, 64, 100].flatMap((k) =>
    [0, 0.3, 0.6].map((noise) => ({ k, noise })),
  );
  it.each(refusing)('is seldom refused above $k at once, noise $noise', ({ k, noise }) => {
    const server = { latency: twenty, noise, refusesPast: () => k };
    const answers = settled(run(server, 8000, k));
    expect(worstShare(answers)).toBeLessThanOrEqual(0.05);
    const mean = answers.reduce((sum, { limit }) => sum + limit, 0) / answers.length;
    expect(mean).toBeGreaterThan(0.7 * Math.min(k, MAX_AUTO_CONCURRENCY));
  });

  const slowing = [2, 3, 4, 8, 11, 12, 16, 20, 30, 40].flatMap((k) => [0, 0.2, 0.4].map((noise) => ({ k, noise })));
  it.each(slowing)('stays near $k if more requests at once only wait, noise $noise', ({ k, noise }) => {
    const answers = run({ latency: twenty, noise, worksAt: () => k }, 16_000, k);
    expect(highest(settled(answers))).toBeLessThanOrEqual(1.5 * k);
    if (k >= 16) expect(highest(answers)).toBeLessThanOrEqual(1.5 * k);
    expect(timeOf(answers)).toBeLessThan(1.25 * best(16_000, 20, k) * Math.exp(noise ** 2 / 2));
  });

  it('satisfies both for any server, seed and latency', { tags: ['long'] }, () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 48 }),
        fc.integer({ min: 1, max: 3000 }),
        fc.double({ min: 0, max: 0.3, noNaN: true }),
        fc.integer(),
        (k, latency, noise, seed) => {
          const common = { latency: () => latency, noise };
          const slowed = run({ ...common, worksAt: () => k }, 16_000, seed);
          expect(highest(settled(slowed))).toBeLessThanOrEqual(1.5 * k);
          const refused = run({ ...common, refusesPast: () => k }, 8000, seed);
          expect(worstShare(settled(refused))).toBeLessThanOrEqual(0.05);
        },
      ),
      { numRuns: 40 },
    );
  });
});

describe('server that changes', () => {
  const changes = (time: number): number => (time < 4000 ? 40 : time < 16_000 ? 8 : 50);
  const at = (answers: readonly Answer[], from: number, to: number) =>
    answers.filter(({ time }) => time >= from && time < to);

  it('that first serves fewer, then more requests at once is followed', () => {
    const answers = run({ latency: twenty, noise: 0.1, worksAt: changes }, 40_000);
    expect(highest(at(answers, 0, 4000))).toBeLessThanOrEqual(60);
    expect(highest(at(answers, 10_000, 16_000))).toBeLessThanOrEqual(12);
    const later = at(answers, 22_000, 26_000);
    expect(later.length).toBeGreaterThan(1000);
    expect(Math.min(...later.map(({ limit }) => limit))).toBeGreaterThanOrEqual(32);
  });

  it('that first refuses above fewer, then above more requests is followed', () => {
    const answers = run({ latency: twenty, noise: 0.1, refusesPast: changes }, 40_000);
    const few = at(answers, 7500, 16_000);
    expect(worstShare(few)).toBeLessThanOrEqual(0.05);
    expect(highest(few)).toBeLessThanOrEqual(10);
    expect(answers.at(-1)?.limit).toBeGreaterThanOrEqual(32);
  });

  it('from refusing to slowing and back is followed', () => {
    const refuses = (time: number): boolean => time % 12_000 < 6000;
    const server: SimulatedServer = {
      latency: twenty,
      noise: 0.1,
      refusesPast: (time) => (refuses(time) ? 20 : 1000),
      worksAt: (time) => (refuses(time) ? 1000 : 20),
    };
    const answers = run(server, 24_000);
    expect(highest(answers)).toBeLessThanOrEqual(30);
    expect(worstShare(answers)).toBeLessThanOrEqual(0.05);
    expect(timeOf(answers)).toBeLessThan(1.25 * best(24_000, 20, 20));
  });

  it('whose capacity shrinks slowly is followed', () => {
    const worksAt = (time: number): number => Math.max(10, 40 - Math.floor(time / 200));
    expect(highest(run({ latency: twenty, noise: 0.1, worksAt }, 12_000).slice(-2000))).toBeLessThanOrEqual(15);
  });

  it('that speeds up after our own thread was busy does not raise the limit', () => {
    let busy = 1;
    const limit = new AdaptiveLimit(() => busy);
    simulate(limit, { latency: () => 60, noise: 0.2, worksAt: () => 12 }, { requests: 3000 });
    busy = 0.2;
    const answers = simulate(limit, { latency: twenty, noise: 0.2, worksAt: () => 12 }, { requests: 3000 });
    expect(highest(answers)).toBeLessThanOrEqual(20);
    expect(highest(answers.slice(1500))).toBeLessThanOrEqual(18);
  });

  it('with a higher network latency reduces the limit only briefly', () => {
    const answers = run({ latency: (time) => (time < 1500 ? 20 : 60), noise: 0.2 }, 12_000);
    expect(answers.slice(-6000).filter(({ limit }) => limit >= 51)).toHaveLength(6000);
  });
});

describe('fast server that', () => {
  const wave = (middle: number, height: number, period: number) => (time: number) =>
    middle + height * Math.sin((2 * Math.PI * time) / period);
  const wobbling = [
    ...[500, 1000, 5000].map((period) => ({
      reason: `is 30 % slower and faster in ${period} ms`,
      latency: wave(20, 6, period),
    })),
    { reason: 'takes 15 to 60 ms, in 2 s', latency: wave(37.5, 22.5, 2000) },
    ...[300, 1000, 10_000].map((memory) => ({
      reason: `has correlated noise for ${memory} ms`,
      latency: twenty,
      slowNoise: { deviation: 0.35, memory },
    })),
    { reason: 'stalls for a tenth of each half second', latency: (time: number) => (time % 500 < 50 ? 80 : 20) },
  ];
  it.each(wobbling)('$reason keeps nearly all of the initial limit', { tags: ['long'] }, ({ reason, ...server }) => {
    for (const seed of [1, 2, 3]) {
      const answers = run({ noise: 0.2, ...server }, 20_000, seed);
      expect(Math.min(...answers.map(({ limit }) => limit))).toBeGreaterThanOrEqual(10);
      const mean = answers.reduce((sum, { limit }) => sum + limit, 0) / answers.length;
      expect(mean).toBeGreaterThanOrEqual(14);
    }
  });

  it.each([0.01, 0.003])('recovers the limit while a share of %d of the requests hangs', (hangs) => {
    for (const seed of [1, 2, 3]) {
      const answers = run({ latency: twenty, noise: 0.3, hangs }, 20_000, seed);
      for (let tenth = 2; tenth < 10; tenth++) {
        const part = answers.slice(tenth * 2000, (tenth + 1) * 2000);
        expect(part.reduce((sum, { limit }) => sum + limit, 0) / part.length).toBeGreaterThan(50);
      }
    }
  });

  it('discards its best limit if timeouts have few responses between them', () => {
    const limit = new AdaptiveLimit(idle);
    simulate(limit, { latency: twenty }, { requests: 8000 });
    expect(limit.now).toBeGreaterThan(50);
    for (let count = 0; count < 3; count++) limit.onTimeout();
    const answers = simulate(limit, { latency: twenty }, { requests: 200 });
    expect(highest(answers)).toBeLessThanOrEqual(16);
  });
});

describe('response', () => {
  it('is compared with its own type: slow lists beside fast reads do not reduce the limit', () => {
    const answers = run({ latency: twenty, noise: 0.2, slowSort: 20 }, 8000);
    expect(settled(answers).filter(({ limit }) => limit >= 51).length).toBeGreaterThan(3900);
  });

  it('is not counted as slow if our own thread takes the time', () => {
    let busy = 1;
    const limit = new AdaptiveLimit(() => busy);
    // Each response takes our only thread half a millisecond, regardless of the queue.
    const own = simulate(limit, { latency: () => 0.5, worksAt: () => 1 }, { requests: 8000 });
    expect(new Set(own.map((answer) => answer.limit))).toEqual(new Set([16, 20]));
    busy = 0.1;
    simulate(limit, { latency: twenty, noise: 0.1 }, { requests: 4000 });
    expect(limit.now).toBeGreaterThanOrEqual(51);
  });

  it('counts only if the request filled the limit', () => {
    const limit = new AdaptiveLimit(idle);
    for (let count = 0; count < 5000; count++) {
      limit.onResponse(limit.stamp(0), { type: 'GET', milliseconds: 20, at: 20, inFlight: 1 + (count % 11) });
    }
    expect(limit.now).toBe(16);
  });

  it('halves the limit after refusals and timeouts, down to one, and raises it again', () => {
    for (const fail of ['onRefusal', 'onTimeout'] as const) {
      const limit = new AdaptiveLimit(idle);
      const limits = Array.from({ length: 6 }, () => {
        limit[fail]();
        return limit.now;
      });
      expect(limits).toEqual([8, 4, 2, 1, 1, 1]);
      simulate(limit, { latency: twenty }, { requests: 4000 });
      expect(limit.now).toBeGreaterThanOrEqual(16);
    }
  });
});
