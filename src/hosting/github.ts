import { z } from 'zod';
import type { HostKind, HostRequest } from './code-host.ts';
import { githubJob } from './github-job.ts';
import { githubPulls, pullForm } from './github-pulls.ts';

/** GitHub: github.com, ghe.com and GitHub Enterprise Server. */
export const github: HostKind = {
  isAt: (hostname) => hostname === 'github.com' || hostname.endsWith('.ghe.com') || /(^|\.)github\./.test(hostname),
  apiOf({ protocol, hostname, host }) {
    if (hostname === 'github.com') return 'https://api.github.com';
    return hostname.endsWith('.ghe.com') ? `https://api.${host}` : `${protocol}//${host}/api/v3`;
  },
  serverOf: ({ protocol, host, pathname }) =>
    pathname === '/'
      ? `${protocol}//${host.replace(/^api\./, '')}`
      : `${protocol}//${host}${pathname.replace(/\/api\/v3$/, '')}`,
  inJob: ({ GITHUB_ACTIONS, GITHUB_API_URL: api, GITHUB_REPOSITORY: repository }) =>
    GITHUB_ACTIONS === 'true' && api && repository ? { api, repository } : undefined,
  token: 'GITHUB_TOKEN',
  gitUser: 'x-access-token',
  rights: 'contents: write and pull-requests: write',
  pullRights: 'contents: read, pull-requests: write and commit statuses: write',
  headers: { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' },
  isRepository: (path) => /^[\w.-]+\/[\w.-]+$/.test(path),
  filePath: 'blob',
  maxCommentLength: 65_536,
  commentSafe: (text) => text,
  open(client, repository) {
    const pulls = `/repos/${repository}/pulls`;
    const isOwn = (name = ''): boolean => name.toLowerCase() === repository.toLowerCase();
    return {
      async requests(branch) {
        const head = encodeURIComponent(`${repository.split('/')[0]}:${branch}`);
        const query = `head=${head}&state=all&sort=created&direction=desc&per_page=30`;
        const found = await client.request('GET', `${pulls}?${query}`, z.array(pullForm()));
        return found.filter(({ head: { ref, repo } }) => ref === branch && isOwn(repo?.full_name)).map(requestOf);
      },
      open: async ({ branch, base, title, body }) =>
        requestOf(await client.request('POST', pulls, pullForm(), { title, head: branch, base, body })),
      async change(number, change) {
        await client.request('PATCH', `${pulls}/${number}`, z.unknown(), change);
      },
    };
  },
  pulls: githubPulls,
  job: githubJob,
};

function requestOf(pull: z.infer<ReturnType<typeof pullForm>>): HostRequest {
  const { number, html_url: url, state, merged_at, body, base, head } = pull;
  return {
    number,
    url,
    state: state === 'open' ? 'open' : merged_at === null ? 'closed' : 'merged',
    base: base.ref,
    head: head.sha,
    body: body ?? '',
  };
}
