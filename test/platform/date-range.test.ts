import { describe, expect, it } from 'vitest';
import { asFilter, isReversed, isWithin } from '../../src/platform/date-range.ts';

describe('date range', () => {
  it.each([
    ['2026-01-02', '2026-01-01', true, 'the day before'],
    ['2026-01-01', '2026-01-01', false, 'one day'],
    ['2026-01-01T12:00Z', '2026-01-01', false, 'up to the day that it begins on'],
    ['2026-01-02T00:30+02:00', '2026-01-01', false, 'up to the day that it begins on in UTC'],
    ['2026-01-02T00:30+02:00', '2026-01-01T23:00Z', false, 'moments in other zones'],
    ['2026-01-01T12:00', '2026-01-01T11:00Z', true, 'an hour before, in UTC where no zone is named'],
  ] as const)('from %s to %s is reversed: %s (%s)', (from, to, expected, _reason) => {
    expect(isReversed(from, to)).toBe(expected);
  });

  it.each([
    [{}, {}, 'open'],
    [{ from: '2026-01-01T14:00+02:00' }, { date_from: '2026-01-01T12:00:00.000Z' }, 'a moment in UTC'],
    [{ from: '2026-01-01' }, { date_from: '2026-01-01T00:00:00.000Z' }, 'the first moment of a day'],
    [{ to: '2026-01-02T12:00Z' }, { date_to: '2026-01-03' }, 'the day after, as it may mean its first moment'],
    [{ to: '2026-12-31' }, { date_to: '2027-01-01' }, 'the day after a year'],
    [{ to: '2026-01-03T01:00+02:00' }, { date_to: '2026-01-03' }, 'the day after the day of UTC'],
  ] as const)('%j is requested as %j (%s)', (range, filter, _reason) => {
    expect(asFilter(range)).toEqual(filter);
  });

  it.each([
    ['2026-01-01T12:00:00.000000Z', { from: '2026-01-01T12:00', to: '2026-01-01' }, true],
    ['2026-01-01T11:59:59.999999Z', { from: '2026-01-01T12:00' }, false],
    ['2026-01-01T23:59:59.999999Z', { to: '2026-01-01' }, true],
    ['2026-01-02T00:00:00.000000Z', { to: '2026-01-01' }, false],
    ['2026-01-01T12:00:00.000000Z', { to: '2026-01-01T12:00Z' }, true],
    ['2026-01-01T12:00:01.000000Z', { to: '2026-01-01T12:00Z' }, false],
  ] as const)('includes %s within %j: %s', (moment, range, expected) => {
    expect(isWithin(moment, range)).toBe(expected);
  });
});
