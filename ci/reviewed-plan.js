// @ts-check
import { appendFile, writeFile } from 'node:fs/promises';
import { posix } from 'node:path';
import { parseArgs } from 'node:util';
import { call, needed, pages, Refusal, script } from './http.js';

/*
 * Finds the plan that was made, shown and reviewed on the pull or merge request which the commit of this job came from.
 *
 * GitHub: node reviewed-plan.js --artifact PREFIX
 *   writes `run-id` and `artifact` to GITHUB_OUTPUT, for actions/download-artifact. GITHUB_TOKEN with actions: read and
 *   pull-requests: read.
 * GitLab: node reviewed-plan.js --job NAME --path FILE --out FILE
 *   fetches the file of that path from the job's artifacts. VOXFORM_GITLAB_TOKEN with the scope read_api.
 */

const byHand = 'start the job that plans and applies in one run instead';

await script(async () => {
  const { values } = parseArgs({
    options: {
      artifact: { type: 'string', default: '' },
      job: { type: 'string', default: '' },
      path: { type: 'string', default: '' },
      out: { type: 'string', default: '' },
    },
  });
  const { env } = process;
  if (env.GITLAB_CI === 'true') await gitlab(env, values);
  else await github(env, values.artifact);
});

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {string} prefix
 */
async function github(env, prefix) {
  const token = needed(env, 'GITHUB_TOKEN');
  const repository = `${needed(env, 'GITHUB_API_URL')}/repos/${needed(env, 'GITHUB_REPOSITORY')}`;
  const commit = await mergedHead(env, { repository, token });
  const name = `${prefix}-${commit}`;
  const url = `${repository}/actions/artifacts?name=${encodeURIComponent(name)}&per_page=100`;
  /** @type {{ id: number, run: number } | undefined} */
  let newest;
  for await (const artifact of pages(url, { token, itemsOf: (page) => page.artifacts })) {
    const { id, expired, workflow_run: run } = artifact;
    // Runs of forks store artifacts here too, under any name.
    const isOwn =
      Number.isSafeInteger(run?.repository_id) &&
      run.head_repository_id === run.repository_id &&
      run.head_sha === commit;
    if (artifact.name !== name || expired || !isOwn) continue;
    if (newest === undefined || id > newest.id) newest = { id: Number(id), run: Number(run.id) };
  }
  if (newest === undefined) {
    throw new Refusal(`there is no plan ${name}: its job failed, or it has expired; ${byHand}`);
  }
  await appendFile(needed(env, 'GITHUB_OUTPUT'), `run-id=${newest.run}\nartifact=${name}\n`);
}

/**
 * The last commit of the pull request that was merged: the one its plan was made of.
 * @param {NodeJS.ProcessEnv} env
 * @param {{ repository: string, token: string }} host
 */
async function mergedHead(env, { repository, token }) {
  const branch = needed(env, 'GITHUB_REF_NAME');
  const url = `${repository}/commits/${encodeURIComponent(needed(env, 'GITHUB_SHA'))}/pulls?per_page=100`;
  const merged = [];
  for await (const pull of pages(url, { token })) {
    if (pull.merged_at && pull.base?.ref === branch) merged.push(pull);
  }
  const [pull] = merged.length > 1 ? merged.filter((each) => each.merge_commit_sha === env.GITHUB_SHA) : merged;
  const head = pull?.head?.sha;
  if (typeof head !== 'string' || !/^[0-9a-f]{40,64}$/.test(head)) {
    throw new Refusal(`this commit came from no merged pull request, so no plan of it was reviewed; ${byHand}`);
  }
  return head;
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {{ job: string, path: string, out: string }} wanted
 */
async function gitlab(env, { job, path, out }) {
  const token = needed(env, 'VOXFORM_GITLAB_TOKEN');
  const id = needed(env, 'CI_PROJECT_ID');
  const project = `${needed(env, 'CI_API_V4_URL')}/projects/${encodeURIComponent(id)}`;
  const request = await mergedRequest(env, { project, token });
  const pipelines = await all(`${project}/merge_requests/${Number(request.iid)}/pipelines?per_page=100`, token);
  const ofHead = pipelines.filter(({ sha }) => sha === request.sha).sort((a, b) => b.id - a.id);
  for (const pipeline of ofHead) {
    const jobs = await all(`${project}/pipelines/${Number(pipeline.id)}/jobs?scope[]=success&per_page=100`, token);
    const [planned] = jobs.filter(({ name }) => name === job).sort((a, b) => b.id - a.id);
    if (planned === undefined) continue;
    const file = posix.normalize(path).split('/').map(encodeURIComponent).join('/');
    const answer = await call(`${project}/jobs/${Number(planned.id)}/artifacts/${file}`, { token });
    await writeFile(out, await answer.bytes(), { mode: 0o600 });
    process.stderr.write(`the plan of commit ${request.sha}, from job ${Number(planned.id)}\n`);
    return;
  }
  throw new Refusal(
    `there is no plan of !${Number(request.iid)}: its job ${job} did not pass for the last commit; ${byHand}`,
  );
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {{ project: string, token: string }} host
 */
async function mergedRequest(env, { project, token }) {
  const commit = encodeURIComponent(needed(env, 'CI_COMMIT_SHA'));
  const requests = await all(`${project}/repository/commits/${commit}/merge_requests?per_page=100`, token);
  const merged = requests.filter(
    ({ state, target_branch, source_project_id }) =>
      state === 'merged' &&
      target_branch === env.CI_COMMIT_BRANCH &&
      // Ignore pipelines of forks, whatever their jobs are called.
      String(source_project_id) === env.CI_PROJECT_ID,
  );
  const [request, another] = merged;
  if (request === undefined || another !== undefined) {
    throw new Refusal(
      `this commit came from ${merged.length} merged requests of this project, not from one; ${byHand}`,
    );
  }
  return request;
}

/**
 * @param {string} url
 * @param {string} token
 */
async function all(url, token) {
  /** @type {any[]} */
  const items = [];
  for await (const item of pages(url, { token })) items.push(item);
  return items;
}
