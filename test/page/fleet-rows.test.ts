import { expect, it } from 'vitest';
import { factsOf } from '../../src/page/fleet-source.ts';
import type { RunDetail, WorkspaceRow } from '../../src/page/page-data.ts';
import { detailOfStoredRun, runOfDecision, runOfReport } from '../../src/page/run-details.ts';
import { addressText, factList, pathOf, runsTable } from '../../src/page/views/parts.ts';
import { rowOf } from '../../src/page/workspace-detail.ts';
import { UserError } from '../../src/problems/user-error.ts';
import { sampleReport } from '../operator/sample-report.ts';
import { agents } from '../output/many-resources.ts';
import { plan, resource, richPlan } from '../output/sample-plan.ts';
import { runningPage } from './running-page.ts';
import { SampleSource } from './sample-source.ts';

const since = '2030-01-01T00:00:00Z';
const workspace = {
  address: 'voices/acme:test',
  status: 'pending',
  since,
  checkedAt: since,
  mode: 'approve',
  problem: null,
  paused: null,
  plan: null,
  rejected: null,
};
const rejected = { id: '0123456789ab', at: since, by: 'ann', because: null };
const counts = { create: 2 };

it.each([
  ['rejected', { rejected, last: { counts, hold: 'approval' } }, '2 to create; the plan was rejected by ann'],
  [
    'rejected after a window closed',
    { rejected, last: { counts, hold: 'window' } },
    '2 to create; the plan was rejected by ann',
  ],
  ['only reported', { last: { counts, hold: 'report' } }, '2 to create; the mode is report'],
  ['refused', { last: { counts, hold: 'policy', result: 'refused' } }, 'refused by a policy, 2 to create'],
  ['postponed', { last: { counts, hold: 'changing' } }, '2 to create'],
  [
    'paused',
    { status: 'paused', paused: { at: since, by: 'root', because: 'holidays' }, last: {} },
    'paused by root: holidays',
  ],
  [
    'failed while a plan waited',
    { status: 'failed', plan: { id: '0123456789ab', state: 'waiting' }, last: { error: 'no answer' } },
    'no answer; plan 0123456789ab waits for approval',
  ],
])('explains why changes are pending: %s', (_, more, summary) => {
  expect(rowOf({ ...workspace, ...more } as never).summary).toBe(summary);
});

it('does not count a workspace that was never checked as the oldest check', () => {
  const figures = {
    lateness: 0,
    oldestCheckAge: 60,
    neverChecked: 1,
    orphans: 0,
    processes: [],
    sources: [],
  };
  const [oldest] = factsOf(figures as never, new Date('2030-01-01T00:01:00Z'));
  expect(oldest).toEqual(['Oldest check', new Date(since)]);
});

it('counts the workspaces of each status, and names the statuses without workspaces on one line', async () => {
  await using page = await runningPage();
  const { text } = await page.ask('/');
  const tiles = [...text.matchAll(/<a href="\/workspaces\?status=([\w-]+)"><strong>(\d+)/g)];
  expect(tiles.map(([, status, count]) => [status, count])).toEqual([
    ['failed', '1'],
    ['waiting', '1'],
    ['in-sync', '1'],
  ]);
  expect(/id="none">([^<]+)/.exec(text)?.[1]).toMatch(/invalid, .*never run/);
});

it('finds resources by text and status, in pages, without a script', async () => {
  const resources = agents(120, (index) => (index < 60 ? { notices: ['never published'] } : {}));
  await using page = await runningPage({ source: new SampleSource({ plan: plan(resources) }) });
  const path = '/workspaces/voices/clients/client-00000:production';
  const found = async (query: string) => {
    const { text } = await page.ask(`${path}?${query}`);
    return [...text.matchAll(/<td class="name">.*?\/(branch-\d+)</g)].map(([, name]) => name);
  };
  expect(await found('q=branch-05')).toHaveLength(10);
  expect(await found('q=NEVER+branch-06')).toEqual([]);
  expect(await found('status=unpublished')).toHaveLength(50);
  expect(await found('status=unpublished&page=2')).toHaveLength(10);
  expect(await found('status=unpublished&q=branch-05&page=1')).toHaveLength(10);
  const { status, headers } = await page.ask(`${path}?status=unpublished&page=9`);
  expect([status, headers.location]).toEqual([302, `${path}?status=unpublished&page=2`]);
  const hostile = (await page.ask(`${path}?q=%3Cb%3E&status=%22none`)).text;
  expect(hostile).toContain('value="&lt;b&gt;"');
  expect(hostile).toContain('No resource matches.');
});

