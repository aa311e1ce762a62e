import { describe, expect, it } from 'vitest';
import { dateOrMoment, isReversed } from '../../src/cli/dates.ts';

describe('dates of the command line', () => {
  it.each([
    '2026-01-31',
    '2024-02-29',
    '2026-01-31T09:30',
    '2026-01-31T23:59:59.5Z',
    '2026-01-31 09:30:00+02:00',
  ])('takes %s', (text) => {
    expect(dateOrMoment(text)).toBe(text);
  });

  it.each([
    '',
    'today',
    '2026',
    '2026-1-1',
    '2026-02-29',
    '2026-13-01',
    '2026-00-10',
    '2026-01-01T24:00',
    '2026-01-01x',
  ])('refuses %j', (text) => {
    expect(() => dateOrMoment(text)).toThrow('Expected a date');
  });

  it.each([
    ['2026-01-02', '2026-01-01', true, 'the day before'],
    ['2026-01-01', '2026-01-01', false, 'one day'],
    ['2026-01-01T12:00Z', '2026-01-01', false, 'up to the day that it begins on'],
    ['2026-01-02T00:30+02:00', '2026-01-01T23:00Z', false, 'moments in other zones'],
    ['2026-01-01T12:00Z', '2026-01-01T11:00Z', true, 'an hour before'],
  ] as const)('from %s to %s is reversed: %s (%s)', (from, to, expected, _reason) => {
    expect(isReversed(from, to)).toBe(expected);
  });
});
