import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Loop, type NextRun, type Trigger } from '../../src/operator/loop.ts';
import { FakeClock, settled } from './fake-clock.ts';

const pauses = { interval: 60_000, firstRetry: 1000, maxRetry: 8000 };
const settling = { quiet: 250, longest: 2000 };

interface Bench {
  readonly loop: Loop;
  readonly clock: FakeClock;
  /** Time and triggers of each run. */
  readonly runs: (readonly [at: number, ...triggers: Trigger[]])[];
  /** Ends the current run. */
  finish(verdict?: Partial<NextRun>): Promise<void>;
  readonly most: () => number;
}

/** Creates a loop. With `auto`, runs end at once. A `random` of 0.5 leaves each pause at its nominal length. */
function bench({ auto, random = 0.5 }: { auto?: NextRun; random?: number } = {}): Bench {
  const clock = new FakeClock();
  const runs: [number, ...Trigger[]][] = [];
  let end: ((verdict: NextRun) => void) | undefined;
  let underWay = 0;
  let most = 0;
  const loop = new Loop({
    clock,
    pauses,
    settling,
    random: () => random,
    run: async (triggers) => {
      runs.push([clock.now(), ...triggers]);
      most = Math.max(most, ++underWay);
      const verdict = auto ?? (await new Promise<NextRun>((resolve) => (end = resolve)));
      underWay--;
      return verdict;
    },
  });
  const finish = async (verdict: Partial<NextRun> = {}): Promise<void> => {
    end?.({ healthy: true, ...verdict });
    await settled();
  };
  return { loop, clock, runs, finish, most: () => most };
}

