import { z } from 'zod';
import { lazyObject } from '../values/described.ts';
import { lazily } from '../values/lazily.ts';
import type { BranchContent, CodeHost, CommitWanted, HostRequest, RequestChange } from './code-host.ts';
import type { HostClient } from './host-client.ts';
import type { HostKind } from './host-kind.ts';

/** GitLab, at gitlab.com and on servers of one's own. */
export const gitlab: HostKind = {
  isAt: (hostname) => /(^|\.)gitlab\./.test(hostname),
  apiOf: ({ protocol, host }) => `${protocol}//${host}/api/v4`,
  inJob: ({ GITLAB_CI, CI_API_V4_URL: api, CI_PROJECT_PATH: repository }) =>
    GITLAB_CI === 'true' && api && repository ? { api, repository } : undefined,
  token: 'GITLAB_TOKEN',
  rights: 'the scope api and the role Developer',
  isRepository: (path) => /^[\w.-]+(\/[\w.-]+)+$/.test(path),
  open: (client, place) => new Gitlab(client, place),
};

class Gitlab implements CodeHost {
  readonly shown: string;
  readonly #client: HostClient;
  readonly #project: string;

  constructor(client: HostClient, { repository, shown }: Parameters<HostKind['open']>[1]) {
    this.shown = shown;
    this.#client = client;
    this.#project = `/projects/${encodeURIComponent(repository)}`;
  }

  async defaultBranch(): Promise<string> {
    return (await this.#client.get(this.#project, projectForm())).default_branch;
  }

  async head(branch: string): Promise<string | undefined> {
    const path = `${this.#project}/repository/branches/${encodeURIComponent(branch)}`;
    const found = await this.#client.find('GET', path);
    return found && this.#client.read(branchForm(), found.body).commit.id;
  }

  async contentOf(head: string, base: string): Promise<BranchContent> {
    const repository = `${this.#project}/repository`;
    const [{ id: mergeBase }, { commits, diffs, compare_timeout }] = await Promise.all([
      this.#client.get(
        `${repository}/merge_base?refs[]=${base}&refs[]=${head}`,
        z.object({ id: z.string() }),
      ),
      this.#client.get(`${repository}/compare?from=${base}&to=${head}`, comparisonForm()),
    ]);
    const files = new Set(diffs.flatMap(({ old_path, new_path }) => [new_path, old_path]));
    return { mergeBase, commits, files: [...files], isWhole: compare_timeout !== true };
  }

  async blobs(commit: string, paths: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.#ofFiles(commit, paths, 'x-gitlab-blob-id');
  }

  async requests(branch: string): Promise<readonly HostRequest[]> {
    const query = `source_branch=${encodeURIComponent(branch)}&state=all&order_by=created_at&sort=desc&per_page=30`;
    const all = await this.#client.get(`${this.#project}/merge_requests?${query}`, z.array(requestForm()));
    return all
      .filter((each) => each.source_branch === branch && each.source_project_id === each.project_id)
      .map(requestOf);
  }

  async commit({ branch, head, parent, message, files }: CommitWanted): Promise<void> {
    const isNext = head === parent;
    const paths = [...files.keys()];
    // Compared by the host, so that a commit that came between is not overwritten.
    const last = isNext ? await this.#ofFiles(parent, paths, 'x-gitlab-last-commit-id') : undefined;
    const actions = [...files].map(([path, text]) => ({
      action: 'update',
      file_path: path,
      encoding: 'base64',
      content: Buffer.from(text).toString('base64'),
      ...(last !== undefined && { last_commit_id: last.get(path) }),
    }));
    if (!isNext && head !== undefined && (await this.head(branch)) !== head) {
      throw this.#client.refusal(409, `409 ${branch} has moved`);
    }
    const body = {
      branch,
      commit_message: message,
      actions,
      ...(!isNext && { start_sha: parent }),
      ...(!isNext && head !== undefined && { force: true }),
    };
    await this.#client.ask('POST', `${this.#project}/repository/commits`, { body });
  }

  async open({ branch, base, title, body }: Parameters<CodeHost['open']>[0]): Promise<HostRequest> {
    const made = await this.#client.ask('POST', `${this.#project}/merge_requests`, {
      body: { source_branch: branch, target_branch: base, title, description: body },
    });
    return requestOf(this.#client.read(requestForm(), made.body));
  }

  async change(number: number, { state, body, base }: RequestChange): Promise<void> {
    await this.#client.ask('PUT', `${this.#project}/merge_requests/${number}`, {
      body: {
        ...(state !== undefined && { state_event: state === 'open' ? 'reopen' : 'close' }),
        ...(body !== undefined && { description: body }),
        ...(base !== undefined && { target_branch: base }),
      },
    });
  }

  /** What the host says of each file in a header. */
  async #ofFiles(
    commit: string,
    paths: readonly string[],
    header: string,
  ): Promise<ReadonlyMap<string, string>> {
    const found = await Promise.all(
      paths.map(async (path): Promise<[string, string][]> => {
        const file = `${this.#project}/repository/files/${encodeURIComponent(path)}?ref=${commit}`;
        const value = (await this.#client.find('HEAD', file))?.headers[header];
        return value === undefined ? [] : [[path, String(value)]];
      }),
    );
    return new Map(found.flat());
  }
}

const projectForm = lazily(() => z.object({ default_branch: z.string() }));
const branchForm = lazily(() => z.object({ commit: z.object({ id: z.string() }) }));
const comparisonForm = lazyObject(() => ({
  commits: z.array(z.object({ id: z.string(), message: z.string() })),
  diffs: z.array(z.object({ old_path: z.string(), new_path: z.string() })),
  compare_timeout: z.boolean().optional(),
}));
const requestForm = lazyObject(() => ({
  iid: z.number(),
  web_url: z.url({ protocol: /^https?$/ }),
  state: z.string(),
  description: z.string().nullable(),
  target_branch: z.string(),
  source_branch: z.string(),
  source_project_id: z.number().nullable(),
  project_id: z.number(),
}));

function requestOf(found: z.infer<ReturnType<typeof requestForm>>): HostRequest {
  const { iid, web_url, state, description, target_branch: base } = found;
  const isOver = state === 'closed' || state === 'merged';
  return { number: iid, url: web_url, state: isOver ? state : 'open', base, body: description ?? '' };
}
