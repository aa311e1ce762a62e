import path from 'node:path';
import { z } from 'zod';
import { lazyObject } from '../values/described.ts';
import { type HostJob, type JobHost, noPlanError, variable } from './host-job.ts';

/** Jobs of GitLab CI. */
export const gitlabJob: HostJob = {
  token: 'VOXFORM_GITLAB_TOKEN',
  rights: 'the scope api and the role Developer',
  request: ({ CI_MERGE_REQUEST_IID: iid = '' }) => (/^\d+$/.test(iid) ? Number(iid) : undefined),
  author: () => undefined,
  commit: (env) => env.CI_COMMIT_SHA,
  address: (env) => env.CI_JOB_URL,
  async reviewedPlan(host, { name: wanted, path: file }) {
    const { client, repository } = host;
    const project = `/projects/${encodeURIComponent(repository)}`;
    const { iid, sha: commit } = await mergedRequest(host);
    const pipelines = await client.requestAll(
      `${project}/merge_requests/${iid}/pipelines?per_page=100`,
      pipelineForm(),
    );
    for (const { id } of newestFirst(pipelines.filter(({ sha }) => sha === commit))) {
      const jobs = await client.requestAll(`${project}/pipelines/${id}/jobs?scope[]=success&per_page=100`, jobForm());
      const [planned] = newestFirst(jobs.filter(({ name }) => name === wanted));
      if (planned === undefined) continue;
      const parts = path.posix.normalize(file).split('/').map(encodeURIComponent);
      const content = await client.file(`${project}/jobs/${planned.id}/artifacts/${parts.join('/')}`);
      return { commit, content, facts: { job: planned.id } };
    }
    throw noPlanError(`no plan of !${iid} exists: the job ${wanted} did not pass for its last commit`);
  },
};

async function mergedRequest({ client, repository, env }: JobHost) {
  const commit = encodeURIComponent(variable(env, 'CI_COMMIT_SHA'));
  const list = `/projects/${encodeURIComponent(repository)}/repository/commits/${commit}/merge_requests?per_page=100`;
  const requests = await client.requestAll(list, requestForm());
  const merged = requests.filter(
    ({ state, target_branch, source_project_id }) =>
      state === 'merged' &&
      target_branch === env.CI_COMMIT_BRANCH &&
      // Ignore requests from forks, because a fork can give its jobs any name.
      String(source_project_id) === env.CI_PROJECT_ID,
  );
  const [request, another] = merged;
  if (request !== undefined && another === undefined) return request;
  throw noPlanError(`this commit came from ${merged.length} merged requests of this project; expected exactly one`);
}

function newestFirst<T extends { readonly id: number }>(items: readonly T[]): T[] {
  return items.toSorted((a, b) => b.id - a.id);
}

const requestForm = lazyObject(() => ({
  iid: z.int(),
  sha: z.string(),
  state: z.string(),
  target_branch: z.string(),
  source_project_id: z.int().nullable(),
}));

const pipelineForm = lazyObject(() => ({ id: z.int(), sha: z.string() }));

const jobForm = lazyObject(() => ({ id: z.int(), name: z.string() }));
