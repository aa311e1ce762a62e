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
