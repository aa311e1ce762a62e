import path from 'node:path';
import { expect, it } from 'vitest';
import { GithubHost, REPOSITORY } from '../ci-kit/github-host.ts';
import { GitlabHost, PROJECT, TOKEN } from '../ci-kit/gitlab-host.ts';
import { command } from '../trust/in-process.ts';
import { temporaryFolder } from './voxform-process.ts';

const github = { GITHUB_ACTIONS: 'true', GITHUB_REPOSITORY: REPOSITORY };
const gitlab = { GITLAB_CI: 'true', CI_PROJECT_PATH: PROJECT, CI_MERGE_REQUEST_IID: '7' };
const nobody = 'http://127.0.0.1:1';

it.each([
  { reason: 'no job', env: {}, code: 64, says: 'only in a job' },
  { reason: 'no event', env: { ...github, GITHUB_API_URL: nobody }, code: 1, says: 'GITHUB_EVENT_PATH' },
  {
    reason: 'no token',
    env: { ...gitlab, CI_API_V4_URL: nobody },
    code: 1,
    says: 'VOXFORM_GITLAB_TOKEN',
  },
  {
    reason: 'a token that would be sent without encryption',
    env: { ...gitlab, CI_API_V4_URL: 'http://gitlab.example/api/v4', VOXFORM_GITLAB_TOKEN: TOKEN },
    code: 1,
    says: 'without encryption',
  },
  {
    reason: 'an invalid address',
    env: { ...gitlab, CI_API_V4_URL: 'gitlab', VOXFORM_GITLAB_TOKEN: TOKEN },
    code: 1,
    says: 'not valid',
  },
])('ci comment reports the missing or invalid input: $reason', async ({ env, code, says }) => {
  await using folder = await temporaryFolder({ 'plan.md': 'a plan\n' });
  const ended = await command(['ci', 'comment', 'plan.md'], { cwd: folder.root, env });
  expect([ended.code, ended.stderr]).toEqual([code, expect.stringContaining(says)]);
  expect(ended.stderr).not.toContain(TOKEN);
});

it('ci comment writes nothing in a job without a request or without a file', async () => {
  await using host = await GithubHost.start();
  await using folder = await temporaryFolder({ 'push.json': '{}', 'pull.json': '{ "pull_request": { "number": 7 } }' });
  const token = host.tokenFor({ 'pull-requests': 'write' });
  const env = { ...github, GITHUB_API_URL: host.url, GITHUB_TOKEN: token };
  const run = (event: string) =>
    command(['ci', 'comment', 'nowhere.md'], {
      cwd: folder.root,
      env: { ...env, GITHUB_EVENT_PATH: path.join(folder.root, event) },
    });
  expect(await run('push.json')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('no pull or merge request'),
  });
  expect(await run('pull.json')).toMatchObject({ code: 1, stderr: expect.stringContaining('nowhere.md') });
  expect(host.calls).toEqual([]);
});

it.each([
  { reason: 'of another workspace', args: ['--workspace', 'b'], env: {} },
  { reason: 'of another workspace, by the variable', args: [], env: { VOXFORM_WORKSPACE: 'b' } },
  { reason: 'of another project', args: ['--project', 'other'], env: {} },
])('ci comment keeps the comment $reason', async ({ args, env }) => {
  await using host = await GitlabHost.start();
  await using folder = await temporaryFolder({ 'plan.md': 'a plan\n/merge\n' });
  const job = { ...gitlab, CI_API_V4_URL: `${host.url}/api/v4`, VOXFORM_GITLAB_TOKEN: TOKEN };
  const run = (args: readonly string[], env: Readonly<Record<string, string>>) =>
    command(['ci', 'comment', 'plan.md', ...args], { cwd: folder.root, env: { ...job, ...env } });
  for (const [more, other] of [[[], {}] as const, [args, env] as const, [[], {}] as const])
    expect(await run(more, other)).toMatchObject({ code: 0 });
  expect(host.notes.map(({ body }) => body.includes('\n/merge'))).toEqual([false, false]);
});
