import { describe, expect, it } from 'vitest';
import type { ApplyEvent } from '../../src/engine/apply/apply-report.ts';
import type { ReadProgress } from '../../src/engine/observe/read-records.ts';
import { createProgress, createRateMeter, type Progress, type ProgressOptions } from '../../src/output/progress.ts';
import { evil, forged, plainStyle } from './sample-styles.ts';

const clearLine = '\r\u001b[2K';

interface Watched {
  readonly progress: Progress;
  readonly written: string[];
  /** Sets the clock in milliseconds. */
  at(time: number): Progress;
}

function watched(options: Partial<ProgressOptions> & { interactive: boolean }): Watched {
  const written: string[] = [];
  let time = 0;
  const progress = createProgress({
    write: (text) => written.push(text),
    style: plainStyle(40),
    now: () => time,
    ...options,
  });
  return {
    progress,
    written,
    at(next) {
      time = next;
      return progress;
    },
  };
}

const reading = (done: number, total: number, more: Partial<ReadProgress> = {}): ReadProgress => ({
  done,
  total,
  inFlight: 0,
  growing: false,
  ...more,
});
const started = (address: string): ApplyEvent => ({ type: 'started', address, action: 'create' });
const done = (address: string): ApplyEvent => ({
  type: 'finished',
  address,
  action: 'create',
  result: { status: 'done', id: '01J' },
});
const failed = (address: string): ApplyEvent => ({
  type: 'finished',
  address,
  action: 'update',
  result: { status: 'failed', error: 'no' },
});

describe('progress', () => {
  it('on a terminal is one line that is overwritten and finally removed', () => {
    const { at, written } = watched({ interactive: true });
    at(0).read(reading(1, 9));
    at(10).read(reading(2, 9));
    at(100).read(reading(3, 9, { inFlight: 4 }));
    at(110).clear();
    at(110).clear();
    expect(written).toEqual([`${clearLine}Reading: 1 of 9`, `${clearLine}Reading: 3 of 9, 4 in flight`, clearLine]);
  });

  it('on a terminal names the current work, truncated to the width, and keeps failures', () => {
    const { at, written } = watched({ interactive: true, writes: 2 });
    at(0).apply(started('Agent/a'));
    at(100).apply(started('Agent/a-name-that-is-rather-long'));
    at(200).apply(done('Agent/a'));
    at(300).apply(failed('Agent/a-name-that-is-rather-long'));
    expect(written).toEqual([
      `${clearLine}Applying: 0 of 2, in flight: Agent/a`,
      `${clearLine}Applying: 0 of 2, in flight: Agent/a,…`,
      `${clearLine}Applying: 1 of 2, in flight: Agent/a-n…`,
      clearLine,
      'Agent/a-name-that-is-rather-long: failed: no\n',
      `${clearLine}Applying: 2 of 2`,
    ]);
  });

  it('in a log is a line for each failure, and one every few seconds while work continues', () => {
    const { at, written } = watched({ interactive: false });
    at(0).read(reading(1, 9));
    at(4_000).read(reading(2, 9));
    at(5_000).read(reading(3, 9));
    at(6_000).apply(started('Agent/a'));
    at(7_000).apply(done('Agent/a'));
    at(8_000).apply(failed('Agent/b'));
    at(10_000).apply(done('Agent/c'));
    at(10_000).clear();
    expect(written).toEqual([
      'Reading: 3 of 9, 24 a minute\n',
      'Agent/b: failed: no\n',
      'Applying: 3 finished, 45 a minute\n',
    ]);
  });

  it('counts without a total while lists are read', () => {
    const { at, written } = watched({ interactive: true });
    at(0).read(reading(100, 300, { growing: true }));
    at(100).read(reading(300, 300, { growing: true }));
    at(110).read(reading(301, 301));
    expect(written).toEqual([
      `${clearLine}Reading: 100`,
      `${clearLine}Reading: 300`,
      `${clearLine}Reading: 301 of 301`,
    ]);
  });

  it('prints nothing in quiet mode', () => {
    const { progress, written } = watched({ interactive: true, quiet: true });
    progress.read(reading(1, 1));
    progress.apply(failed('Agent/a'));
    progress.clear();
    expect(written).toEqual([]);
  });

  it('lets no external text begin a line', () => {
    const { progress, written } = watched({ interactive: false });
    progress.apply({
      type: 'finished',
      address: evil,
      action: 'create',
      result: { status: 'failed', error: evil },
    });
    expect(written.join('')).not.toMatch(forged);
    expect(written.join('').split('\n')).toHaveLength(2);
  });
});

describe('remaining time', () => {
  /** Keys are moments in milliseconds, values are the completed items. */
  it.each([
    { reason: 'nothing is shown at once', notes: { 0: 1, 900: 50 }, left: 50, words: '' },
    { reason: 'the rate is shown first', notes: { 0: 0, 2000: 40 }, left: 60, words: ', 20 a second' },
    { reason: 'then the time', notes: { 0: 0, 4000: 80 }, left: 60, words: ', 20 a second, about 3 s left' },
    { reason: 'a few items are not enough', notes: { 0: 0, 8000: 9 }, left: 60, words: ', 1.1 a second' },
    { reason: 'an unknown total', notes: { 0: 0, 4000: 80 }, left: undefined, words: ', 20 a second' },
    { reason: 'no item remains', notes: { 0: 0, 4000: 80 }, left: 0, words: ', 20 a second' },
    {
      reason: 'the last seconds count',
      notes: { 0: 0, 1000: 1000, 8000: 1001, 12000: 1020 },
      left: 100,
      words: ', 4.8 a second, about 22 s left',
    },
    { reason: 'a pause is not a rate', notes: { 0: 10, 9000: 10 }, left: 10, words: '' },
    {
      reason: 'long times are in minutes',
      notes: { 0: 0, 10000: 100 },
      left: 10_000,
      words: ', 10 a second, about 17 min left',
    },
    {
      reason: 'longer ones are in hours',
      notes: { 0: 0, 10000: 10 },
      left: 10_000,
      words: ', 1.0 a second, about 2 h 47 min left',
    },
  ])('is shown as expected: $reason', ({ notes, left, words }) => {
    let time = 0;
    const pace = createRateMeter(() => time);
    for (const [at, count] of Object.entries(notes)) {
      time = Number(at);
      pace.note(count);
    }
    expect(pace.words(left)).toBe(words);
  });
});
