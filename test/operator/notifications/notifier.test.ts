import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { Busy } from '../../../src/operator/busy.ts';
import { systemClock } from '../../../src/operator/clock.ts';
import { Notifier } from '../../../src/operator/notifications/notifier.ts';
import { bodyOf, Occasions } from '../../../src/operator/notifications/occasions.ts';
import { type ToldMemory, toldInFolder } from '../../../src/operator/notifications/told-memory.ts';
import type { RunReport } from '../../../src/operator/run-report.ts';
import { notifyEvents } from '../../../src/project/notify-schema.ts';
import type { JsonObject } from '../../../src/values/json.ts';
import { Secret } from '../../../src/values/value.ts';
import { temporaryFolder } from '../../cli/voxform-process.ts';
import { change, plan, resource } from '../../output/sample-plan.ts';
import { outageAt, sampleReport } from '../sample-report.ts';

const REPORT = { why: 'report', command: 'voxform apply' } as const;
const drift = { drift: [{ address: 'Agent/a', fields: ['name'], digest: '1' }] };
const restore = resource('Agent/a', {
  action: 'update',
  changes: [change('name', { cause: 'drift' })],
});
const waiting = { ...drift, plan: plan([restore]), hold: REPORT };
const corrected: Partial<RunReport> = {
  ...drift,
  plan: plan([restore]),
  applied: [{ address: 'Agent/a', action: 'update', result: { status: 'done', id: 'x' } }],
};

function drifted(digest: string): Partial<RunReport> {
  return { drift: [{ address: 'Agent/a', fields: ['name'], digest }] };
}

const failed: Partial<RunReport> = {
  result: 'failed',
  error: new Error('no "answer"\n{{x}}'),
  plan: undefined,
};

/** A run that another one kept from its work, with the age of its sign of life. */
function heldFor(seconds: number, isLong: boolean): Partial<RunReport> {
  const holder = {
    id: 'L',
    operation: 'apply',
    who: 'ann@here',
    host: 'here',
    pid: 1,
    since: '2026',
    voxform_version: '1.0.0',
    silentSeconds: seconds % 60,
  };
  return { result: 'busy', error: new Busy(holder, ''), busy: { seconds, isLong }, plan: undefined };
}

/** The events of a row of reports. */
function told(...reports: readonly Partial<RunReport>[]): string[] {
  const occasions = new Occasions({ drift: true });
  return reports.map((report) =>
    occasions
      .in(sampleReport(report))
      .map(({ event }) => event)
      .join('+'),
  );
}

describe('what is worth telling', () => {
  it.each<[string, readonly Partial<RunReport>[], readonly string[]]>([
    ['nothing, where nothing happened', [{}, {}], ['', '']],
    ['a drift, once, and its end', [drift, drift, {}, {}, drift], ['drift', '', 'drift', '', 'drift']],
    ['a drift that moves on', [drift, drifted('2'), drifted('2')], ['drift', 'drift', '']],
    ['a drift and its correction in one', [corrected, {}], ['drift', '']],
    ['a drift that waits for an apply, once', [waiting, waiting], ['drift', '']],
    ['a failure, once until it is mended', [failed, failed, {}, failed], ['failure', '', '', 'failure']],
    ['another failure', [failed, { ...failed, error: new Error('other') }], ['failure', 'failure']],
    ['an outage once, at whichever record it is noticed', [outageAt('1'), outageAt('2')], ['failure', '']],
    ['each request that is refused', [outageAt('1', 422), outageAt('2', 422)], ['failure', 'failure']],
    [
      'a lock that is held for long, once until it is free',
      [heldFor(5, false), heldFor(700, true), heldFor(900, true), {}, heldFor(700, true)],
      ['', 'failure', '', '', 'failure'],
    ],
    ['no run that only waits', [{ result: 'busy', error: new Error('held'), plan: undefined }], ['']],
    [
      'no run that was ended',
      [{ result: 'interrupted', error: new Error('given up'), plan: undefined }],
      [''],
    ],
    [
      'what was applied, each time',
      Array(2).fill({
        applied: [{ address: 'Agent/b', action: 'update', result: { status: 'done', id: 'x' } }],
      }),
      ['changes', 'changes'],
    ],
    ['what waits, once', [{ hold: REPORT }, { hold: REPORT }], ['changes', '']],
    [
      'a guard, as a failure',
      [{ hold: { why: 'guard', guards: [{ flag: '--allow-large-change', message: 'm' }] } }],
      ['failure'],
    ],
    [
      'manifests that are not valid',
      [{ invalid: { diagnostics: [], error: new Error('bad') } }],
      ['failure'],
    ],
  ])('%s', (_, reports, expected) => {
    expect(told(...reports)).toEqual(expected);
  });

  it('is JSON whatever is in it', () => {
    const [occasion] = new Occasions({ drift: true }).in(sampleReport(failed));
    const template = {
      a: '{{error}}!',
      list: ['{{changed}}', 'n={{changed}}', 1, null],
      resources: '{{resources}}',
    };
    const body = occasion && bodyOf(occasion, template, (text) => text);
    expect(JSON.parse(JSON.stringify(body))).toEqual({
      a: 'no "answer"\\n{{x}}!',
      list: [0, 'n=0', 1, null],
      resources: [],
    });
    expect(occasion && bodyOf(occasion, undefined, (text) => text)).toMatchObject({
      event: 'failure',
      text: expect.stringMatching(/^voxform staging: failure\n/),
    });
  });
});

