import { hostname } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { API_KEY, agentManifest, projectFile, testWorkspace, webhookManifest } from '../cli/workspace.ts';
import { RunningWatch } from '../operator/running-watch.ts';
import { createLocalStore } from '../state/temporary-state.ts';
import { apiProblems } from './api-problems.ts';
import { asking } from './running-page.ts';

const TOKEN = 'the-token-of-this-watch';

it('shows the workspace of a watch, starts a run and closes an orphan, each attributed to the requester', async () => {
  await using workspace = await testWorkspace({
    'manifests/a.yaml': agentManifest('answering'),
    'manifests/b.yaml': webhookManifest('leaving', 'https://hooks.example.com/x'),
  });
  const links = '    dashboard: { webhook: "https://app.example.com/hooks/{id}" }\n';
  await workspace.folder.write('voxform.yaml', projectFile(workspace.emulator, links));
  await workspace.run('apply', '--auto-approve');
  await workspace.folder.write('manifests/b.yaml', '# nothing\n');
  await workspace.run('apply', '--auto-approve');
  await workspace.folder.write(
    'manifests/a.yaml',
    agentManifest('answering', 'Be brief.').replace('metadata:', 'metadata:\n  labels: { team: sales }'),
  );
  const watch = new RunningWatch(['--listen', '127.0.0.1:0', '--interval', '1h'], {
    cwd: workspace.folder.root,
    env: { VOXFORM_API_KEY: API_KEY, VOXFORM_WATCH_TOKEN: TOKEN },
    in: 'a process',
  });
  const url = await watch.url();
  const ask = asking(url);
  await watch.until('run');

  const first = await ask('/');
  expect([first.status, first.headers.location]).toEqual([302, '/workspaces/test']);
  const free = await ask('/workspaces/test');
  expect(free.text).toContain('1 to update');
  expect(free.text).toContain('Webhook</span>/leaving');
  expect(free.text).toMatch(/Webhook<\/span>\/leaving(?:(?!<li>)[\s\S])*app\.example\.com\/hooks\/01/);
  expect(free.text).not.toContain('Run now');
  expect((await ask('/workspaces?label=team%3Dsales')).text).toContain('1 of 1 workspace');
  expect((await ask('/workspaces?label=team%3Dother')).text).toContain('0 of 1 workspace');
  expect((await ask('/workspaces?source=other')).text).toContain('0 of 1 workspace');
  expect((await ask('/workspaces?q=TES')).text).toMatch(/1 of 1 workspace[\s\S]*1 to update, 1 with manual steps/);
  const bearer = { authorization: `Bearer ${TOKEN}` };
  const metrics = await ask('/metrics', { headers: bearer });
  expect(metrics.text).toContain('voxform_resources{status="update"} 1');

  const signedIn = await ask('/sign-in', { form: { token: TOKEN, to: '/workspaces/test' } });
  expect([signedIn.status, signedIn.headers.location]).toEqual([303, '/workspaces/test']);
  const cookie = signedIn.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
  const act = async (action: string, of?: string) => {
    const path = `/workspaces/test/actions/${action}`;
    const { text } = await ask(of === undefined ? path : `${path}?of=${of}`, { headers: { cookie } });
    const form = /action="\/workspaces[^>]*><input type="hidden" name="form" value="([^"]+)"/.exec(text)?.[1] ?? '';
    const sent = { form, because: 'deleted', ...(of !== undefined && { of }) };
    return (await ask(path, { headers: { cookie }, form: sent })).status;
  };
  expect(await act('run')).toBe(303);
  await watch.until('run', ({ run }) => run === 2);
  const orphan = /close-orphan\?of=([^"]+)"/.exec((await ask('/workspaces/test', { headers: { cookie } })).text)?.[1];
  expect(await act('close-orphan', orphan)).toBe(303);
  const seen = async (path: string) => (await ask(`/workspaces/test/actions/${path}`, { headers: { cookie } })).status;
  expect([await seen(`close-orphan?of=${orphan}`), await seen('approve'), await seen('resume')]).toEqual([
    404, 409, 409,
  ]);

  const { text } = await ask('/workspaces/test');
  expect(text.match(/<bdi>admin<\/bdi>/g)).toHaveLength(2);
  expect(text).not.toContain('Webhook</span>/leaving');
  const run = /href="(\/workspaces\/test\/runs\/[^"]+)"/.exec(text)?.[1] ?? '';
  expect((await ask(run)).text).toContain('orphans close');
  expect(text).toContain('<bdi>1 closed</bdi>');
  const [, planned = ''] = /href="([^"]+)"(?:(?!<tr>)[\s\S])*?badge faint">planned/.exec(text) ?? [];
  expect((await ask(planned)).text).toMatch(/answering[\s\S]*update<[\s\S]*badge faint">planned[\s\S]*prompt/);
  expect((await ask('/workspaces/test/runs/none')).status).toBe(404);
  watch.signal('SIGTERM');
  expect(await watch.ended).toMatchObject({ code: 0 });
  const history = await workspace.run('history', '--output', 'json');
  expect(JSON.parse(history.stdout).runs[0]).toMatchObject({ command: 'orphans close', asked_by: 'admin' });
});

it("compares the calls of an agent's versions on request", async () => {
  const calls = { perDay: 20, days: 2, versions: { '2': { session_outcome: { escalated: 1 } } } };
  await using workspace = await testWorkspace(
    {
      'manifests/a.yaml': agentManifest('answering'),
      'manifests/b.yaml': webhookManifest('hook', 'https://a.example'),
    },
    { seed: undefined, behaviour: { calls } },
  );
  await workspace.run('apply', '--auto-approve');
  const [agent = ''] = workspace.emulator.world.agents.keys();
  for (let version = 1; version <= 2; version++) workspace.emulator.dashboard.publishAgent(agent);
  const watch = new RunningWatch(['--listen', '127.0.0.1:0', '--interval', '1h'], {
    cwd: workspace.folder.root,
    env: { VOXFORM_API_KEY: API_KEY, VOXFORM_WATCH_TOKEN: TOKEN },
  });
  const ask = asking(await watch.url());
  await watch.until('run');
  const signedIn = await ask('/sign-in', { form: { token: TOKEN } });
  const headers = { cookie: signedIn.headers['set-cookie']?.[0]?.split(';')[0] ?? '' };
  const path = '/workspaces/test/actions/compare-calls';
  const resource = '/workspaces/test/resources/Agent/answering';
  expect((await ask(resource)).text, 'a stranger sees nothing').not.toContain('compare-calls');
  expect((await ask(resource, { headers })).text).toContain(`${path}?of=Agent%2Fanswering`);
  expect((await ask('/workspaces/test/resources/Webhook/hook', { headers })).text).not.toContain('compare-calls');
  expect((await ask(`${path}?of=Agent/other`, { headers })).status).toBe(404);

  const { text } = await ask(`${path}?of=Agent/answering`, { headers });
  expect(text).toContain('<dt>Resource</dt><dd><bdi>Agent/answering</bdi>');
  const form = /name="form" value="([^"]+)"/.exec(text)?.[1] ?? '';
  expect((await ask(path, { headers, form: { form, of: 'Webhook/hook' } })).status).toBe(409);
  const before = workspace.emulator.requests.length;
  expect((await ask(path, { headers, form: { form, of: 'Agent/answering' } })).status).toBe(303);
  const shown = async () => (await ask(resource)).text;
  await expect.poll(shown).toContain('Version 1 to version 2');
  const page = await shown();
  expect(page).toMatch(/session_outcome=escalated<\/td>.*?<strong>\+[\d.]+ points/s);
  expect(page).toContain('class="publication"');
  const asked = workspace.emulator.requests.slice(before).map((each) => each.path.replace(/\?.*/, ''));
  const versions = `/api/v1/agents/${agent}/versions`;
  // Each call is read once.
  expect(asked.sort()).toEqual([versions, `${versions}/1`, `${versions}/2`, '/api/v1/call-histories']);
  watch.signal('SIGTERM');
  expect(await watch.ended).toMatchObject({ code: 0 });
});

