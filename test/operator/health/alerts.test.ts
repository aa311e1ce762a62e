import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createMetrics } from '../../../src/operator/health/metrics.ts';

const file = path.resolve(import.meta.dirname, '../../../deploy/prometheus/alerts.yaml');
const { groups } = parse(readFileSync(file, 'utf8')) as {
  groups: { rules: { alert: string; expr: string; annotations: { summary: string } }[] }[];
};
const rules = groups.flatMap((group) => group.rules);
const promtool = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' });

describe('the example alert rules', () => {
  it('ask for figures that there are', async () => {
    const text = await createMetrics('1.0.0').text();
    const known = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
    const asked = rules.flatMap(({ expr }) => expr.match(/voxform_[a-z_]+/g) ?? []);
    expect(asked.filter((name) => !known.has(name))).toEqual([]);
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    expect(rules.every(({ annotations }) => annotations.summary !== '')).toBe(true);
  });

  it('are all listed in the docs as metrics', async () => {
    const docs = readFileSync(path.resolve(import.meta.dirname, '../../../docs/watching.md'), 'utf8');
    const text = await createMetrics('1.0.0').text();
    const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name);
    expect(names.filter((name) => !docs.includes(name))).toEqual([]);
  });

  it.skipIf(promtool.error !== undefined)('pass promtool (skipped where Prometheus is not installed)', () => {
    expect(promtool.stdout + promtool.stderr).toContain('SUCCESS');
  });
});