it('says drift, its correction and its end in a line each, and names voxform and the workspace once', () => {
  const occasions = new Occasions({ drift: true });
  const reports = [drift, corrected, drifted('2'), {}, { ...waiting, drift: [] }];
  expect(
    reports.map((report) => occasions.in(sampleReport(report)).map(({ values }) => values.text)),
  ).toEqual([
    ['voxform staging: drift\nAgent/a: name'],
    ['voxform staging: drift\nAgent/a: name (corrected)'],
    ['voxform staging: drift\nAgent/a: name'],
    ['voxform staging: drift\nAgent/a: drifted no longer'],
    ['voxform staging: changes\n1 to update (Agent/a)'],
  ]);
});

it('tells of a correction as a change where drift is not listened to', () => {
  const [occasion, ...more] = new Occasions({ drift: false }).in(sampleReport(corrected));
  expect([occasion?.event, occasion?.values.text]).toEqual([
    'changes',
    'voxform staging: changes\nupdated Agent/a: name',
  ]);
  expect(more.map(({ event }) => event)).toEqual(['drift']);
});

/** A receiver that answers with these statuses, the last one from then on. */
async function receiver(...statuses: readonly number[]) {
  const bodies: { readonly header: unknown; readonly text: string }[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (more: string) => (text += more));
    request.on('end', () => {
      response.writeHead(statuses[bodies.length] ?? statuses.at(-1) ?? 200).end();
      bodies.push({ header: request.headers['x-token'], text });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook/s3cretpath`;
  return { url, bodies, [Symbol.dispose]: () => void server.close() };
}

interface Telling {
  readonly memory?: ToldMemory;
  readonly template?: JsonObject;
  readonly secret?: string;
}

function notifierTo(url: string, { memory, template, secret = 'hunter2' }: Telling = {}) {
  const results: string[] = [];
  const log: string[] = [];
  const notifier = new Notifier({
    // Pauses are no part of what is tested.
    clock: {
      ...systemClock,
      after: (milliseconds, act) => systemClock.after(milliseconds > 20_000 ? milliseconds : 0, act),
    },
    random: () => 0,
    log: { entry: (level, message) => log.push(`${level} ${message}`) },
    redact: (text) => text.replaceAll(secret, '(secret)'),
    onResult: (result) => results.push(result),
    memory,
  });
  const header = { name: 'X-Token', value: new Secret('TOKEN', 'open sesame') };
  const target = {
    url: new Secret('HOOK', url),
    shown: new URL(url).origin,
    header,
    on: notifyEvents,
    template,
    network: {},
  };
  const notify = { receivers: [target], problems: [] };
  return {
    notifier,
    results,
    log,
    tell: (report: Partial<RunReport>) => notifier.finished(sampleReport({ notify, ...report })),
  };
}

describe('webhooks over real sockets', () => {
  it('are told again until they hear, in order, with their header', async () => {
    using hook = await receiver(503, 429, 200);
    const { notifier, results, tell } = notifierTo(hook.url);
    tell(drift);
    tell({ ...failed, error: new Error('hunter2') });
    await notifier.flush(30_000);
    expect(results).toEqual(['delivered', 'delivered']);
    const [first, second, third, fourth] = hook.bodies;
    expect([first?.text, first?.header]).toEqual([second?.text, 'open sesame']);
    expect(JSON.parse(third?.text ?? '')).toMatchObject({ event: 'drift', drifted: 1 });
    expect(JSON.parse(fourth?.text ?? '')).toMatchObject({ event: 'failure', error: '(secret)' });
  });

  it('tell of a drift once over restarts, and again where the message was lost', async () => {
    await using folder = await temporaryFolder();
    using hook = await receiver(400, 200);
    for (const report of [drift, drift, drift, {}, {}]) {
      const { notifier, tell } = notifierTo(hook.url, { memory: toldInFolder(folder.root) });
      tell(report);
      await notifier.flush(30_000);
    }
    const texts = hook.bodies.map(({ text }) => (JSON.parse(text) as { readonly text: string }).text);
    const [name, ended] = [
      'voxform staging: drift\nAgent/a: name',
      'voxform staging: drift\nAgent/a: drifted no longer',
    ];
    expect(texts).toEqual([name, name, ended]);
  });

  it.each([
    [
      'Slack, a channel',
      '<!channel> <!here|x> <!subteam^S1> <@U1> <#C1>',
      '‹!channel> ‹!here|x> ‹!subteam^S1> ‹@\u200bU1> ‹#C1>',
    ],
    ['Slack, a link', '<https://evil.example|sign in>', '‹https://evil.example|sign in>'],
    ['Discord, everyone', '@everyone x@here', '@\u200beveryone x@\u200bhere'],
    [
      'Discord, roles and users',
      '<@&12> <@!34> <@56> <#78> <:e:9>',
      '‹@&12> ‹@!34> ‹@\u200b56> ‹#78> ‹:e:9>',
    ],
    ['Mattermost', '@all (@channel) @ann', '@\u200ball (@\u200bchannel) @\u200bann'],
    [
      'Teams',
      '<at>Ann</at> [sign in](https://evil.example)',
      '‹at>Ann‹/at> [sign in]\u200b(https://evil.example)',
    ],
    [
      'nobody',
      'a@b.example 1 < 2 <= 3 a -> b @ noon [x] (y)',
      'a@b.example 1 < 2 <= 3 a -> b @ noon [x] (y)',
    ],
  ])('mention nobody in a text for people: %s', async (_, written, sent) => {
    using hook = await receiver(200);
    const { notifier, tell } = notifierTo(hook.url);
    const templated = notifierTo(hook.url, {
      template: { content: 'Oh: {{error}}', only: '{{error}}', fixed: '@here' },
    });
    const error = new Error(written);
    tell({ ...failed, error });
    await notifier.flush(30_000);
    templated.tell({ ...failed, error });
    await templated.notifier.flush(30_000);
    const [plain, filled] = hook.bodies.map(({ text }) => JSON.parse(text) as Record<string, string>);
    expect(plain?.text).toBe(`voxform staging: failure\n${sent}`);
    expect(plain?.error).toBe(written);
    expect(filled).toEqual({ content: `Oh: ${sent}`, only: sent, fixed: '@here' });
  });

  it('strike out a secret that looks like a mention', async () => {
    using hook = await receiver(200);
    const { notifier, tell } = notifierTo(hook.url, {
      template: { a: '{{text}}' },
      secret: '<@here>hunter',
    });
    tell({ ...failed, error: new Error('key <@here>hunter refused') });
    await notifier.flush(30_000);
    expect(hook.bodies[0]?.text).toBe('{"a":"voxform staging: failure\\nkey (secret) refused"}');
  });

  it.each([
    ['gives up what is refused for good', [400], 1, /answered 400$/],
    ['gives up after five tries', [500], 5, /answered 500, in 5 tries$/],
    ['follows no redirect', [302], 1, /answered 302$/],
  ] as const)('%s, and names the server alone', async (_, statuses, tries, message) => {
    using hook = await receiver(...statuses);
    const { notifier, results, log, tell } = notifierTo(hook.url);
    tell(drift);
    await notifier.flush(30_000);
    expect([results, hook.bodies.length]).toEqual([['failed'], tries]);
    expect(log.at(-1)).toMatch(message);
    expect(log.join()).not.toContain('s3cretpath');
  });

  it('leaves out what would pile up, and ends in time', async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { notifier, results, tell } = notifierTo(
      `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`,
    );
    for (let number = 0; number < 40; number++) tell({ ...failed, error: new Error(String(number)) });
    expect(results).toEqual(Array(8).fill('dropped'));
    await notifier.flush(0);
    expect(results.filter((result) => result === 'failed')).toHaveLength(32);
    silent.closeAllConnections();
    silent.close();
  });
});
