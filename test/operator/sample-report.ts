import type { RunReport } from '../../src/operator/run-report.ts';
import { change, plan, resource } from '../output/sample-plan.ts';

/** A run that went well, but for what is said. */
export function sampleReport(more: Partial<RunReport> = {}): RunReport {
  return {
    number: 1,
    triggers: ['interval'],
    mode: 'apply',
    startedAt: new Date('2026-01-02T03:04:05Z'),
    seconds: 1,
    result: 'ok',
    workspace: { name: 'staging', id: '01JWORKSPACE' },
    commit: undefined,
    fetchProblem: undefined,
    invalid: undefined,
    warnings: [],
    plan: plan([resource('Agent/a'), resource('Agent/b', { action: 'update', changes: [change('name')] })]),
    drift: [],
    hold: undefined,
    applied: [],
    notify: undefined,
    error: undefined,
    ...more,
  };
}
