import { hash } from 'node:crypto';
import { z } from 'zod';
import { lazyObject } from '../values/described.ts';
import { lazily } from '../values/lazily.ts';
import type { BranchContent, CodeHost, CommitWanted, HostRequest, RequestChange } from './code-host.ts';
import type { HostClient } from './host-client.ts';
import type { HostKind } from './host-kind.ts';

const NOWHERE = '0'.repeat(40);
/** The host lists no more files of a comparison. */
const MOST_FILES = 300;
/** Blobs that one query asks for. */
const MOST_BLOBS = 100;

/** GitHub, at github.com, ghe.com and on servers of one's own. */
export const github: HostKind = {
  isAt: (hostname) =>
    hostname === 'github.com' || hostname.endsWith('.ghe.com') || /(^|\.)github\./.test(hostname),
  apiOf({ protocol, hostname, host }) {
    if (hostname === 'github.com') return 'https://api.github.com';
    return hostname.endsWith('.ghe.com') ? `https://api.${host}` : `${protocol}//${host}/api/v3`;
  },
  inJob: ({ GITHUB_ACTIONS, GITHUB_API_URL: api, GITHUB_REPOSITORY: repository }) =>
    GITHUB_ACTIONS === 'true' && api && repository ? { api, repository } : undefined,
  token: 'GITHUB_TOKEN',
  rights: 'contents: write and pull-requests: write',
  headers: { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' },
  isRepository: (path) => /^[\w.-]+\/[\w.-]+$/.test(path),
  open: (client, place) => new Github(client, place),
};

class Github implements CodeHost {
  readonly shown: string;
  readonly #client: HostClient;
  readonly #repository: string;
  readonly #graphql: string;
  #known: Promise<z.infer<ReturnType<typeof repositoryForm>>> | undefined;

  constructor(client: HostClient, { repository, shown }: Parameters<HostKind['open']>[1]) {
    this.shown = shown;
    this.#client = client;
    this.#repository = repository;
    this.#graphql = client.api.endsWith('/api/v3') ? '/../graphql' : '/graphql';
  }

  async defaultBranch(): Promise<string> {
    return (await this.#info()).default_branch;
  }

  async head(branch: string): Promise<string | undefined> {
    const found = await this.#client.find('GET', this.#path(`/git/ref/heads/${encoded(branch)}`));
    return found && this.#client.read(refForm(), found.body).object.sha;
  }

  async contentOf(head: string, base: string): Promise<BranchContent> {
    const path = this.#path(`/compare/${base}...${head}?per_page=100`);
    const compared = await this.#client.get(path, comparisonForm());
    const { merge_base_commit, commits, total_commits, files } = compared;
    return {
      mergeBase: merge_base_commit.sha,
      commits: commits.map(({ sha, commit }) => ({ id: sha, message: commit.message })),
      files: files.flatMap(({ filename, previous_filename: before }) => [
        filename,
        ...(before ? [before] : []),
      ]),
      isWhole: total_commits === commits.length && files.length < MOST_FILES,
    };
  }

  async blobs(commit: string, paths: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    for (let at = 0; at < paths.length; at += MOST_BLOBS) {
      const some = paths.slice(at, at + MOST_BLOBS);
      const [owner, name] = this.#repository.split('/');
      const variables = Object.fromEntries(some.map((path, index) => [`e${index}`, `${commit}:${path}`]));
      const declared = some.map((_, index) => `$e${index}: String!`).join(', ');
      const fields = some.map((_, index) => `f${index}: object(expression: $e${index}) { oid }`).join(' ');
      const query = `query($owner: String!, $name: String!, ${declared}) { repository(owner: $owner, name: $name) { ${fields} } }`;
      const { repository } = await this.#query(blobsForm(), query, { owner, name, ...variables });
      for (const [index, path] of some.entries()) {
        const oid = repository[`f${index}`]?.oid;
        if (oid !== undefined) found.set(path, oid);
      }
    }
    return found;
  }

  async requests(branch: string): Promise<readonly HostRequest[]> {
    const [owner = ''] = this.#repository.split('/');
    const head = encodeURIComponent(`${owner}:${branch}`);
    const query = `/pulls?head=${head}&state=all&sort=created&direction=desc&per_page=30`;
    const pulls = await this.#client.get(this.#path(query), z.array(pullForm()));
    return pulls
      .filter(({ head: { ref, repo } }) => ref === branch && this.#isOwn(repo?.full_name))
      .map(requestOf);
  }

  async commit({ branch, head, parent, message, files }: CommitWanted): Promise<void> {
    const ref = `refs/heads/${branch}`;
    const changes = { message, files, expected: parent };
    if (head === undefined) await this.#updateRefs([{ name: ref, beforeOid: NOWHERE, afterOid: parent }]);
    if (head === undefined || head === parent) {
      await this.#commitOn(branch, changes);
      return;
    }
    // The request must never see the branch without a commit: the host would close it, or call it merged.
    const next = `${branch}-${hash('sha256', branch).slice(0, 12)}`;
    const nextRef = `refs/heads/${next}`;
    await this.#updateRefs([{ name: nextRef, afterOid: parent, force: true }]);
    try {
      const made = await this.#commitOn(next, changes);
      await this.#updateRefs([{ name: ref, beforeOid: head, afterOid: made, force: true }]);
    } finally {
      await this.#updateRefs([{ name: nextRef, afterOid: NOWHERE }]);
    }
  }

  async open({ branch, base, title, body }: Parameters<CodeHost['open']>[0]): Promise<HostRequest> {
    const request = { title, head: branch, base, body };
    const made = await this.#client.ask('POST', this.#path('/pulls'), { body: request });
    return requestOf(this.#client.read(pullForm(), made.body));
  }

  async change(number: number, change: RequestChange): Promise<void> {
    await this.#client.ask('PATCH', this.#path(`/pulls/${number}`), { body: change });
  }

  async #commitOn(
    branch: string,
    { message, files, expected }: Pick<CommitWanted, 'message' | 'files'> & { readonly expected: string },
  ): Promise<string> {
    const [headline = '', ...rest] = message.split('\n\n');
    const additions = [...files].map(([path, text]) => ({
      path,
      contents: Buffer.from(text).toString('base64'),
    }));
    const input = {
      branch: { repositoryNameWithOwner: this.#repository, branchName: branch },
      message: { headline, body: rest.join('\n\n') },
      expectedHeadOid: expected,
      fileChanges: { additions },
    };
    const mutation =
      'mutation($input: CreateCommitOnBranchInput!) { createCommitOnBranch(input: $input) { commit { oid } } }';
    return (await this.#query(commitForm(), mutation, { input })).createCommitOnBranch.commit.oid;
  }

  async #updateRefs(refUpdates: readonly object[]): Promise<void> {
    const { node_id: repositoryId } = await this.#info();
    const mutation = 'mutation($input: UpdateRefsInput!) { updateRefs(input: $input) { clientMutationId } }';
    await this.#query(z.unknown(), mutation, { input: { repositoryId, refUpdates } });
  }

  async #query<T>(form: z.ZodType<T>, query: string, variables: object): Promise<T> {
    const answer = await this.#client.ask('POST', this.#graphql, {
      body: { query, variables },
      isRead: query.startsWith('query'),
      isLimited: (body) =>
        errorsForm()
          .safeParse(body)
          .data?.errors?.some(({ type }) => type === 'RATE_LIMITED') ?? false,
    });
    const { errors = [], data } = this.#client.read(errorsForm(), answer.body);
    const [error] = errors;
    if (error === undefined) return this.#client.read(form, data);
    const status = STATUS_OF[error.type ?? ''] ?? 422;
    throw this.#client.refusal(status, `${status} ${error.message}`);
  }

  #info(): Promise<z.infer<ReturnType<typeof repositoryForm>>> {
    this.#known ??= this.#client.get(this.#path(''), repositoryForm());
    return this.#known;
  }

  #isOwn(name: string | undefined): boolean {
    return name?.toLowerCase() === this.#repository.toLowerCase();
  }

  #path(rest: string): string {
    return `/repos/${this.#repository}${rest}`;
  }
}

