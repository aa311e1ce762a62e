import { describe, expect, it } from 'vitest';
import { StateLocked } from '../../../src/operator/messages.ts';
import { bodyOf, NotificationEvents } from '../../../src/operator/notifications/notification-events.ts';
import type { RunReport } from '../../../src/operator/run-report.ts';
import { notifyEvents } from '../../../src/project/notify-schema.ts';
import { change, plan, resource } from '../../output/sample-plan.ts';
import { outageAt, sampleReport } from '../sample-report.ts';
import { drift, failed } from './receiver.ts';

const REPORT = { reason: 'report', denied: [] } as const;
const restore = resource('Agent/a', { action: 'update', changes: [change('name', { cause: 'drift' })] });
const waiting = { ...drift, plan: plan([restore]), hold: REPORT };
const corrected: Partial<RunReport> = {
  ...drift,
  plan: plan([restore]),
  applied: [{ address: 'Agent/a', action: 'update', result: { status: 'done', id: 'x' } }],
};
const overwritten: Partial<RunReport> = {
  ...corrected,
  plan: plan([{ ...restore, changes: [change('name', { cause: 'both' })] }]),
};
/** A report of a run that may not apply: the platform and the manifest changed one field, the manifest also another. */
const moved: Partial<RunReport> = { ...waiting, plan: overwritten.plan };
const besides: Partial<RunReport> = {
  ...waiting,
  plan: plan([{ ...restore, changes: [change('name', { cause: 'both' }), change('role')] }]),
};

function drifted(digest: string): Partial<RunReport> {
  return { drift: [{ address: 'Agent/a', fields: ['name'], digest }] };
}

/** A report of a run that another run blocked, with the age of the other's heartbeat. */
function heldFor(seconds: number, isLong: boolean): Partial<RunReport> {
  const holder = {
    id: 'L',
    operation: 'apply',
    who: 'ann@here',
    host: 'here',
    pid: 1,
    since: '2026',
    voxform_version: '1.0.0',
    secondsSinceHeartbeat: seconds % 60,
  };
  return { result: 'busy', error: new StateLocked(holder, undefined), busy: { seconds, isLong }, plan: undefined };
}

/** Returns the events of a sequence of reports. */
function textsAfter(...reports: readonly Partial<RunReport>[]): string[] {
  const events = new NotificationEvents();
  return reports.map((report) =>
    events
      .eventsOf(sampleReport(report))(notifyEvents)
      .map(({ event }) => event)
      .join('+'),
  );
}

describe('notification events', () => {
  it.each<[string, readonly Partial<RunReport>[], readonly string[]]>([
    ['no event if nothing happened', [{}, {}], ['', '']],
    ['drift, once, and its end', [drift, drift, {}, {}, drift], ['drift', '', 'drift', '', 'drift']],
    ['drift that changes', [drift, drifted('2'), drifted('2')], ['drift', 'drift', '']],
    ['drift and its correction in one run', [corrected, {}], ['drift', '']],
    ['a change of the manifest that overwrites drift in the same run', [overwritten, {}], ['changes', '']],
    ['drift that waits for an apply, once', [waiting, waiting], ['drift', '']],
    ['drift of a field that the manifest changes too, in one run', [moved, moved], ['drift', '']],
    ['a change of the manifest to a field that drifted before', [waiting, moved, moved], ['drift', 'changes', '']],
    ['drift beside a change of the manifest', [besides, besides], ['changes+drift', '']],
    ['a failure, once until it is resolved', [failed, failed, {}, failed], ['failure', '', '', 'failure']],
    ['a different failure', [failed, { ...failed, error: new Error('other') }], ['failure', 'failure']],
    [
      'an outage, once, regardless of the record at which it is detected',
      [outageAt('1'), outageAt('2')],
      ['failure', ''],
    ],
    ['each refused request', [outageAt('1', 422), outageAt('2', 422)], ['failure', 'failure']],
    [
      'a lock that is held for long, once until it is released',
      [heldFor(5, false), heldFor(700, true), heldFor(900, true), {}, heldFor(700, true)],
      ['', 'failure', '', '', 'failure'],
    ],
    ['no event for a run that only waits', [{ result: 'busy', error: new Error('held'), plan: undefined }], ['']],
    [
      'no event for an interrupted run',
      [{ result: 'interrupted', error: new Error('given up'), plan: undefined }],
      [''],
    ],
    [
      'applied changes, each time',
      Array(2).fill({ applied: [{ address: 'Agent/b', action: 'update', result: { status: 'done', id: 'x' } }] }),
      ['changes', 'changes'],
    ],
    ['pending changes, once', [{ hold: REPORT }, { hold: REPORT }], ['changes', '']],
    [
      'a guard, as a failure',
      [{ hold: { reason: 'guard', guards: [{ guard: 'large_change', message: 'm' }] } }],
      ['failure'],
    ],
    ['invalid manifests', [{ invalid: { diagnostics: [], error: new Error('bad') } }], ['failure']],
  ])('report %s', (_, reports, expected) => {
    expect(textsAfter(...reports)).toEqual(expected);
  });

  it('are valid JSON for any content', () => {
    const [event] = new NotificationEvents().eventsOf(sampleReport(failed))(notifyEvents);
    const template = { a: '{{error}}!', list: ['{{changed}}', 'n={{changed}}', 1, null], resources: '{{resources}}' };
    const body = event && bodyOf(event, template, (text) => text);
    expect(JSON.parse(JSON.stringify(body))).toEqual({
      a: 'no "answer"\\n{{x}}!',
      list: [0, 'n=0', 1, null],
      resources: [],
    });
    expect(event && bodyOf(event, undefined, (text) => text)).toMatchObject({
      url: null,
      event: 'failure',
      text: expect.stringMatching(/^voxform staging: failure\n/),
    });
  });
});

