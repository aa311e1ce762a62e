import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import '../property-seed.ts';
import { isReversed } from '../../src/platform/date-range.ts';
import { parseCallCondition, selectedCalls } from '../../src/runs/call-selection.ts';
import { Bench } from '../engine/bench.ts';
import { callBehaviours } from '../engine/properties/workspaces.ts';
import { collect } from '../platform/collect.ts';

const HOUR = 3_600_000;
const START = Date.UTC(2026, 0, 30);

const hours = fc.integer({ min: 0, max: 96 });
/** A time as a person writes it, and its hours after the start. */
const moments = fc.tuple(hours, fc.constantFrom(0, 5, -9)).map(([hour, offset]) => {
  const local = new Date(START + (hour + offset) * HOUR).toISOString().slice(0, 16);
  const zone = offset === 0 ? 'Z' : `${offset < 0 ? '-' : '+'}0${Math.abs(offset)}:00`;
  return { text: local + zone, first: hour, last: hour };
});
const days = fc.integer({ min: 0, max: 4 }).map((day) => ({
  text: new Date(START + day * 24 * HOUR).toISOString().slice(0, 10),
  first: day * 24,
  last: day * 24 + 23,
}));
const bound = fc.option(fc.oneof(moments, days), { nil: undefined });
const ranges = fc
  .tuple(bound, bound)
  .filter(([from, to]) => from === undefined || to === undefined || !isReversed(from.text, to.text));

describe('calls of a range', () => {
  it('are read completely, once each, for any handling of filters and cursors by the platform', async () => {
    await fc.assert(
      fc.asyncProperty(
        callBehaviours,
        fc.array(hours, { maxLength: 45 }),
        ranges,
        async (behaviour, starts, [from, to]) => {
          await using bench = await Bench.start(behaviour);
          for (const hour of starts) {
            const time = new Date(START + hour * HOUR).toISOString();
            const times = { start_time: time, end_time: time, created_at: time };
            bench.emulator.dashboard.recordCall({ agent_id: 'x', session_id: String(hour), ...times });
          }
          const shown = await collect(selectedCalls(bench.client, { from: from?.text, to: to?.text }));
          const expected = starts.filter((hour) => hour >= (from?.first ?? 0) && hour <= (to?.last ?? 96));
          expect(shown.map(({ session_id }) => Number(session_id)).sort((a, b) => a - b)).toEqual(
            expected.sort((a, b) => a - b),
          );
        },
      ),
      { numRuns: 40 },
    );
  });
});

describe('condition on calls', () => {
  const digits = '12345678901234567890';

  it.each([
    {
      where: `session_id=${digits}1`,
      expected: ['00:00:01'],
      reason: 'ids that differ in a digit beyond the precision of a number',
    },
    { where: `session_id!=${digits}1`, expected: ['00:05:00'], reason: 'the other of the two' },
    {
      where: 'start_time>=2026-01-31T05:00',
      expected: ['00:05:00'],
      reason: 'a time without a zone is in UTC, as for --from',
    },
  ])('$where: $reason', async ({ where, expected }) => {
    const zone = process.env.TZ;
    process.env.TZ = 'America/New_York';
    try {
      await using bench = await Bench.start();
      const [early, late] = ['2026-01-31T04:00:00.000000Z', '2026-01-31T06:00:00.000000Z'];
      const { dashboard } = bench.emulator;
      dashboard.recordCall({ agent_id: 'x', session_id: `${digits}1`, start_time: early, duration: '00:00:01' });
      dashboard.recordCall({ agent_id: 'x', session_id: `${digits}2`, start_time: late, duration: '00:05:00' });
      const condition = parseCallCondition(where);
      if ('problem' in condition) expect.fail(condition.problem);
      const shown = await collect(selectedCalls(bench.client, { where: [condition] }));
      expect(shown.map(({ duration }) => duration)).toEqual(expected);
    } finally {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    }
  });
});
