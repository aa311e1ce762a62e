import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { attempt } from '../problems/attempt.ts';
import { UserError } from '../problems/user-error.ts';
import { lazyObject } from '../values/described.ts';
import { tryParseJson } from '../values/json.ts';
import { type HostJob, isCommit, type JobHost, noPlanError, variable } from './host-job.ts';

/** Jobs of GitHub Actions. */
export const githubJob: HostJob = {
  token: 'GITHUB_TOKEN',
  rights: 'pull-requests: write for a comment; actions: read and pull-requests: read for a plan',
  request(env) {
    const file = variable(env, 'GITHUB_EVENT_PATH');
    const text = attempt(() => readFileSync(file, 'utf8'));
    if (text === undefined) throw new UserError(`cannot read the event of this job from ${file}`);
    return eventForm().safeParse(tryParseJson(text)).data?.pull_request?.number;
  },
  author: (env) => env.VOXFORM_COMMENT_AUTHOR || 'github-actions[bot]',
  commit: (env) => env.VOXFORM_PLAN_COMMIT || env.GITHUB_SHA,
  address: ({ GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository, GITHUB_RUN_ID: run }) =>
    server && repository && run && `${server}/${repository}/actions/runs/${run}`,
  async reviewedPlan(host, { name: prefix }) {
    const { client, repository } = host;
    const commit = await mergedHead(host);
    const name = `${prefix}-${commit}`;
    const path = `/repos/${repository}/actions/artifacts?name=${encodeURIComponent(name)}&per_page=100`;
    const all = await client.requestAll(path, artifactForm(), { field: 'artifacts' });
    // Workflow runs of forks can also store artifacts in this repository, under any name.
    const own = all.filter(
      ({ name: given, expired, workflow_run: run }) =>
        given === name && !expired && run?.head_sha === commit && run.head_repository_id === run.repository_id,
    );
    const [newest] = own.sort((a, b) => b.id - a.id);
    if (!newest?.workflow_run)
      throw noPlanError(`no artifact contains the plan ${name}: the plan job failed, or the artifact has expired`);
    return { commit, content: undefined, facts: { 'run-id': newest.workflow_run.id, artifact: name } };
  },
};

/** Returns the last commit of the merged pull request. The reviewed plan was made from that commit. */
async function mergedHead({ client, repository, env }: JobHost): Promise<string> {
  const [branch, commit] = [variable(env, 'GITHUB_REF_NAME'), variable(env, 'GITHUB_SHA')];
  const path = `/repos/${repository}/commits/${encodeURIComponent(commit)}/pulls?per_page=100`;
  const pulls = await client.requestAll(path, pullForm());
  const merged = pulls.filter(({ merged_at, base }) => merged_at && base.ref === branch);
  const [pull] = merged.length > 1 ? merged.filter((each) => each.merge_commit_sha === commit) : merged;
  if (isCommit(pull?.head.sha)) return pull.head.sha;
  throw noPlanError('this commit does not come from a merged pull request, so no reviewed plan exists');
}

const eventForm = lazyObject(() => ({ pull_request: z.object({ number: z.int().positive() }).optional() }));

const pullForm = lazyObject(() => ({
  head: z.object({ sha: z.string() }),
  base: z.object({ ref: z.string() }),
  merged_at: z.string().nullable(),
  merge_commit_sha: z.string().nullable(),
}));

const artifactForm = lazyObject(() => ({
  id: z.int(),
  name: z.string(),
  expired: z.boolean(),
  workflow_run: z
    .object({ id: z.int(), head_sha: z.string(), repository_id: z.int(), head_repository_id: z.int() })
    .nullish(),
}));
