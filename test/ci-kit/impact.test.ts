/** @module-tag long */

import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import { agentManifest, projectFile } from '../cli/workspace.ts';
import { FakeGitlab } from '../hosting/fake-gitlab.ts';
import { type GitlabJob, runGitlabJob, startOf, type Template } from './gitlab-runner.ts';
import { Repository } from './repository.ts';
import { shipped, type Workflow } from './workflow.ts';

const env = { VOXFORM_API_KEY: 'key-of-the-test', OPENAI_API_KEY: 'key-of-a-model' };
const worse = { session_outcome: { resolved: 0.5, escalated: 0.5 } };

interface JobEnd {
  readonly code: number | null;
  readonly log: string;
}

/** Publishes three versions. The daily check must fail only after the third one, which makes the calls worse. */
async function threeVersions(
  check: (on: { readonly emulator: Emulator; readonly repository: Repository }) => Promise<JobEnd>,
): Promise<void> {
  const equal = { session_outcome: { resolved: 1 }, session_status: { active: 1 } };
  const calls = { perDay: 50, days: 3, ...equal, versions: { '3': worse } };
  await using emulator = await startEmulator({ behaviour: { calls } });
  using repository = new Repository({
    'voxform.yaml': projectFile(emulator, 'state: { backend: git }\n'),
    'manifests/support.yaml': agentManifest('support-line'),
    '.gitignore': '.voxform/\n',
  });
  const { clone: cwd, bin } = repository;
  const applying = { cwd, env: { ...repository.env, ...env } };
  await promisify(execFile)(path.join(bin, 'voxform'), ['apply', '--auto-approve'], applying);
  const [id = ''] = emulator.world.agents.keys();
  emulator.dashboard.publishAgent(id);
  const first = await check({ emulator, repository });
  expect(first, first.log).toMatchObject({ code: 0 });
  emulator.dashboard.publishAgent(id);
  const log = expect.stringContaining('Version 1 to version 2');
  expect(await check({ emulator, repository })).toMatchObject({ code: 0, log });
  emulator.dashboard.publishAgent(id);
  const found = await check({ emulator, repository });
  expect(found).toMatchObject({ code: 2, log: expect.stringContaining('session_outcome=escalated') });
}

it('the workflow for GitHub fails only after a version made its calls worse', async () => {
  const workflow = shipped<Workflow>('examples/ci/github/impact.yml');
  const script = workflow.jobs.impact?.steps.find(({ run }) => run !== undefined)?.run ?? 'false';
  await threeVersions(({ repository }) => {
    const { clone: cwd } = repository;
    const running = { cwd, env: { ...repository.env, ...env } };
    return promisify(execFile)('bash', ['-e', '-c', script], running).then(
      ({ stdout: log }) => ({ code: 0, log }),
      ({ code, stdout: log }: { code: number; stdout: string }) => ({ code, log }),
    );
  });
});

it('the job for GitLab fails in its schedule only after a version made its calls worse', async () => {
  const template = shipped<Template>('ci/gitlab/voxform.gitlab-ci.yml');
  const own = shipped<Template>('examples/ci/gitlab/impact.yml')['voxform:impact'];
  const job: GitlabJob = { ...template['.voxform'], ...own };
  const scheduled = { CI_PIPELINE_SOURCE: 'schedule', VOXFORM_IMPACT: 'daily' };
  const starts = [scheduled, { ...scheduled, VOXFORM_IMPACT: '' }, { ...scheduled, CI_PIPELINE_SOURCE: 'push' }];
  expect(starts.map((variables) => startOf(job, variables))).toEqual(['on_success', 'never', 'never']);
  await using stack = new AsyncDisposableStack();
  let host: FakeGitlab | undefined;
  await threeVersions(async ({ repository }) => {
    host ??= stack.use(await FakeGitlab.start({}, repository.folder));
    const CI_COMMIT_SHA = repository.git(['rev-parse', 'HEAD']);
    const variables = { ...template.variables, ...env, ...scheduled, VOXFORM_PACKAGE: '', CI_COMMIT_SHA };
    return runGitlabJob(job, { repository, host, variables });
  });
});
