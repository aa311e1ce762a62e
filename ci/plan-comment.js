// @ts-check
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { commentText, markerOf, withoutQuickActions } from './comment-text.js';
import { call, needed, pages, Refusal, script } from './http.js';

/*
 * node plan-comment.js [--project DIR] [--workspace NAME] FILE
 *
 * Writes the Markdown of a file as the one comment of voxform on the pull or merge request of this job: creates it, or
 * updates it in place. Does nothing in a job without a request.
 *
 * GitHub: GITHUB_TOKEN with pull-requests: write. GitLab: VOXFORM_GITLAB_TOKEN, a project access token with the scope api.
 */

/**
 * @typedef {object} Host
 * @property {number} limit Characters that a comment may have.
 * @property {string} list
 * @property {string} token
 * @property {'PATCH' | 'PUT'} update
 * @property {(comment: any) => boolean} isOurs Checks the author too, because authors can edit their comments.
 * @property {(comment: any) => string} urlOf
 * @property {(text: string) => string} safe
 */

await script(async () => {
  const { values, positionals } = parseArgs({
    options: {
      project: { type: 'string', default: '.' },
      workspace: { type: 'string', default: '' },
    },
    allowPositionals: true,
  });
  const [file] = positionals;
  if (file === undefined) throw new Refusal('name the file with the plan as Markdown');
  const { env } = process;
  const host = env.GITLAB_CI === 'true' ? await gitlab(env) : await github(env);
  if (host === undefined) {
    process.stderr.write('no comment: this job belongs to no pull or merge request\n');
    return;
  }
  const marker = markerOf(values.project, values.workspace);
  const text = host.safe(await readFile(file, 'utf8'));
  const body = commentText({ marker, text, footer: footerOf(env), limit: host.limit });
  process.stderr.write(`the plan's comment is ${await put(host, marker, body)}\n`);
});

/**
 * @param {Host} host
 * @param {string} marker
 * @param {string} body
 */
async function put(host, marker, body) {
  const { list, token } = host;
  for await (const comment of pages(`${list}?per_page=100`, { token })) {
    if (!host.isOurs(comment) || !String(comment.body).startsWith(marker)) continue;
    await call(host.urlOf(comment), { token, method: host.update, body: { body } });
    return 'updated';
  }
  await call(list, { token, method: 'POST', body: { body } });
  return 'created';
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<Host | undefined>}
 */
async function github(env) {
  const event = JSON.parse(await readFile(needed(env, 'GITHUB_EVENT_PATH'), 'utf8'));
  const number = event.pull_request?.number;
  if (!Number.isSafeInteger(number)) return undefined;
  const repository = `${needed(env, 'GITHUB_API_URL')}/repos/${needed(env, 'GITHUB_REPOSITORY')}`;
  const author = env.VOXFORM_COMMENT_AUTHOR || 'github-actions[bot]';
  return {
    limit: 65_536,
    list: `${repository}/issues/${number}/comments`,
    token: needed(env, 'GITHUB_TOKEN'),
    update: 'PATCH',
    isOurs: ({ user }) => user?.login === author,
    urlOf: ({ id }) => `${repository}/issues/comments/${Number(id)}`,
    safe: (text) => text,
  };
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<Host | undefined>}
 */
async function gitlab(env) {
  const iid = env.CI_MERGE_REQUEST_IID ?? '';
  if (!/^\d+$/.test(iid)) return undefined;
  const api = needed(env, 'CI_API_V4_URL');
  const token = needed(env, 'VOXFORM_GITLAB_TOKEN');
  const list = `${api}/projects/${encodeURIComponent(needed(env, 'CI_PROJECT_ID'))}/merge_requests/${iid}/notes`;
  /** @type {any} */
  const us = await (await call(`${api}/user`, { token })).json();
  return {
    limit: 1_000_000,
    list,
    token,
    update: 'PUT',
    isOurs: ({ author }) => author?.id === us.id,
    urlOf: ({ id }) => `${list}/${Number(id)}`,
    safe: withoutQuickActions,
  };
}

/**
 * The planned commit and the address of the job, from variables of the host, not from text of people.
 * @param {NodeJS.ProcessEnv} env
 */
function footerOf(env) {
  const commit = env.VOXFORM_PLAN_COMMIT || env.CI_COMMIT_SHA || env.GITHUB_SHA || '';
  const job =
    env.CI_JOB_URL ||
    (env.GITHUB_RUN_ID && `${env.GITHUB_SERVER_URL}/${env.GITHUB_REPOSITORY}/actions/runs/${env.GITHUB_RUN_ID}`);
  const said = [
    ...(/^[0-9a-f]{7,64}$/.test(commit) ? [`Plan of commit ${commit}.`] : []),
    ...(job && URL.canParse(job) ? [`[The job](${new URL(job).href})`] : []),
  ];
  return `<sub>${said.join(' ')}</sub>`;
}
