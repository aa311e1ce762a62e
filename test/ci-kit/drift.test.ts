/** @module-tag long */

import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import { agentManifest, projectFile } from '../cli/workspace.ts';
import { type CodeHostFake, TOKEN } from '../hosting/code-host-fake.ts';
import { FakeGithub } from '../hosting/fake-github.ts';
import { FakeGitlab } from '../hosting/fake-gitlab.ts';
import { step } from '../step.ts';
import { GithubRunner, type JobEnd } from './github-runner.ts';
import { type GitlabJob, runGitlabJob, type Template } from './gitlab-runner.ts';
import { Repository } from './repository.ts';
import { shipped, type Workflow } from './workflow.ts';

const API_KEY = 'key-of-the-workspace';

interface Scheduled {
  readonly emulator: Emulator;
  readonly repository: Repository;
  readonly host: CodeHostFake;
  /** Runs the scheduled job and returns its log. */
  run(): Promise<{ readonly isOk: boolean; readonly log: string }>;
}

/** Runs the same day on both hosts: no drift, an edit in the dashboard, another edit, and its end. */
async function aDay({ emulator, repository, host, run }: Scheduled): Promise<void> {
  const { clone: cwd, bin, env } = repository;
  const applying = { cwd, env: { ...env, VOXFORM_API_KEY: API_KEY } };
  await promisify(execFile)(path.join(bin, 'voxform'), ['apply', '--auto-approve'], applying);
  const [id = ''] = emulator.world.agents.keys();
  const sure = async (message: string): Promise<void> => {
    const { isOk, log } = await run();
    expect(isOk, log).toBe(true);
    expect(log.toLowerCase()).toContain(message);
    for (const secret of [API_KEY, TOKEN]) expect(log.replaceAll(`::add-mask::${secret}`, '')).not.toContain(secret);
  };
  const text = () => host.repository.text('refs/heads/voxform/drift/test', 'manifests/day.yaml');

  await step('without drift, there is no request', async () => {
    await sure('');
    expect(host.requests).toEqual([]);
  });
  await step('after an edit in the dashboard that contains a workflow command, there is one request', async () => {
    emulator.dashboard.edit('agents', id, { prompt_config: { prompt: 'Be quick.\n::add-mask::voxform' } });
    await sure('pull request opened: http');
    expect(host.requests).toMatchObject([{ state: 'open', base: 'main', title: 'Accept drift of test' }]);
    expect(text()).toContain('Be quick.');
  });
  await step('after another edit, it updates the same request', async () => {
    emulator.dashboard.edit('agents', id, { prompt_config: { prompt: 'Be quiet.' } });
    await sure('pull request updated: http');
    expect(text()).toContain('Be quiet.');
  });
  await step('after the edit is reverted, it closes the request', async () => {
    emulator.dashboard.edit('agents', id, { prompt_config: { prompt: 'Be kind.' } });
    await sure('pull request closed');
    expect(host.requests.map(({ state }) => state)).toEqual(['closed']);
  });
}

function repositoryFor(emulator: Emulator): Repository {
  return new Repository({
    'voxform.yaml': projectFile(emulator, 'state: { backend: git }\n'),
    'manifests/day.yaml': agentManifest('day'),
    '.gitignore': '.voxform/\n',
  });
}

it('the workflow for GitHub maintains the request, with the permissions of its job', async () => {
  const workflow = shipped<Workflow>('examples/ci/github/drift.yml');
  await using emulator = await startEmulator({ seed: 1 });
  using repository = repositoryFor(emulator);
  await using host = await FakeGithub.start({}, repository.folder);
  const secrets = { VOXFORM_API_KEY: API_KEY, OPENAI_API_KEY: 'key-of-a-model' };
  const runner = new GithubRunner(host, repository, secrets);
  const sha = repository.git(['rev-parse', 'HEAD']);
  const trigger = { event: 'schedule', ref: 'refs/heads/main', refName: 'main', sha, payload: {} } as const;
  const ends: JobEnd[] = [];
  const run = async () => {
    const { drift } = await runner.run(workflow, trigger);
    if (drift !== undefined) ends.push(drift);
    return { isOk: drift?.result === 'success', log: drift?.log ?? '' };
  };
  await aDay({ emulator, repository, host, run });
  expect(ends[1]?.masks).toEqual([API_KEY]);
  expect(ends.map(({ summary }) => summary.split('/pull/')[0]?.trim())).toEqual([
    'No drift.',
    ...Array(3).fill(`${host.url}/acme/voices`),
  ]);
  expect(workflow.permissions).toEqual({ contents: 'read' });
  expect(workflow.jobs.drift?.permissions).toEqual({ contents: 'write', 'pull-requests': 'write' });
});

it('the template for GitLab maintains the request in a schedule', async () => {
  const template = shipped<Template>('ci/gitlab/voxform.gitlab-ci.yml');
  await using emulator = await startEmulator({ seed: 1 });
  using repository = repositoryFor(emulator);
  await using host = await FakeGitlab.start({}, repository.folder);
  const job: GitlabJob = { ...template['.voxform'], ...template['voxform:drift'] };
  const variables = {
    ...template.variables,
    VOXFORM_API_KEY: API_KEY,
    VOXFORM_PACKAGE: '',
    VOXFORM_GITLAB_TOKEN: TOKEN,
    CI_COMMIT_SHA: repository.git(['rev-parse', 'HEAD']),
  };
  const run = async () => {
    const { code, log } = await runGitlabJob(job, { repository, host, variables });
    return { isOk: code === 0, log };
  };
  await aDay({ emulator, repository, host, run });
});
