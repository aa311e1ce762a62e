import { expect, it } from 'vitest';
import { impactText } from '../../src/output/impact-text.ts';
import { sampleImpact } from './sample-impact.ts';
import { plainStyle, widest } from './sample-styles.ts';

it('breaks no median and no percentile on a terminal of 80 columns', () => {
  const { document } = sampleImpact();
  const figures = {
    calls: 1_234_567,
    duration: { median: 3776, p95: 4027 },
    e2e_latency: { median: 912.5, p95: 1461.2 },
    cost: { median: 0.5013, p95: 0.9378 },
  };
  const versions = document.versions.map((each) => ({ ...each, ...figures }));
  const text = impactText({ ...document, versions }, plainStyle(80));
  expect(text).toMatch(/^ +1 +1:02:56, p95 1:07:07 +912\.5, p95 1461 +0\.5013, p95 0\.9378$/m);
  expect(text).toMatch(/^ +1 +1970-01-01 \S+ +1,234,567$/m);
  expect(widest(text)).toBeLessThanOrEqual(80);
});

it.each([
  { calls: [1400, 1400], told: /=escalated .*no clear difference \(-\d\.\d to \+\d\.\d points\)$/m },
  { calls: [1400, 29], told: /=escalated .*too few calls, under 30 \(-\d+\.\d to \+\d+\.\d points\)$/m },
])('reports that too few calls prove nothing: $calls', ({ calls: [before = 0, after = 0], told }) => {
  const { document } = sampleImpact('escalated', [before, after]);
  expect(impactText(document, plainStyle(200))).toMatch(told);
});
