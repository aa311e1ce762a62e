import { afterEach, describe, expect, it, vi } from 'vitest';
import { checkedDateOrTime, parseDate } from '../../src/cli/flags.ts';

afterEach(() => vi.unstubAllEnvs());

describe('dates of the command line', () => {
  it.each(['2026-01-31', '2024-02-29', '2026-01-31T09:30', '2026-01-31T23:59:59.5Z', '2026-01-31 09:30:00+02:00'])(
    'accepts %s',
    (text) => {
      expect(checkedDateOrTime(text)).toBe(text);
    },
  );

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
    '2026-01-31T09:30+25:00',
    '2026-01-31T09:30+01:60',
    '2026-01-31T09:30+2400',
  ])('refuses %j', (text) => {
    expect(() => checkedDateOrTime(text)).toThrow('Expected a date');
  });

  it.each(['2026-01-31T09:30', '2026-01-31T10:30+01:00'])('reads %s as the same time in any zone', (text) => {
    vi.stubEnv('TZ', 'Asia/Tokyo');
    expect(new Date(2026, 0, 31, 18, 30).toISOString()).toBe('2026-01-31T09:30:00.000Z');
    expect(parseDate(text).toISOString()).toBe('2026-01-31T09:30:00.000Z');
  });
});
