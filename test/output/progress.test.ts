import { describe, expect, it } from 'vitest';
import type { ApplyEvent } from '../../src/engine/report.ts';
import { createProgress } from '../../src/output/progress.ts';
import { evil, forged, plainStyle } from './sample-styles.ts';

const clearLine = '\r\u001b[2K';

function progressAt(times: readonly number[], options: { interactive: boolean; quiet?: boolean }) {
  const written: string[] = [];
  const clock = [...times];
  const progress = createProgress({
    write: (text) => written.push(text),
    style: plainStyle(40),
    now: () => clock.shift() ?? 1e9,
    ...options,
  });
  return { progress, written };
}

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
  it('on a terminal is one line, written over and over, and taken away', () => {
    const { progress, written } = progressAt([0, 10, 100], { interactive: true });
    for (const count of [1, 2, 3]) progress.read({ done: count, total: 9 });
    progress.clear();
    progress.clear();
    expect(written).toEqual([`${clearLine}Reading: 1 of 9`, `${clearLine}Reading: 3 of 9`, clearLine]);
  });

  it('on a terminal says what is under way, cut to the width, and keeps failures', () => {
    const { progress, written } = progressAt([0, 100, 200, 300], { interactive: true });
    progress.apply(started('Agent/a'));
    progress.apply(started('Agent/a-name-that-is-rather-long'));
    progress.apply(done('Agent/a'));
    progress.apply(failed('Agent/a-name-that-is-rather-long'));
    expect(written).toEqual([
      `${clearLine}Applying: 0 finished, under way: Agent…`,
      `${clearLine}Applying: 0 finished, under way: Agent…`,
      `${clearLine}Applying: 1 finished, under way: Agent…`,
      clearLine,
      'Agent/a-name-that-is-rather-long: failed: no\n',
      `${clearLine}Applying: 2 finished`,
    ]);
  });

  it('in a log is a line for each failure, and one now and then that says that work goes on', () => {
    const { progress, written } = progressAt([0, 5_000, 10_000, 15_000, 17_000, 18_000, 20_000], {
      interactive: false,
    });
    for (const count of [1, 2, 3, 4]) progress.read({ done: count, total: 9 });
    progress.apply(started('Agent/a'));
    progress.apply(done('Agent/a'));
    progress.apply(failed('Agent/b'));
    progress.apply(done('Agent/c'));
    progress.clear();
    expect(written).toEqual(['Reading: 3 of 9\n', 'Agent/b: failed: no\n', 'Applying: 3 finished\n']);
  });

  it('is nothing where quiet', () => {
    const { progress, written } = progressAt([], { interactive: true, quiet: true });
    progress.read({ done: 1, total: 1 });
    progress.apply(failed('Agent/a'));
    progress.clear();
    expect(written).toEqual([]);
  });

  it('lets no text from outside begin a line', () => {
    const { progress, written } = progressAt([], { interactive: false });
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
