import { readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { startEmulator } from '../../src/emulator/start-emulator.ts';
import { agentManifest, projectFile } from '../cli/workspace.ts';
import { step } from '../step.ts';
import { GitlabHost, PROJECT_ID, TOKEN } from './gitlab-host.ts';
import { type GitlabEnd, type GitlabJob, runGitlabJob, startOf, type Template } from './gitlab-runner.ts';
import { executable, Repository, sha256 } from './repository.ts';
import { shipped } from './workflow.ts';

const template = shipped<Template>('ci/gitlab/voxform.gitlab-ci.yml');
const API_KEY = 'key-of-the-workspace';
const PACKAGE = 'a package';
const TAMPERED = '#!/bin/sh\necho tampered with\n';

const onRequest = {
  CI_PIPELINE_SOURCE: 'merge_request_event',
  CI_MERGE_REQUEST_IID: '7',
  CI_MERGE_REQUEST_SOURCE_PROJECT_ID: PROJECT_ID,
  CI_MERGE_REQUEST_TITLE: '$(touch pwned) `touch pwned` "\'\n/merge',
  CI_COMMIT_REF_NAME: 'feat/$(touch\u0024{IFS}pwned)";\'&',
  CI_DEFAULT_BRANCH: 'main',
  CI_PROJECT_ID: PROJECT_ID,
};
const onMain = {
  CI_PIPELINE_SOURCE: 'push',
  CI_COMMIT_BRANCH: 'main',
  CI_DEFAULT_BRANCH: 'main',
  CI_PROJECT_ID: PROJECT_ID,
};

type Name = 'validate' | 'plan' | 'apply' | 'drift';

function job(name: Name): GitlabJob {
  return { ...template['.voxform'], ...template[`voxform:${name}`] };
}

describe('the template for GitLab', () => {
  it('plans a branch and applies exactly this plan after the merge, with the executable and without Node', {
    tags: ['long'],
  }, async () => {
    await using emulator = await startEmulator({ seed: 1 });
    await using host = await GitlabHost.start();
    using repository = new Repository({
      'voices/voxform.yaml': projectFile(emulator, 'state: { backend: git }\n'),
      'voices/manifests/day.yaml': agentManifest('day'),
      'vendor/voxform-linux-x64': executable(),
    });
    rmSync(path.join(repository.bin, 'voxform'));
    host.repositories = repository.folder;
    const settings = {
      VOXFORM_API_KEY: API_KEY,
      VOXFORM_PACKAGE: 'vendor/voxform-linux-x64',
      VOXFORM_SHA256: sha256(executable()),
      VOXFORM_PROJECT: 'voices',
    };
    const run = (name: 'validate' | 'plan' | 'apply', sha: string, variables: Readonly<Record<string, string>>) =>
      runGitlabJob(job(name), {
        repository,
        host,
        variables: { ...template.variables, ...settings, ...variables, CI_COMMIT_SHA: sha },
      });
    const propose = async (agent: string): Promise<{ readonly end: GitlabEnd; readonly sha: string }> => {
      repository.branch(onRequest.CI_COMMIT_REF_NAME);
      const sha = repository.commit({ [`voices/manifests/${agent}.yaml`]: agentManifest(agent) });
      repository.git(['push', '-q', 'origin', `HEAD:refs/merge-requests/7/head`]);
      const end = await run('plan', sha, onRequest);
      const id = host.nextId();
      host.jobs.push({ id, name: 'voxform:plan', pipeline: id, request: 7, sha, files: end.files });
      return { end, sha };
    };
    const foreign = {
      body: '<!-- voxform plan voices  -->\nnothing changes',
      author: { id: 13, username: 'mallory' },
      system: false,
      created_at: '2026-01-01T00:00:00Z',
    };
    host.notes.push({ id: 1, ...foreign }, { id: 2, ...foreign });

    const writes = () => emulator.requests.filter(({ method }) => method === 'POST').length;

    const first = await step('for a new request, it posts the plan as a note', async () => {
      const proposed = await propose('night');
      expect(proposed.end.code, proposed.end.log).toBe(0);
      expect((await run('validate', proposed.sha, onRequest)).code).toBe(0);
      expect(host.notes[2]?.body).toContain('Agent/night');
      return proposed;
    });

    const { end, sha } = await step('after a change, it updates the same note, without the key', async () => {
      const second = await propose('noon');
      const { end } = second;
      expect(end.code, end.log).toBe(0);
      expect(host.notes).toHaveLength(3);
      expect(host.notes.map(({ body }) => body.includes('Agent/noon'))).toEqual([false, false, true]);
      expect(writes()).toBe(0);
      expect(end.log + host.notes[2]?.body).not.toContain(API_KEY);
      return second;
    });

    const merge = await step('the request is merged', () => {
      repository.git(['checkout', '-q', 'main']);
      repository.git(['merge', '-q', '--squash', onRequest.CI_COMMIT_REF_NAME]);
      repository.git(['commit', '-q', '-m', 'Merged']);
      repository.git(['push', '-q', 'origin', 'main']);
      const commit = repository.git(['rev-parse', 'HEAD']);
      const request = { iid: 7, sha, state: 'merged', target_branch: 'main', source_project_id: 42 };
      const fork = { ...request, iid: 8, source_project_id: 43 };
      host.merged.set(commit, [{ ...request, target_branch: 'release' }, fork, request]);
      return commit;
    });

    const applied = await step('after the merge, it applies the reviewed plan', async () => {
      const applied = await run('apply', merge, onMain);
      expect(applied.code, applied.log).toBe(0);
      expect(writes()).toBe(3);
      expect(repository.inState('test')).toEqual(['Agent/day', 'Agent/night', 'Agent/noon']);
      expect(applied.log).not.toContain(TOKEN);
      return applied;
    });

    const again = await step('a second apply, or one for a commit without a request, writes nothing', async () => {
      const again = await run('apply', merge, onMain);
      expect([again.code, writes()], again.log).toEqual([1, 3]);
      const direct = await run('apply', repository.git(['rev-parse', 'HEAD~1']), onMain);
      expect(direct.code).toBe(1);
      expect(direct.log).toContain('came from 0 merged requests');
      return again;
    });

    await step('it never runs a title or a branch name as a command', () => {
      for (const { folder } of [first.end, end, applied, again]) {
        expect(readdirSync(folder, { recursive: true }).filter((name) => path.basename(`${name}`) === 'pwned')).toEqual(
          [],
        );
      }
    });
  });

  it.each<[Name, Readonly<Record<string, string>>, start: string, reason: string]>([
    ['validate', onRequest, 'on_success', 'every request'],
    ['validate', onMain, 'never', 'merged commits are already checked'],
    ['plan', onRequest, 'on_success', 'a request of the project'],
    ['plan', { ...onRequest, CI_MERGE_REQUEST_SOURCE_PROJECT_ID: '43' }, 'never', 'a fork gets no key'],
    ['plan', onMain, 'never', 'the reviewed plan is applied'],
    ['apply', onRequest, 'never', 'an apply runs after the merge'],
    ['apply', onMain, 'manual', 'a person starts it'],
    ['apply', { ...onMain, VOXFORM_APPLY: 'on-merge' }, 'on_success', 'the setting starts it after a merge'],
    ['apply', { ...onMain, CI_COMMIT_BRANCH: 'other' }, 'never', 'only on the default branch'],
    ['apply', { ...onMain, CI_PIPELINE_SOURCE: 'schedule' }, 'never', 'schedules do not apply'],
    ['drift', { ...onMain, CI_PIPELINE_SOURCE: 'schedule' }, 'never', 'schedules can have other purposes'],
    ['drift', { ...onMain, VOXFORM_DRIFT: 'pull-request' }, 'never', 'a push does not open a request'],
    [
      'drift',
      { CI_PIPELINE_SOURCE: 'schedule', VOXFORM_DRIFT: 'pull-request' },
      'on_success',
      'the schedule for drift',
    ],
  ])('starts the job %s with %o as %s: %s', (name, variables, start) => {
    expect(startOf(job(name), { ...template.variables, ...variables })).toBe(start);
  });

  it('applies one job at a time', () => {
    expect(job('apply').resource_group).toBe('voxform');
  });

  it.each([
    { reason: 'no package is configured', file: '', hash: '', code: 1 },
    { reason: 'a package', file: 'p.tgz', hash: sha256(PACKAGE), code: 0 },
    { reason: 'another package', file: 'p.tgz', hash: sha256('other'), code: 1 },
    { reason: 'a package without its hash', file: 'p.tgz', hash: '', code: 1 },
    { reason: 'another executable', file: 'tampered', hash: sha256(executable()), code: 1 },
    { reason: 'an executable without its hash', file: 'tampered', hash: '', code: 1 },
    { reason: 'an executable with a line end of Windows', file: 'tampered', hash: `${sha256(TAMPERED)}\r`, code: 1 },
    {
      reason: 'an executable with a line of SHA256SUMS',
      file: 'tampered',
      hash: `${sha256(TAMPERED)}  tampered`,
      code: 1,
    },
  ])('installs only the configured package: $reason', { tags: ['long'] }, async ({ file, hash, code }) => {
    using repository = new Repository({ 'p.tgz': PACKAGE, tampered: TAMPERED });
    const packageVariables = { VOXFORM_PACKAGE: file, VOXFORM_SHA256: hash };
    if (code === 1) rmSync(path.join(repository.bin, 'voxform'));
    const installed = repository.recordNpm();
    const ended = await runGitlabJob(
      { before_script: template['.voxform'].before_script ?? [], script: ['voxform --version'] },
      {
        repository,
        host: { url: 'http://127.0.0.1:9' },
        variables: { ...template.variables, ...packageVariables, CI_COMMIT_SHA: repository.git(['rev-parse', 'HEAD']) },
      },
    );
    expect(ended.code, ended.log).toBe(code);
    expect(installed()).toEqual(code === 0 ? [PACKAGE] : []);
    expect(ended.log).not.toContain('tampered with');
    if (code === 1) expect(ended.log).toMatch(file === '' ? /^Set VOXFORM_PACKAGE/ : /^The SHA-256 .* SHA256SUMS.*\n$/);
  });
});
