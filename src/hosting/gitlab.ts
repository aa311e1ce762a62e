import { z } from 'zod';
import type { HostKind, HostRequest } from './code-host.ts';
import { withoutQuickActions } from './comment-text.ts';
import { gitlabJob } from './gitlab-job.ts';
import { gitlabPulls, requestForm } from './gitlab-pulls.ts';

/** GitLab: gitlab.com and self-managed servers. */
export const gitlab: HostKind = {
  isAt: (hostname) => /(^|\.)gitlab\./.test(hostname),
  apiOf: ({ protocol, host }) => `${protocol}//${host}/api/v4`,
  serverOf: ({ origin, pathname }) => origin + pathname.replace(/\/(api\/v4)?$/, ''),
  inJob: ({ GITLAB_CI, CI_API_V4_URL: api, CI_PROJECT_PATH: repository }) =>
    GITLAB_CI === 'true' && api && repository ? { api, repository } : undefined,
  token: 'GITLAB_TOKEN',
  gitUser: 'oauth2',
  rights: 'the scope api and the role Developer',
  pullRights: 'the scope api and the role Developer',
  isRepository: (path) => /^[\w.-]+(\/[\w.-]+)+$/.test(path),
  filePath: '-/blob',
  maxCommentLength: 1_000_000,
  commentSafe: withoutQuickActions,
  open(client, repository) {
    const requests = `/projects/${encodeURIComponent(repository)}/merge_requests`;
    return {
      async requests(branch) {
        const query = `source_branch=${encodeURIComponent(branch)}&state=all&order_by=created_at&sort=desc&per_page=30`;
        const found = await client.request('GET', `${requests}?${query}`, z.array(requestForm()));
        return found
          .filter((each) => each.source_branch === branch && each.source_project_id === each.project_id)
          .map(requestOf);
      },
      async open({ branch, base, title, body }) {
        const wanted = { source_branch: branch, target_branch: base, title, description: body };
        return requestOf(await client.request('POST', requests, requestForm(), wanted));
      },
      async change(number, { state, body, base }) {
        await client.request('PUT', `${requests}/${number}`, z.unknown(), {
          ...(state !== undefined && { state_event: 'close' }),
          ...(body !== undefined && { description: body }),
          ...(base !== undefined && { target_branch: base }),
        });
      },
    };
  },
  pulls: gitlabPulls,
  job: gitlabJob,
};

function requestOf(found: z.infer<ReturnType<typeof requestForm>>): HostRequest {
  const { iid: number, web_url: url, state, description, target_branch: base, sha } = found;
  const isOver = state === 'closed' || state === 'merged';
  return { number, url, state: isOver ? state : 'open', base, head: sha ?? '', body: description ?? '' };
}
