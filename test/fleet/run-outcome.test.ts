import { expect, it } from 'vitest';
import type { RunRow } from '../../src/fleet/rows/run-rows.ts';
import { outcomeOf } from '../../src/fleet/run-outcome.ts';
import { NOTHING } from '../../src/operator/reconciler.ts';
import type { RunReport } from '../../src/operator/run-report.ts';
import { StateLocked } from '../../src/operator/state-locked.ts';

const NOW = new Date('2026-01-02T03:04:05Z');

const row: RunRow = {
  address: 'voices/acme:test',
  source: 'voices',
  project: 'acme',
  workspace: 'test',
  baseUrl: 'default',
  mode: 'apply',
  interval: 60_000,
  version: '1',
  commit: undefined,
  good: undefined,
  failures: 0,
  asked: undefined,
  approved: undefined,
  refused: undefined,
  twins: undefined,
  openPlan: undefined,
  rejected: [],
  left: undefined,
  fresh: undefined,
  missing: [],
  request: undefined,
  readAt: NOW.toISOString(),
  lateness: 0,
};

const ended = {
  job: { id: '1', retryCount: 0, address: row.address, due: NOW.toISOString() },
  row,
  process: 'p',
  now: NOW,
  pauses: { firstRetry: 30_000, longestRetry: 300_000 },
  random: 0.5,
  timeout: undefined,
};

it.each([
  { silentSeconds: undefined, pause: 5_000 },
  { silentSeconds: 9, pause: 5_000 },
  { silentSeconds: 58, pause: 2_000 },
  { silentSeconds: 300, pause: 5_000 },
])('comes back when the lock may be taken over: $silentSeconds', ({ silentSeconds, pause }) => {
  const holder = {
    id: 'l',
    operation: 'fleet',
    who: 'ann',
    host: 'h',
    pid: 1,
    since: '',
    voxform_version: '1',
  };
  const report: RunReport = {
    ...NOTHING,
    number: 1,
    triggers: [],
    askedBy: [],
    mode: 'apply',
    startedAt: NOW,
    seconds: 1,
    result: 'busy',
    error: new StateLocked({ ...holder, silentSeconds }, ''),
  };
  const run = { report, version: { version: '1', commit: undefined }, redact: String };
  expect(outcomeOf(run, ended).again).toEqual({ milliseconds: pause, backsOff: false });
});