it('attributes a decision to a person as a decision, not as a request', () => {
  const decision = { startedAt: new Date(since), result: 'paused', askedBy: 'ann', mode: 'apply' };
  const paused = detailOfStoredRun(runOfDecision({ ...decision, summary: {} }));
  const table = (run: RunDetail) => runsTable('acme:test', [run], new Date(since)).text;
  expect(table(paused)).toContain('data-title="User"><bdi>ann</bdi>');
  const rejected = detailOfStoredRun(runOfDecision({ ...decision, summary: { because: 'no' } }));
  expect(table({ ...rejected, plan: 'aca9' })).toContain('reason: no; plan aca9<');
  expect(table({ ...paused, result: 'ok' })).toContain('data-title="User">requested by <bdi>ann</bdi>');
});

it.each([
  ['report', 'only reports how the manifests differ from https://api.example.com. It applies nothing.'],
  ['apply', 'applies the changes to https://api.example.com without asking'],
  ['approve', 'makes a plan for https://api.example.com, which waits for approval.'],
])('explains before a run what it does in the mode %s', async (mode, words) => {
  const source = new SampleSource({ plan: { ...richPlan, base_url: 'https://api.example.com' } });
  const [row, ...others] = source.rows;
  source.rows.splice(0, 3, { ...(row as WorkspaceRow), mode }, ...others);
  await using page = await runningPage({ source });
  const cookie = await page.signIn('admin-token');
  const path = pathOf(row?.address ?? '', 'actions', 'run');
  expect((await page.ask(path, { headers: { cookie } })).text).toContain(words);
});

it('isolates a direction escape in a name from the surrounding text', () => {
  expect(addressText('\u05d0\u202eevil').text).toBe('<bdi>\u05d0</bdi><bdi>\\u202e</bdi><bdi>evil</bdi>');
});

it('shows the status of the resources for a run of a watch without changes', () => {
  const resources = [resource('Agent/a'), resource('Agent/b', { notices: ['its draft is newer'] })];
  const { summary } = detailOfStoredRun(runOfReport(sampleReport({ plan: plan(resources) }), String));
  expect(summary).toBe('1 with manual steps');
});

it('calls a run on the last valid manifests invalid', () => {
  const invalid = { diagnostics: [], error: new UserError('broken') };
  const run = (more: Parameters<typeof sampleReport>[0]) =>
    detailOfStoredRun(runOfReport(sampleReport(more), String)).result;
  expect(run({ invalid, hold: { reason: 'changing' } })).toBe('invalid');
  expect(run({ hold: { reason: 'changing' } })).toBe('planned');
});

it('shortens digests', () => {
  const digest = 'abcdef0123456789'.repeat(2);
  expect(factList([['Plan digest', digest]], new Date(since)).text).toContain('>abcdef012345</span>');
});

it('sends a reader of a waiting plan through the sign-in to its approval', async () => {
  const source = new SampleSource({ count: 1 });
  await using page = await runningPage({ source });
  const path = pathOf(source.rows[0]?.address ?? '');
  const [, href = ''] = /href="([^"]+)">Sign in to approve</.exec((await page.ask(path)).text) ?? [];
  const { status, text } = await page.ask(href);
  expect([status, text]).toEqual([401, expect.stringContaining(`name="to" value="${href}"`)]);
});

it('shows that a run is due', async () => {
  const source = new SampleSource({ count: 1 });
  await using page = await runningPage({ source });
  const path = pathOf(source.rows[0]?.address ?? '');
  expect((await page.ask(path)).text).toMatch(/Next run<\/dt><dd><time[^>]*>.*in 3 min/);
  page.time = new Date(page.time.getTime() + 4 * 60_000);
  expect((await page.ask(path)).text).toMatch(/Next run<\/dt><dd><time[^>]*>.*>due</);
});
