import type { RunReport } from '../../src/operator/run-report.ts';
import { PlatformError } from '../../src/platform/platform-error.ts';
import { change, plan, resource } from '../output/sample-plan.ts';

/** A report of a successful run, with some fields replaced. */
export function sampleReport(more: Partial<RunReport> = {}): RunReport {
  return {
    number: 1,
    triggers: ['interval'],
    askedBy: [],
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
    missing: [],
    orphans: [],
    hold: undefined,
    applied: [],
    notify: undefined,
    error: undefined,
    ...more,
  };
}

/** The part of a report of a run that failed to read this agent: with this status, or without a response. */
export function outageAt(id: string, status?: number): Partial<RunReport> {
  const path = `/api/v1/agents/${id}`;
  const facts = { method: 'GET', path, outcome: 'not-done', status } as const;
  const error = new PlatformError(status === undefined ? 'network' : 'status', facts, `GET ${path}: no`);
  return { result: 'failed', error, plan: undefined };
}
