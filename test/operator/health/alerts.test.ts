import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createFleetMetrics } from '../../../src/fleet/fleet-metrics.ts';
import { createMetrics } from '../../../src/operator/health/metrics.ts';
import { workspaceStatuses } from '../../../src/operator/workspace-status.ts';

const root = path.resolve(import.meta.dirname, '../../..');

const figuresOfNothing = {
  at: '2026-11-22T00:00:00.000Z',
  frozen: null,
  counts: Object.fromEntries(workspaceStatuses.map((status) => [status, 0])) as never,
  lateness: 0,
  oldestCheckAge: null,
  neverChecked: 0,
  orphans: 0,
  violations: { deny: 0, warn: 0 },
  requests: {},
  sources: [],
  processes: [],
};
const fleetText = (): Promise<string> => createFleetMetrics('1.0.0', async () => figuresOfNothing).text();

describe.each([
  ['alerts.yaml', 'watching.md', () => createMetrics('1.0.0').text()],
  ['fleet-alerts.yaml', 'operations.md', fleetText],
])('example alert rules in %s', (name, page, textOfMetrics) => {
  const file = path.join(root, 'deploy/prometheus', name);
  const { groups } = parse(readFileSync(file, 'utf8')) as {
    groups: { rules: { alert: string; expr: string; annotations: { summary: string } }[] }[];
  };
  const rules = groups.flatMap((group) => group.rules);
  const promtool = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' });

  it('use metrics and statuses that exist', async () => {
    const text = await textOfMetrics();
    const known = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, metric]) => metric));
    const asked = rules.flatMap(({ expr }) => expr.match(/voxform_[a-z_]+/g) ?? []);
    expect(asked.filter((metric) => !known.has(metric))).toEqual([]);
    const selected = rules.flatMap(({ expr }) => [...expr.matchAll(/(voxform_fleet_\w+)\{status=~?"([^"]+)"/g)]);
    for (const [, metric, statuses = ''] of selected)
      for (const status of statuses.split('|')) expect(text).toContain(`${metric}{status="${status}"}`);
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    expect(rules.every(({ annotations }) => annotations.summary !== '')).toBe(true);
  });

  it('are all listed in the docs as metrics', async () => {
    const docs = readFileSync(path.join(root, 'docs', page), 'utf8');
    const names = [...(await textOfMetrics()).matchAll(/^# TYPE (\S+)/gm)].map(([, metric = '']) => metric);
    expect(names.filter((metric) => !docs.includes(metric))).toEqual([]);
  });

  it.skipIf(promtool.error !== undefined)('pass promtool (skipped if Prometheus is not installed)', () => {
    expect(promtool.stdout + promtool.stderr).toContain('SUCCESS');
  });
});