it('describes drift, its correction and its end on one line each, and name voxform and the workspace once', () => {
  const events = new NotificationEvents();
  const reports = [drift, corrected, drifted('2'), {}, { ...waiting, drift: [] }];
  expect(
    reports.map((report) =>
      events
        .eventsOf(sampleReport(report))(notifyEvents)
        .map(({ values }) => values.text),
    ),
  ).toEqual([
    ['voxform staging: drift\nAgent/a: name'],
    ['voxform staging: drift\nAgent/a: name (corrected)'],
    ['voxform staging: drift\nAgent/a: name'],
    ['voxform staging: drift\nAgent/a: no longer drifted'],
    ['voxform staging: changes\n1 to update (Agent/a)'],
  ]);
});

it('mentions in a drift that the manifest changed too', () => {
  const [event] = new NotificationEvents().eventsOf(sampleReport(moved))(notifyEvents);
  expect(event?.values.text).toBe('voxform staging: drift\nAgent/a: name (the manifest changed too)');
});

it('reports a correction as a change if the receiver does not subscribe to drift', () => {
  const [event, ...more] = new NotificationEvents().eventsOf(sampleReport(corrected))(['changes', 'failure']);
  expect([event?.event, event?.values.text]).toEqual(['changes', 'voxform staging: changes\nupdated Agent/a: name']);
  expect(more).toEqual([]);
});

it('lists the manual steps of a correction, and who overwrote a change', () => {
  const steps = [{ action: 'publish', instruction: 'Publish Agent/a in the dashboard.' }] as const;
  const withSteps = (report: Partial<RunReport>): Partial<RunReport> => ({
    ...report,
    plan: plan((report.plan?.resources ?? []).map((each) => ({ ...each, steps }))),
  });
  const text = (report: Partial<RunReport>, changes: boolean) =>
    new NotificationEvents()
      .eventsOf(sampleReport(withSteps(report)))(changes ? notifyEvents : ['failure', 'drift'])
      .filter(({ event }) => (changes ? true : event === 'drift'))
      .map(({ values }) => values.text);
  expect(text(corrected, true)).toEqual([
    'voxform staging: drift\nAgent/a: name (corrected). Publish Agent/a in the dashboard.',
  ]);
  expect(text(overwritten, true)).toEqual([
    'voxform staging: changes\nupdated Agent/a: name. Publish Agent/a in the dashboard.',
  ]);
  expect(text(overwritten, false)).toEqual([
    'voxform staging: drift\nAgent/a: name (overwritten by a change of the manifest). Publish Agent/a in the dashboard.',
  ]);
});

it('ends a message with the URL of the workspace page, if it is known', () => {
  const url = 'https://voxform.example.com/workspaces/voices/acme:production';
  const [event] = new NotificationEvents().eventsOf(sampleReport({ ...failed, url }))(notifyEvents);
  expect(event && bodyOf(event, undefined, (text) => text)).toMatchObject({
    url,
    text: expect.stringMatching(/\nhttps:\/\/voxform\.example\.com\/workspaces\/voices\/acme:production$/),
  });
});
