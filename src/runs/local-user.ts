import { existsSync, realpathSync } from 'node:fs';
import { userInfo } from 'node:os';
import path from 'node:path';
import type { ProcessEnvironment } from '../files/run-process.ts';
import { userFolder } from '../files/user-folder.ts';
import { folderEnvironment, type GitResult, runGit } from '../git/run-git.ts';
import { attempt } from '../problems/attempt.ts';
import type { CiJob } from '../state/lock-info.ts';
import { createMarks, type Marks } from '../state/marks.ts';
import type { RunContext } from './run-context.ts';

/** CI systems by the variable that identifies them. `name` lists the variables of the job name, and `url` returns the job's URL. */
const systems: Readonly<Record<string, { readonly name: readonly string[]; url(env: ProcessEnvironment): string }>> = {
  GITHUB_RUN_ID: {
    name: ['GITHUB_WORKFLOW', 'GITHUB_JOB'],
    url: ({ GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository, GITHUB_RUN_ID: run }) =>
      `${server}/${repository}/actions/runs/${run}`,
  },
  CI_JOB_URL: { name: ['CI_JOB_NAME'], url: ({ CI_JOB_URL: url }) => `${url}` },
  BUILDKITE_BUILD_URL: {
    name: ['BUILDKITE_PIPELINE_NAME', 'BUILDKITE_LABEL'],
    url: ({ BUILDKITE_BUILD_URL: url, BUILDKITE_JOB_ID: job }) => `${url}#${job}`,
  },
  CIRCLE_BUILD_URL: { name: ['CIRCLE_JOB'], url: ({ CIRCLE_BUILD_URL: url }) => `${url}` },
  BITBUCKET_BUILD_NUMBER: {
    name: ['BITBUCKET_REPO_FULL_NAME'],
    url: ({ BITBUCKET_GIT_HTTP_ORIGIN: repository, BITBUCKET_BUILD_NUMBER: build }) =>
      `${repository}/pipelines/results/${build}`,
  },
  SYSTEM_TEAMFOUNDATIONCOLLECTIONURI: {
    name: ['BUILD_DEFINITIONNAME', 'SYSTEM_JOBDISPLAYNAME'],
    url: ({ SYSTEM_TEAMFOUNDATIONCOLLECTIONURI: server, SYSTEM_TEAMPROJECT: project, BUILD_BUILDID: build }) =>
      `${server}${project}/_build/results?buildId=${build}`,
  },
  JENKINS_URL: { name: ['JOB_NAME'], url: ({ BUILD_URL: url }) => `${url}` },
};

/** Returns the current CI job; undefined outside known CI systems. */
export function ciJob(env: ProcessEnvironment): CiJob | undefined {
  for (const [variable, { name, url }] of Object.entries(systems)) {
    if (!env[variable]) continue;
    const jobName = name.flatMap((each) => env[each] || []).join(' / ');
    return { name: jobName === '' ? 'CI' : jobName, url: url(env) };
  }
  return undefined;
}

/** Returns the marks of states that this machine wrote for a platform; undefined if the environment has no folder for them. */
export function marksOf({ env, log }: RunContext, baseUrl: string): Marks | undefined {
  const folder = userFolder('state', env);
  if (folder === undefined) return undefined;
  return createMarks({ folder: path.join(folder, 'states'), baseUrl, debug: (message) => log.debug(message) });
}

export function userName(env: RunContext['env']): string {
  // A container may run under a user id without a name.
  return attempt(() => userInfo().username) ?? env.USER ?? 'unknown';
}

/** The timeout is short, because a run may wait for git while it holds the lock. */
const GIT_TIMEOUT_MS = 5_000;

/** Runs git. Returns undefined if git cannot run or takes too long. */
export type RepositoryGit = (...args: string[]) => Promise<GitResult | undefined>;

/** Returns a function for git queries in a folder; undefined outside repositories. */
export function gitIn(root: string, env: ProcessEnvironment): RepositoryGit | undefined {
  if (!isInRepository(root)) return undefined;
  return (...args) =>
    runGit(['--no-optional-locks', '-C', root, ...args], {
      env: folderEnvironment(env),
      signal: AbortSignal.timeout(GIT_TIMEOUT_MS),
    }).catch(() => undefined);
}

/** Returns the commit of the manifests, with `-dirty` if tracked files differ from it; undefined outside repositories. */
export async function commitOf(git: RepositoryGit | undefined): Promise<string | undefined> {
  const [commit, diff] = await Promise.all([
    git?.('rev-parse', '--verify', '--quiet', 'HEAD'),
    git?.('diff', '--quiet', 'HEAD', '--', '.', ':(exclude).voxform'),
  ]);
  return commit?.code === 0 ? `${commit.out.toString().trim()}${diff?.code === 1 ? '-dirty' : ''}` : undefined;
}

/** Returns the commit id without the `-dirty` mark. */
export function commitId(commit: string | undefined): string | undefined {
  return commit?.replace(/-dirty$/, '');
}

/** Searches the folder and its parents for `.git`, as git does, but without a process. */
function isInRepository(root: string): boolean {
  for (let folder = attempt(() => realpathSync(root)) ?? root; ; folder = path.dirname(folder)) {
    if (existsSync(path.join(folder, '.git'))) return true;
    if (folder === path.dirname(folder)) return false;
  }
}