it('shows the error while the workspace is unknown', async () => {
  await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('answering') });
  const file = projectFile(workspace.emulator);
  await workspace.folder.write('voxform.yaml', `${file}\njunk: true\n`);
  const watch = new RunningWatch(['--listen', '127.0.0.1:0', '--interval', '1s'], {
    cwd: workspace.folder.root,
    env: { VOXFORM_API_KEY: API_KEY },
  });
  const ask = asking(await watch.url());
  const shown = async (path: string) => (await ask(path)).text;
  await expect.poll(() => shown('/')).toMatch(/1 workspace[\s\S]*href="\/workspaces\/workspace"/);
  for (const path of ['/workspaces/workspace', '/workspaces/test'])
    await expect.poll(() => shown(path)).toMatch(/invalid[\s\S]*unknown field &quot;junk&quot;/);
  expect(await shown('/workspaces/workspace')).not.toContain('the last valid ones');
  await workspace.folder.write('voxform.yaml', file);
  await expect.poll(async () => (await ask('/')).headers.location).toBe('/workspaces/test');
  expect((await ask('/workspaces/workspace')).status).toBe(404);
  watch.signal('SIGTERM');
  expect(await watch.ended).toMatchObject({ code: 0 });
});

it('explains why a run cannot be shown while the state cannot be read', async () => {
  await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('answering') });
  await workspace.run('apply', '--auto-approve');
  const watch = new RunningWatch(['--listen', '127.0.0.1:0', '--interval', '1h'], {
    cwd: workspace.folder.root,
    env: { VOXFORM_API_KEY: API_KEY },
  });
  const ask = asking(await watch.url());
  await watch.until('run');
  await workspace.folder.write('.voxform/test.state.json', 'nonsense');
  const { status, text } = await ask('/workspaces/test/runs/none');
  expect([status, text]).toEqual([503, expect.stringContaining('test.state.json')]);
  watch.signal('SIGTERM');
  expect(await watch.ended).toMatchObject({ code: 0 });
});

