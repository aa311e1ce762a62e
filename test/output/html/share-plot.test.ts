import { describe, expect, it } from 'vitest';
import { sharePlot } from '../../../src/output/html/share-plot.ts';
import { CountedValues, Shares, wilson } from '../../../src/runs/impact/tally.ts';

const HOUR = 3_600_000;
const CALLS = 20;

/** Returns the plot of a value with this number of calls in each hour. */
function plotOf(counts: readonly number[]): string {
  const values = new CountedValues();
  const periods = counts.map((count, hour) => {
    const shares = new Shares(values);
    for (let call = 0; call < CALLS; call++) shares.add({ session_outcome: call < count ? 'escalated' : 'resolved' });
    return { start: hour * HOUR, shares };
  });
  return sharePlot({ field: 'session_outcome', value: 'escalated', versions: [], periods, width: HOUR }).text;
}

describe('plot of a share', () => {
  it.each([
    { reason: 'rare', counts: [0, 1, 0, 1] },
    { reason: 'the highest share on a grid line', counts: [5, 4, 5, 3] },
    { reason: 'every call', counts: [20, 18, 20, 19] },
  ])('shows each interval completely: $reason', ({ counts }) => {
    const svg = plotOf(counts);
    const grid = [...svg.matchAll(/class="grid"[^>]* y1="([\d.]+)".*?>([\d.]+)%</g)];
    const [bottom, top] = [grid.at(0), grid.at(-1)].map((line) => Number(line?.[1]));
    const axis = Number(grid.at(-1)?.[2]) / 100;
    const band = (/class="band" points="([^"]*)"/.exec(svg)?.[1] ?? '').split(' ');
    const drawn = band.map((point) => {
      const y = Number(point.split(',')[1]);
      return (((bottom ?? 0) - y) / ((bottom ?? 0) - (top ?? 0))) * axis;
    });
    const intervals = counts.map((count) => wilson(count, CALLS));
    const expected = [...intervals.map(({ high }) => high), ...intervals.reverse().map(({ low }) => low)];
    expect(drawn.map((share, index) => Math.abs(share - (expected[index] ?? 9)))).toSatisfy(
      (errors: number[]) => errors.length === 2 * counts.length && Math.max(...errors) < 0.001,
    );
  });
});
