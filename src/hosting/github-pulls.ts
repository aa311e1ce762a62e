import { z } from 'zod';
import { lazyObject } from '../values/described.ts';
import { type HostClient, isMissing, refusal } from './host-client.ts';
import {
  type PullRequest,
  type PullRequests,
  type Reviews,
  STATUS_NAME,
  truncateDescription,
} from './pull-requests.ts';

/** The maximum number of commits that GitHub lists for a pull request. */
const MAX_LISTED_COMMITS = 250;

/** Returns a client for the pull requests of a GitHub repository. Paths and schemas follow GitHub's REST API, version 2022-11-28. */
export function githubPulls(client: HostClient, repository: string): PullRequests {
  const repo = `/repos/${repository}`;
  const pull = (number: number): string => `${repo}/pulls/${number}`;
  const comments = `${repo}/issues/comments`;

  /** Returns a predicate that is true for comments by the user or the app of the credentials. */
  async function ownership(): Promise<(comment: Comment) => boolean> {
    const { app, login } = client;
    if (login !== undefined) return ({ user }) => user?.login === login;
    // People can also comment through an app. Only the comments of the app's bot are its own.
    if (app !== undefined) {
      return ({ user, performed_via_github_app: via }) => via?.id === app && user?.type === 'Bot';
    }
    const id = await client.userId();
    return ({ user }) => user?.id === id;
  }

  async function mayWrite(user: string): Promise<boolean> {
    const path = `${repo}/collaborators/${encodeURIComponent(user)}/permission`;
    const { permission } = await client.request('GET', path, permissionForm()).catch((error: unknown) => {
      if (isMissing(error)) return { permission: 'none' };
      throw error;
    });
    // The role `maintain` is reported as `write`, and `triage` as `read`.
    return permission === 'admin' || permission === 'write';
  }

  async function withWriteAccess(users: readonly string[]): Promise<readonly string[]> {
    const found: string[] = [];
    for (const user of users.toSorted()) if (await mayWrite(user)) found.push(user);
    return found;
  }

  /** Returns the users who pushed to a branch; undefined if the server is too old to have the endpoint. */
  async function pushersOf(owner: string, branch: string): Promise<readonly string[] | undefined> {
    const query = `ref=${encodeURIComponent(`refs/heads/${branch}`)}&per_page=100`;
    try {
      const activities = await client.requestAll(`/repos/${owner}/activity?${query}`, activityForm());
      const pushes = activities.filter(({ activity_type: type }) => type !== 'branch_deletion');
      return pushes.flatMap(({ actor }) => actor?.login ?? []);
    } catch (error) {
      if (!isMissing(error)) throw error;
      if (owner.toLowerCase() === repository.toLowerCase()) return undefined;
      // If the endpoint works for this repository, the token cannot read the fork, so its pushers are unknown.
      if ((await pushersOf(repository, branch)) === undefined) return undefined;
      throw error;
    }
  }

  /**
   * Returns the author of a request, everyone who pushed to its branch, and the authors and committers of its commits. GitHub links a
   * commit to a user by email address. For commits without such a link, only the pushers are known.
   */
  async function contributorsTo({ number, branch }: PullRequest): Promise<ReadonlySet<string>> {
    const { user, head } = await client.request('GET', pull(number), pullForm());
    const commits = await client.requestAll(`${pull(number)}/commits?per_page=100`, commitForm());
    if (commits.length >= MAX_LISTED_COMMITS)
      throw refusal(`#${number} of ${repository} has more commits than GitHub lists, so its authors are unknown`);
    // `head.repo` is null if the repository of the branch was deleted. The pushers are then unknown.
    const pushers = head.repo === null ? [] : ((await pushersOf(head.repo.full_name, branch)) ?? []);
    const people = commits.flatMap(({ author, committer }) => [author?.login, committer?.login]);
    return new Set([user?.login, ...pushers, ...people].filter((each) => each !== undefined));
  }

  return {
    async openFor(base) {
      const query = `state=open&base=${encodeURIComponent(base)}&per_page=100`;
      const found = await client.requestAll(`${repo}/pulls?${query}`, pullForm(), { isKept: true });
      // Remove duplicates: if a request is opened while pages are read, another request moves to the next page and is read twice.
      return [
        ...new Map(found.filter((each) => each.base.ref === base).map((each) => [each.number, each])).values(),
      ].map(requestOf);
    },
    get: async (number) => requestOf(await client.request('GET', pull(number), pullForm())),
    async mergeBase({ base, head }) {
      // Request page 2, because only page 1 of a comparison contains the changed files, which are not needed.
      const path = `${repo}/compare/${encodeURIComponent(base)}...${head}?per_page=1&page=2`;
      return (await client.request('GET', path, comparisonForm())).merge_base_commit.sha;
    },
    async reviews(request): Promise<Reviews> {
      const all = await client.requestAll(`${pull(request.number)}/reviews?per_page=100`, reviewForm());
      // A workflow can approve the request that adds the workflow, so only the reviews of people count.
      const counted = all.filter(({ user, state }) => user?.type === 'User' && COUNTED_STATES.has(state));
      const last = [...new Map(counted.map((each) => [each.user?.login ?? '', each]))];
      const approvers = last
        .filter(([, { state, commit_id }]) => state === 'APPROVED' && commit_id === request.head)
        .map(([login]) => login);
      const objectors = last.filter(([, { state }]) => state === 'CHANGES_REQUESTED').map(([login]) => login);
      const contributors = approvers.length === 0 ? new Set<string>() : await contributorsTo(request);
      return {
        approvals: await withWriteAccess(approvers.filter((login) => !contributors.has(login))),
        objections: await withWriteAccess(objectors),
      };
    },
    async setStatus({ head }, { state, description, url }) {
      await client.request('POST', `${repo}/statuses/${head}`, z.unknown(), {
        state,
        description: truncateDescription(description),
        context: STATUS_NAME,
        ...(url !== undefined && { target_url: url }),
      });
    },
    async ownComments(number, text) {
      const isOwn = await ownership();
      const all = await client.requestAll(`${repo}/issues/${number}/comments?per_page=100`, commentForm());
      return all
        .filter((each) => isOwn(each) && each.body?.startsWith(text))
        .map(({ id, body }) => ({ id: String(id), body: body ?? '' }));
    },
    async addComment(number, body) {
      await client.request('POST', `${repo}/issues/${number}/comments`, z.unknown(), { body });
    },
    async changeComment(_, id, body) {
      await client.request('PATCH', `${comments}/${id}`, z.unknown(), { body });
    },
    async removeComment(_, id) {
      await client.request('DELETE', `${comments}/${id}`, z.unknown());
    },
  };
}