it('keeps the status of a workspace while another run holds the lock', async () => {
  await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('answering') });
  const flags = ['--mode', 'apply', '--auto-approve', '--lock-timeout', '0', '--interval', '1h'];
  const watch = new RunningWatch(['--listen', '127.0.0.1:0', ...flags], {
    cwd: workspace.folder.root,
    env: { VOXFORM_API_KEY: API_KEY },
  });
  const ask = asking(await watch.url());
  await watch.until('run');
  const status = async () => {
    const { text } = await ask('/workspaces/test');
    return /class="status"><span[^>]*>([^<]+)<.*?datetime="([^"]+)"/s.exec(text)?.slice(1);
  };
  const before = await status();
  expect(before).toEqual(['in sync', expect.any(String)]);
  const store = createLocalStore({
    root: workspace.folder.root,
    path: path.join(workspace.folder.root, '.voxform/test.state.json'),
    host: hostname(),
    user: 'someone',
    pid: process.pid,
    version: '1.0.0',
    now: () => new Date(),
  });
  const nothing = () => undefined;
  const lease = await store.lock({ operation: 'apply', timeoutSeconds: 0, notice: nothing, warn: nothing });
  await workspace.folder.write('manifests/a.yaml', agentManifest('answering', 'Be brief.'));
  watch.signal('SIGHUP');
  await watch.until('busy');
  const isTold = async () => (await ask('/workspaces/test')).text.includes('Another run holds the lock');
  await expect.poll(isTold).toBe(true);
  expect(await status()).toEqual(before);
  expect((await ask('/workspaces?status=failed')).text).toContain('0 of 1 workspace');
  await lease.release();
  watch.signal('SIGTERM');
  expect(await watch.ended).toMatchObject({ code: 0 });
});

