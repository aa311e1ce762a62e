import { expect, it } from 'vitest';
import { resultsOf } from '../../src/operator/last-run.ts';
import { isAtRisk, planAfter, statusAfter } from '../../src/operator/plan-after.ts';
import { problemsOf, resourcesOf } from '../../src/page/workspace-detail.ts';
import { plan, resource } from '../output/sample-plan.ts';
import { inDashboard } from '../step-texts.ts';
import { sampleReport } from './sample-report.ts';

const returned = { action: 'import', address: 'Agent/a', id: '01JOLD', reason: 'returned' } as const;

it.each([
  { reason: 'the create was not confirmed', more: { action: 'unknown' }, expected: true },
  { reason: 'a former record exists beside it', more: { action: 'blocked', steps: [returned] }, expected: true },
  {
    reason: 'only a manual step remains',
    more: { action: 'manual', steps: [inDashboard('Invite ann.')] },
    expected: false,
  },
  { reason: 'in sync', more: {}, expected: false },
] as const)('lists possible duplicates and lost records: $reason', ({ more, expected }) => {
  expect(isAtRisk(resource('Agent/a', more))).toBe(expected);
});

it('reports the status of applied resources, and nothing about released ones', () => {
  const steps = [{ action: 'publish', instruction: 'Publish it.' }] as const;
  const reason = 'not in the workspace yet';
  const made = plan([
    resource('Agent/a', { action: 'create', id: null, reason, steps: [...steps] }),
    resource('Agent/b', { action: 'update', steps: [...steps, inDashboard('Add a number.')] }),
    resource('Agent/c', { action: 'update', not_applied: ['name'] }),
    resource('Agent/d', { action: 'update' }),
    resource('Agent/e', { action: 'forget' }),
    resource('Agent/f', { action: 'create', id: null, reason }),
  ]);
  const applied = ['a', 'b', 'c', 'd', 'e'].map((name) => ({
    address: `Agent/${name}` as const,
    action: 'update' as const,
    result: { status: 'done' as const, id: name, ...(name === 'd' && { notApplied: ['name'] }) },
  }));
  const report = sampleReport({ plan: made, applied });
  const ignored = 'the platform ignored part of the update';
  expect(planAfter(report)?.resources.map((each) => `${each.address} ${each.reason}`)).toEqual([
    'Agent/a in sync',
    'Agent/b in sync',
    'Agent/c in sync',
    `Agent/d ${ignored}`,
    `Agent/f ${reason}`,
  ]);
  const shown = { status: 'pending', last: {} } as const;
  expect(
    resourcesOf(undefined, planAfter(report), shown).map(({ address, id, status }) => `${address} ${id} ${status}`),
  ).toEqual([
    'Agent/a a unpublished',
    'Agent/b b manual',
    'Agent/d d not applied',
    'Agent/f null changed',
    'Agent/c c in sync',
  ]);
});

const update = plan([resource('Agent/a', { action: 'update' })]);
const inSync = plan([resource('Agent/a')]);
const drift = [{ address: 'Agent/a', fields: ['name'], digest: 'x' }];
const approval = { reason: 'approval', digest: 'abc', address: 'voices:staging' } as const;
const invalid = { diagnostics: [], error: undefined };
const updated = { status: 'done', id: '01J' } as const;

it.each([
  { reason: 'nothing to do', more: { plan: inSync }, expected: 'in-sync' },
  { reason: 'changes remain', more: { plan: update }, expected: 'pending' },
  { reason: 'drift remains', more: { plan: update, drift }, expected: 'drifted' },
  {
    reason: 'the run corrected the drift',
    more: { plan: update, drift, applied: [{ address: 'Agent/a', action: 'update', result: updated }] },
    expected: 'in-sync',
  },
  { reason: 'the manifest adopted the drift', more: { plan: inSync, drift }, expected: 'in-sync' },
  {
    reason: 'drift waits for acceptance',
    more: { plan: inSync, drift, request: { failures: 0 } },
    expected: 'drifted',
  },
  { reason: 'a plan waits for approval', more: { plan: update, hold: approval }, expected: 'waiting' },
  { reason: 'the plan was rejected', more: { plan: update, hold: approval }, isRejected: true, expected: 'pending' },
  { reason: 'invalid manifests', more: { invalid }, expected: 'invalid' },
  { reason: 'a run with the last valid manifests failed', more: { invalid, result: 'failed' }, expected: 'failed' },
  { reason: 'the lock was held', more: { result: 'busy' }, expected: undefined },
  { reason: 'the run was stopped', more: { result: 'interrupted' }, expected: undefined },
  {
    reason: 'a run with the last valid manifests was stopped',
    more: { invalid, result: 'interrupted' },
    expected: undefined,
  },
] as const)('gives watch and fleet the same status after a run: $reason', ({ more, expected, ...rest }) => {
  expect(statusAfter(sampleReport(more), 'isRejected' in rest)).toBe(expected);
});

it('keeps the problems of the last run while another run holds the lock', () => {
  const results = (report: Parameters<typeof sampleReport>[0]) =>
    resultsOf(sampleReport(report), { after: undefined, now: new Date(0), redact: String });
  const failed = results({ result: 'failed', error: new Error('no connection'), plan: undefined });
  const busy = results({ result: 'busy', error: new Error('locked by ann'), plan: undefined });
  const shown = { status: 'failed', checkedAt: null, problem: null, last: { ...failed, ...busy } } as const;
  expect(problemsOf(shown as never).flatMap(({ lines }) => lines)).toEqual(['locked by ann', 'no connection']);
});