describe('run loop', () => {
  it('runs at startup and then at the interval', async () => {
    const { loop, clock, runs } = bench({ auto: { healthy: true } });
    loop.trigger('start');
    await settled();
    expect(loop.untilNext).toBe(60_000);
    await clock.pass(125_000);
    expect(runs).toEqual([
      [0, 'start'],
      [60_000, 'interval'],
      [120_000, 'interval'],
    ]);
  });

  it.each([
    [0, 54_000],
    [1, 66_000],
  ])('spreads the interval: %d', async (random, next) => {
    const { loop, clock, runs } = bench({ auto: { healthy: true }, random });
    loop.trigger('start');
    await clock.pass(70_000);
    expect(runs[1]?.[0]).toBe(next);
  });

  it('starts no run while paused, and a single one for all pending triggers when resumed', async () => {
    const { loop, clock, runs, finish } = bench();
    loop.trigger('start');
    await settled();
    loop.pause();
    await finish();
    expect(loop.untilNext).toBe(undefined);
    loop.trigger('hangup');
    loop.filesChanged();
    await clock.pass(600_000);
    expect(runs).toEqual([[0, 'start']]);
    loop.resume();
    await settled();
    expect(runs[1]?.[0]).toBe(600_000);
    expect(runs[1]?.slice(1).toSorted()).toEqual(['files', 'hangup', 'interval', 'request']);
  });

  it('starts one more run for all triggers that arrive during a run', async () => {
    const { loop, runs, finish } = bench();
    loop.trigger('start');
    for (const trigger of ['hangup', 'request', 'request', 'hangup'] as const) loop.trigger(trigger);
    await finish();
    expect(runs).toEqual([
      [0, 'start'],
      [0, 'hangup', 'request'],
    ]);
    await finish();
    expect(runs).toHaveLength(2);
  });

  it('waits until files have settled, even if other triggers arrive', async () => {
    const { loop, clock, runs, finish } = bench();
    for (let file = 0; file < 8; file++) {
      loop.filesChanged();
      await clock.pass(100);
    }
    loop.trigger('request');
    expect([runs, loop.hasUnreadChanges]).toEqual([[], true]);
    await clock.pass(150);
    expect(runs).toEqual([[950, 'files', 'request']]);
    expect(loop.hasUnreadChanges).toBe(false);
    await finish();
  });

  it('limits the wait for files that keep changing', async () => {
    const { loop, clock, runs } = bench();
    for (let file = 0; file < 30; file++) {
      loop.filesChanged();
      await clock.pass(100);
    }
    expect(runs).toEqual([[2000, 'files']]);
  });

  it('starts one more run for all file changes during a run', async () => {
    const { loop, clock, runs, finish } = bench();
    loop.trigger('start');
    loop.filesChanged();
    await clock.pass(5000);
    loop.filesChanged();
    await finish();
    expect(runs).toHaveLength(1);
    await clock.pass(250);
    expect(runs).toEqual([
      [0, 'start'],
      [5250, 'files'],
    ]);
  });

  it('backs off after failures, up to a maximum, and resets after a success', async () => {
    const { loop, clock, runs, finish } = bench();
    loop.trigger('start');
    const waits: number[] = [];
    for (let failure = 0; failure < 6; failure++) {
      const from = clock.now();
      await finish({ healthy: false });
      await clock.pass(loop.untilNext ?? 0);
      waits.push(clock.now() - from);
    }
    expect(waits).toEqual([750, 1500, 3000, 6000, 6000, 6000]);
    expect(runs.slice(1).every(([, trigger]) => trigger === 'retry')).toBe(true);
    expect(loop.failures).toBe(6);
    await finish();
    expect([loop.failures, loop.untilNext]).toEqual([0, 60_000]);
  });

  it('runs at once on a request during a backoff, and keeps increasing the backoff', async () => {
    const { loop, clock, runs, finish } = bench();
    loop.trigger('start');
    await finish({ healthy: false });
    loop.trigger('request');
    await finish({ healthy: false });
    expect([runs.length, loop.untilNext]).toEqual([2, 1500]);
    await clock.pass(1499);
    expect(runs).toHaveLength(2);
  });

  it('runs at the time that a run has scheduled, unless another run comes first', async () => {
    const { loop, clock, runs, finish } = bench();
    loop.trigger('start');
    await finish({ again: { trigger: 'window', milliseconds: 7000 } });
    expect(loop.untilNext).toBe(7000);
    await clock.pass(7000);
    await finish({ again: { trigger: 'window', milliseconds: 7000 } });
    loop.trigger('request');
    await finish();
    await clock.pass(50_000);
    expect(runs).toEqual([
      [0, 'start'],
      [7000, 'window'],
      [7000, 'request'],
    ]);
  });

  it('stops after the current run, and leaves no timer', async () => {
    const { loop, clock, runs, finish } = bench();
    loop.trigger('start');
    loop.filesChanged();
    let ended = false;
    const stopping = loop.stop().then(() => (ended = true));
    await settled();
    expect([ended, clock.waiting]).toEqual([false, 0]);
    loop.trigger('request');
    loop.filesChanged();
    await finish();
    await stopping;
    expect([ended, runs.length, clock.waiting, loop.untilNext]).toEqual([true, 1, 0, undefined]);
    await loop.stop();
  });

  it('never runs twice at once, and handles every trigger', async () => {
    const event = fc.oneof(
      fc.constantFrom('hangup' as const, 'request' as const, 'files' as const),
      fc.constantFrom('finish' as const, 'fail' as const),
      fc.nat(3000),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 60 }), async (events) => {
        const { loop, clock, runs, finish, most } = bench();
        const asked = { hangup: 0, request: 0, files: 0 };
        loop.trigger('start');
        for (const each of events) {
          if (typeof each === 'number') await clock.pass(each);
          else if (each === 'finish') await finish();
          else if (each === 'fail') await finish({ healthy: false });
          else {
            asked[each] = runs.length;
            if (each === 'files') loop.filesChanged();
            else loop.trigger(each);
          }
        }
        for (let more = 0; more < 3; more++) {
          await finish();
          await clock.pass(2000);
        }
        expect(most()).toBe(1);
        for (const trigger of ['hangup', 'request', 'files'] as const) {
          if (asked[trigger] === 0) continue;
          const after = runs.slice(asked[trigger] - 1).some(([, ...triggers]) => triggers.includes(trigger));
          expect(after, trigger).toBe(true);
        }
      }),
    );
  });
});