it('pauses and resumes a watch, and names who did', async () => {
  await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('answering') });
  const watch = new RunningWatch(['--listen', '127.0.0.1:0', '--interval', '1s'], {
    cwd: workspace.folder.root,
    env: { VOXFORM_API_KEY: API_KEY, VOXFORM_WATCH_TOKEN: TOKEN },
  });
  const ask = asking(await watch.url());
  await watch.until('run');
  const signedIn = await ask('/sign-in', { form: { token: TOKEN } });
  const headers = {
    cookie: signedIn.headers['set-cookie']?.[0]?.split(';')[0] ?? '',
    authorization: `Bearer ${TOKEN}`,
  };
  const act = async (action: string) => {
    const path = `/workspaces/test/actions/${action}`;
    const { text } = await ask(path, { headers });
    const form = /name="form" value="([^"]+)"/.exec(text)?.[1] ?? '';
    return (await ask(path, { headers, form: { form, because: 'a rehearsal' } })).status;
  };
  const status = async () =>
    JSON.parse((await ask('/status', { headers })).text) as {
      readonly runs: number;
      readonly running: boolean;
      readonly paused: unknown;
    };
  expect(await act('resume')).toBe(409);
  expect(await act('pause')).toBe(303);
  await expect.poll(async () => (await status()).running).toBe(false);
  const { runs, paused } = await status();
  expect(paused).toMatchObject({ by: 'admin', because: 'a rehearsal' });
  expect((await ask('/metrics', { headers })).text).toContain('voxform_paused 1');
  expect(apiProblems('watch_status', await status())).toEqual([]);
  const text = async () => (await ask('/workspaces/test')).text;
  expect(await text()).toMatch(
    /badge faint">paused[\s\S]*after it is resumed[\s\S]*admin: a rehearsal[\s\S]*<bdi>admin/,
  );
  expect([await act('run'), await act('pause')]).toEqual([409, 409]);
  expect((await ask('/reconcile', { method: 'POST', headers })).status).toBe(202);
  await workspace.folder.write('manifests/a.yaml', agentManifest('answering', 'Be brief.'));
  expect((await status()).runs).toBe(runs);
  expect(await act('resume')).toBe(303);
  await watch.until('run', ({ triggers }) => String(triggers).includes('request'));
  expect(await text()).toMatch(/badge faint">resumed/);
  expect((await ask('/metrics', { headers })).text).toContain('voxform_paused 0');
  watch.signal('SIGTERM');
  expect(await watch.ended).toMatchObject({ code: 0 });
});

it('limits wrong bearer tokens like those of the sign-in', async () => {
  await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('a') });
  const watch = new RunningWatch(['--listen', '127.0.0.1:0'], {
    cwd: workspace.folder.root,
    env: { VOXFORM_API_KEY: API_KEY, VOXFORM_WATCH_TOKEN: TOKEN },
  });
  const ask = asking(await watch.url());
  const statuses = [];
  for (let guess = 0; guess < 11; guess++) {
    statuses.push((await ask('/status', { headers: { authorization: `Bearer guess-${guess}` } })).status);
  }
  expect(statuses).toEqual([...Array(10).fill(403), 429]);
  expect((await ask('/sign-in', { form: { token: TOKEN } })).status).toBe(429);
  expect((await ask('/healthz')).status).toBe(200);
  const handedOn = { 'x-forwarded-for': '10.9.9.9' };
  const direct = (await ask('/status')).status;
  expect([direct, (await ask('/status', { headers: handedOn })).status]).toEqual([200, 403]);
  watch.signal('SIGTERM');
  await watch.ended;
});