/** The states of reviews that replace an earlier review of the same user. A comment does not replace a review. */
const COUNTED_STATES: ReadonlySet<string> = new Set(['APPROVED', 'CHANGES_REQUESTED', 'DISMISSED']);

/* GitHub returns null for deleted users and for commits without a linked user. */

const userForm = lazyObject(() => ({ id: z.number(), login: z.string(), type: z.string().optional() }));

export const pullForm = lazyObject(() => ({
  number: z.number(),
  html_url: z.url({ protocol: /^https?$/ }),
  title: z.string(),
  body: z.string().nullable(),
  state: z.string(),
  user: userForm().nullable(),
  merged_at: z.string().nullable(),
  merge_commit_sha: z.string().nullable(),
  head: z.object({ ref: z.string(), sha: z.string(), repo: z.object({ full_name: z.string() }).nullable() }),
  base: z.object({ ref: z.string(), repo: z.object({ full_name: z.string() }) }),
}));

const comparisonForm = lazyObject(() => ({ merge_base_commit: z.object({ sha: z.string() }) }));

const reviewForm = lazyObject(() => ({
  user: userForm().nullable(),
  state: z.string(),
  commit_id: z.string().nullable(),
}));

const permissionForm = lazyObject(() => ({ permission: z.string() }));

const activityForm = lazyObject(() => ({ activity_type: z.string(), actor: userForm().nullable() }));

/** An empty object stands for a user without an account. */
const linkedUserForm = lazyObject(() => ({ login: z.string().optional() }));

const commitForm = lazyObject(() => ({
  author: linkedUserForm().nullable(),
  committer: linkedUserForm().nullable(),
}));

const commentForm = lazyObject(() => ({
  id: z.number(),
  body: z.string().optional(),
  user: userForm().nullable(),
  performed_via_github_app: z.object({ id: z.number() }).nullish(),
}));

type Comment = z.infer<ReturnType<typeof commentForm>>;

function requestOf(found: z.infer<ReturnType<typeof pullForm>>): PullRequest {
  const { number, html_url: url, title, state, user, merged_at, merge_commit_sha, head, base } = found;
  const isMerged = merged_at !== null;
  return {
    number,
    url,
    title,
    state: state === 'open' ? 'open' : isMerged ? 'merged' : 'closed',
    author: user?.login ?? '',
    base: base.ref,
    branch: head.ref,
    head: head.sha,
    isFork: head.repo?.full_name !== base.repo.full_name,
    mergedAs: isMerged ? (merge_commit_sha ?? undefined) : undefined,
  };
}