/** What a query answers with the status 200, as the status that it means. */
const STATUS_OF: Readonly<Record<string, number>> = {
  NOT_FOUND: 404,
  FORBIDDEN: 403,
  INSUFFICIENT_SCOPES: 403,
  STALE_DATA: 409,
};

const repositoryForm = lazily(() => z.object({ default_branch: z.string(), node_id: z.string() }));
const refForm = lazily(() => z.object({ object: z.object({ sha: z.string() }) }));
const comparisonForm = lazyObject(() => ({
  merge_base_commit: z.object({ sha: z.string() }),
  total_commits: z.number(),
  commits: z.array(z.object({ sha: z.string(), commit: z.object({ message: z.string() }) })),
  files: z.array(z.object({ filename: z.string(), previous_filename: z.string().optional() })).default([]),
}));
const pullForm = lazyObject(() => ({
  number: z.number(),
  html_url: z.url({ protocol: /^https?$/ }),
  state: z.string(),
  merged_at: z.string().nullable(),
  body: z.string().nullable(),
  head: z.object({ ref: z.string(), repo: z.object({ full_name: z.string() }).nullable() }),
  base: z.object({ ref: z.string() }),
}));
const errorsForm = lazyObject(() => ({
  errors: z.array(z.object({ type: z.string().optional(), message: z.string() })).optional(),
  data: z.unknown(),
}));
const blobsForm = lazily(() =>
  z.object({ repository: z.record(z.string(), z.object({ oid: z.string() }).nullable()) }),
);
const commitForm = lazyObject(() => ({
  createCommitOnBranch: z.object({ commit: z.object({ oid: z.string() }) }),
}));

type Pull = z.infer<ReturnType<typeof pullForm>>;

function requestOf({ number, html_url, state, merged_at, body, base }: Pull): HostRequest {
  return {
    number,
    url: html_url,
    state: state === 'open' ? 'open' : merged_at === null ? 'closed' : 'merged',
    base: base.ref,
    body: body ?? '',
  };
}

function encoded(branch: string): string {
  return branch.split('/').map(encodeURIComponent).join('/');
}
