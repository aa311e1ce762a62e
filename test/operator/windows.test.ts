import { describe, expect, it } from 'vitest';
import { windowState } from '../../src/operator/hold.ts';
import type { ApplyWindow } from '../../src/project/watch-schema.ts';

const nights: ApplyWindow = { cron: '0 22 * * 1-5', timeZone: 'Europe/Berlin', seconds: 6 * 3600 };
const gap: ApplyWindow = { cron: '30 2 * * *', timeZone: 'Europe/Berlin', seconds: 3600 };
const noon: ApplyWindow = { cron: '0 12 * * *', timeZone: 'UTC', seconds: 60 };

const cases: readonly (readonly [string, readonly ApplyWindow[], string, string])[] = [
  ['no windows: always open', [], '2026-01-07T12:00:00Z', 'open'],
  ['before the evening', [nights], '2026-01-07T20:59:59Z', '2026-01-07T21:00:00.000Z'],
  ['at the opening', [nights], '2026-01-07T21:00:00Z', 'open'],
  ['past midnight', [nights], '2026-01-08T02:59:59Z', 'open'],
  ['at the end', [nights], '2026-01-08T03:00:00Z', '2026-01-08T21:00:00.000Z'],
  ['into Saturday from Friday', [nights], '2026-01-10T01:00:00Z', 'open'],
  ['over the weekend', [nights], '2026-01-10T12:00:00Z', '2026-01-12T21:00:00.000Z'],
  ['an hour earlier (UTC) in summer', [nights], '2026-07-01T19:59:00Z', '2026-07-01T20:00:00.000Z'],
  [
    'night with a clock change: open before six hours have passed',
    [{ ...nights, cron: '0 22 * * *' }],
    '2026-03-29T02:59:00Z',
    'open',
  ],
  [
    'night with a clock change: closes after six hours, at 05:00',
    [{ ...nights, cron: '0 22 * * *' }],
    '2026-03-29T03:00:00Z',
    '2026-03-29T20:00:00.000Z',
  ],
  ['skipped opening time: opens after the skipped hour', [gap], '2026-03-29T01:00:00Z', 'open'],
  ['repeated opening time: opens the first time', [gap], '2026-10-25T00:30:00Z', 'open'],
  ['repeated opening time: stays closed the second time', [gap], '2026-10-25T01:30:00Z', '2026-10-26T01:30:00.000Z'],
  ['the earliest of several', [nights, noon], '2026-01-08T04:00:00Z', '2026-01-08T12:00:00.000Z'],
  ['any of several', [nights, noon], '2026-01-08T12:00:30Z', 'open'],
  ['just after a short window', [noon], '2026-01-08T12:01:00.001Z', '2026-01-09T12:00:00.000Z'],
];

describe('windows for applying', () => {
  it.each(cases)('open and close on time: %s', (_, windows, now, expected) => {
    const state = windowState(windows, new Date(now));
    expect(state.open ? 'open' : state.opensAt?.toISOString()).toBe(expected);
  });
});
