/** @module-tag long */

import { expect, it } from 'vitest';
import { AGENTS, DriftProject, SECRETS } from '../hosting/drift-project.ts';
import { asking } from '../page/running-page.ts';
import { step } from '../step.ts';
import { RunningWatch } from './running-watch.ts';

const BRANCH = 'voxform/drift/test';
const ON_DRIFT = ['--on-drift', 'pull-request', '--interval', '1'];

const env = { ...SECRETS, VOXFORM_WATCH_TOKEN: 'the-token-of-this-watch' };

it('keeps the drift request of a workspace in report mode up to date', async () => {
  await using project = await DriftProject.open('github');
  const { host } = project;
  const args = [...ON_DRIFT, '--listen', '127.0.0.1:0'];
  const watch = new RunningWatch(args, { cwd: project.root, env, in: 'a process' });
  const url = await watch.url();
  await watch.until('run');

  const opened = await step('drift: a request is opened, reported once, and shown in the status', async () => {
    project.edit('day', { llm_config: { temperature: 0.9 } });
    const told = await watch.until('request');
    expect(told).toMatchObject({ level: 'info', message: expect.stringMatching(/^pull request opened: http/) });
    await watch.until('run');
    const [request] = host.requests;
    expect(project.text(BRANCH, 'manifests/agents.yaml')).toBe(AGENTS.replace('0.5', '0.9'));
    const ask = asking(url);
    const link = `${host.url}/acme/voices/pull/${request?.number}`;
    const status = await ask('/status', { headers: { authorization: 'Bearer the-token-of-this-watch' } });
    expect(JSON.parse(status.text)).toMatchObject({
      last_run: { pull_request: { status: 'open', url: link, problem: null } },
    });
    const page = (await ask('/workspaces/test')).text;
    const metrics = await ask('/metrics', { headers: { authorization: 'Bearer the-token-of-this-watch' } });
    expect(metrics.text).toContain('voxform_drift_request{status="open"} 1');
    expect(page).toContain(`<a href="${link}">`);
    expect(page).toMatch(/badge change">drifted/);
    return host.calls.length;
  });

  await step('more runs: the host is not called again while nothing changes', async () => {
    const { run } = await watch.until('run');
    await watch.until('run', (entry) => Number(entry.run) > Number(run));
    expect(host.calls).toHaveLength(opened);
  });

  await step('the drift ends: the request is closed', async () => {
    project.edit('day', { llm_config: { temperature: 0.5 } });
    expect((await watch.until('request')).message).toContain('pull request closed, because the drift has ended');
    expect(host.requests.map(({ state }) => state)).toEqual(['closed']);
  });

  await step('the host is down: this is reported once, and runs succeed', async () => {
    for (let count = 0; count < 20; count++) host.faults.push({ on: /./, answer: { status: 401 } });
    project.edit('day', { llm_config: { temperature: 0.9 } });
    const problem = await watch.until('request-failed');
    expect(problem).toMatchObject({
      level: 'warning',
      message: expect.stringContaining('rejected the token GITHUB_TOKEN'),
    });
    await watch.until('run', ({ result, run }) => result === 'ok' && Number(run) > Number(problem.run) + 1);
    expect(watch.entries.filter(({ event }) => event === 'request-failed')).toHaveLength(1);
    expect((await asking(url)('/workspaces/test')).text).toContain('There is no pull request for the drift');
  });
  watch.signal('SIGTERM');
  const { code, stderr } = await watch.ended;
  expect(code).toBe(0);
  expect(stderr).not.toContain(SECRETS.GITHUB_TOKEN);
});

it('applies the commits of the branch, and leaves the drift to the request', async () => {
  await using project = await DriftProject.open('gitlab');
  const { host, emulator } = project;
  const day = () => [...emulator.world.agents.values()].find(({ name }) => String(name).startsWith('Day'));
  project.edit('day', { llm_config: { temperature: 0.9 } });
  const args = [...ON_DRIFT, '--git', host.remote, '--mode', 'apply', '--auto-approve'];
  const watch = new RunningWatch(args, { cwd: project.root, env });
  await watch.until('request', ({ message }) => message.startsWith('pull request opened'));
  expect(day()).toMatchObject({ name: 'Day', llm_config: { temperature: 0.9 } });
  expect(host.requests).toMatchObject([{ base: 'main', state: 'open' }]);

  await step('another manifest changes: it is applied, and the request is rebased on it', async () => {
    host.repository.push('main', { 'manifests/agents.yaml': AGENTS.replace('name: Day ', 'name: Day shift ') });
    await watch.until('applied', ({ address }) => address === 'Agent/day');
    expect(day()).toMatchObject({ name: 'Day shift', llm_config: { temperature: 0.9 } });
    await watch.until('request', ({ message }) => message.startsWith('pull request updated'));
    const { run } = await watch.until('run');
    await watch.until('run', (entry) => Number(entry.run) > Number(run));
    expect(host.requests.map(({ state }) => state)).toEqual(['open']);
    expect(project.text(BRANCH, 'manifests/agents.yaml')).toContain('name: Day shift ');
    expect(project.text(BRANCH, 'manifests/agents.yaml')).toContain('temperature: 0.9');
  });

  await step('the request is merged: nothing remains to apply, and no drift was corrected', async () => {
    host.merge(host.requests[0]?.number ?? 0);
    await watch.until('drift-gone');
    expect(day()).toMatchObject({ name: 'Day shift', llm_config: { temperature: 0.9 } });
    expect(host.requests).toHaveLength(1);
  });

  await step('both sides change the same field: Git wins, as without a request', async () => {
    project.edit('day', { llm_config: { temperature: 0.2 } });
    await watch.until('request', ({ message }) => message.startsWith('pull request opened'));
    const merged = project.text('main', 'manifests/agents.yaml') ?? '';
    host.repository.push('main', { 'manifests/agents.yaml': merged.replace('0.9', '0.4') });
    await watch.until('request', ({ message }) => message.startsWith('pull request closed'));
    expect(day()).toMatchObject({ llm_config: { temperature: 0.4 } });
  });
  watch.signal('SIGTERM');
  expect(await watch.ended).toMatchObject({ code: 0 });
});
