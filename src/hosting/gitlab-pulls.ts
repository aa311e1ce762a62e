import { z } from 'zod';
import { lazyObject } from '../values/described.ts';
import { type HostClient, HostProblem, isMissing } from './host-client.ts';
import {
  type CommitState,
  type PullRequest,
  type PullRequests,
  type Reviews,
  STATUS_NAME,
  truncateDescription,
} from './pull-requests.ts';

/** The access level of the role Developer, the lowest role that may push and approve. */
const DEVELOPER_ACCESS_LEVEL = 30;
/** The search for pushes starts this many days before a request was opened. */
const PUSH_SEARCH_DAYS = 90;
const MILLISECONDS_PER_DAY = 86_400_000;
/** The maximum number of pages to read from the list of pushes, which contains the pushes to all branches of a project. */
const MAX_PAGES_OF_PUSHES = 100;

const STATES: Readonly<Record<CommitState, string>> = { pending: 'pending', success: 'success', failure: 'failed' };

/** Returns a client for the merge requests of a GitLab project. Paths and schemas follow GitLab's REST API, version 4. */
export function gitlabPulls(client: HostClient, repository: string): PullRequests {
  const project = `/projects/${encodeURIComponent(repository)}`;
  const request = (number: number): string => `${project}/merge_requests/${number}`;

  async function withWriteAccess(users: readonly User[]): Promise<readonly string[]> {
    const found: string[] = [];
    for (const { id, username } of users.filter((each) => !BOT_NAME.test(each.username))) {
      const member = await client
        .request('GET', `${project}/members/all/${id}`, memberForm())
        .catch((error: unknown) => {
          if (isMissing(error)) return { access_level: 0, state: 'none' };
          throw error;
        });
      if (member.access_level >= DEVELOPER_ACCESS_LEVEL && member.state === 'active') found.push(username);
    }
    return found.sort();
  }

  /** Returns the time of each approval in milliseconds, by user name. GitLab before version 18 has these times only in the notes. */
  async function approvalTimes(number: number, approvals: readonly Approval[]): Promise<ReadonlyMap<string, number>> {
    const isComplete = approvals.every(({ approved_at }) => approved_at !== undefined && approved_at !== null);
    const notes = isComplete ? [] : await notesOf(number);
    const fromNotes = notes
      .filter(({ system, body }) => system && body === 'approved this merge request')
      .map(({ author, created_at }) => [author?.username ?? '', Date.parse(created_at)] as const);
    const fromApi = approvals.map(({ user, approved_at }) => [user.username, Date.parse(approved_at ?? '')] as const);
    return new Map([...fromNotes, ...fromApi.filter(([, at]) => !Number.isNaN(at))]);
  }

  async function notesOf(number: number): Promise<readonly Note[]> {
    return client.requestAll(`${request(number)}/notes?sort=asc&order_by=created_at&per_page=100`, noteForm());
  }

  /** Returns the user names of everyone who pushed to the branch of a request. */
  async function pushersOf({
    source_project_id: id,
    source_branch: branch,
    created_at,
  }: MergeRequest): Promise<readonly string[]> {
    // If the project of the branch was deleted, only the authors of the commits are known.
    if (id === null) return [];
    const begin = new Date(Date.parse(created_at) - PUSH_SEARCH_DAYS * MILLISECONDS_PER_DAY).toISOString().slice(0, 10);
    const path = `/projects/${id}/events?action=pushed&after=${begin}&per_page=100`;
    const events = await client.requestAll(path, eventForm(), { pages: MAX_PAGES_OF_PUSHES });
    // GitLab records a push to many branches as one event without branch names.
    const isToBranch = ({ push_data: push }: z.infer<ReturnType<typeof eventForm>>): boolean =>
      push !== undefined && push.action !== 'removed' && (push.ref ?? branch) === branch;
    return events.filter(isToBranch).flatMap(({ author_username: name }) => name ?? []);
  }

  /** Returns a predicate for the author of a request, everyone who pushed to its branch, and everyone named in its commits. */
  async function contributorsTo(found: MergeRequest): Promise<(user: User) => boolean> {
    const pushers = await pushersOf(found);
    const commits = await client.requestAll(`${request(found.iid)}/commits?per_page=100`, commitForm());
    const people = commits.flatMap((each) => [
      each.author_name,
      each.author_email,
      each.committer_name,
      each.committer_email,
    ]);
    const contributors = new Set<string | null | undefined>([found.author?.username, ...pushers, ...people]);
    return ({ username, name, public_email: address }) =>
      [username, name, address].some((each) => Boolean(each) && contributors.has(each));
  }

  return {
    async openFor(base) {
      const query = `state=opened&target_branch=${encodeURIComponent(base)}&per_page=100`;
      const found = await client.requestAll(`${project}/merge_requests?${query}`, requestForm(), { isKept: true });
      // Remove duplicates: if a request is opened while pages are read, another request moves to the next page and is read twice.
      return [
        ...new Map(found.filter((each) => each.target_branch === base).map((each) => [each.iid, each])).values(),
      ].map(requestOf);
    },
    get: async (number) => requestOf(await client.request('GET', request(number), requestForm())),
    async mergeBase({ number, head }) {
      const { diff_refs: refs } = await client.request('GET', request(number), requestForm());
      if (refs?.head_sha === head && refs.base_sha !== null) return refs.base_sha;
      throw notReady(number);
    },
    async reviews({ number, head }): Promise<Reviews> {
      const [newest] = await client.requestAll(`${request(number)}/versions?per_page=100`, versionForm());
      // GitLab creates the version shortly after the push.
      if (newest?.head_commit_sha !== head) throw notReady(number);
      const { approved_by: all } = await client.request('GET', `${request(number)}/approvals`, approvalsForm());
      const reviewers = await client.requestAll(`${request(number)}/reviewers?per_page=100`, reviewerForm());
      const times = await approvalTimes(number, all);
      // GitLab may keep approvals after a push, so ignore approvals from before the newest version.
      const current = all.filter(({ user }) => (times.get(user.username) ?? 0) > Date.parse(newest.created_at));
      const contributes =
        current.length === 0
          ? () => false
          : await contributorsTo(await client.request('GET', request(number), requestForm()));
      return {
        approvals: await withWriteAccess(current.map(({ user }) => user).filter((user) => !contributes(user))),
        objections: await withWriteAccess(
          reviewers.filter(({ state }) => state === 'requested_changes').map(({ user }) => user),
        ),
      };
    },
    async setStatus({ head }, { state, description, url }) {
      const wanted = {
        state: STATES[state],
        name: STATUS_NAME,
        description: truncateDescription(description),
        ...(url !== undefined && { target_url: url }),
      };
      try {
        await client.request('POST', `${project}/statuses/${head}`, z.unknown(), wanted);
      } catch (error) {
        // GitLab responds with 400 if a pending status is set to pending again.
        if (!(error instanceof HostProblem && error.failure.reason === 'refused' && error.failure.status === 400))
          throw error;
        const path = `${project}/repository/commits/${head}/statuses?name=${STATUS_NAME}&per_page=100`;
        const statuses = await client.requestAll(path, statusForm());
        if (!statuses.some(({ name, status }) => name === STATUS_NAME && status === wanted.state)) throw error;
      }
    },
    async ownComments(number, text) {
      const id = await client.userId();
      const notes = await notesOf(number);
      return notes
        .filter(({ system, author, body }) => !system && author?.id === id && body.startsWith(text))
        .map((each) => ({ id: String(each.id), body: each.body }));
    },
    async addComment(number, body) {
      await client.request('POST', `${request(number)}/notes`, z.unknown(), { body });
    },
    async changeComment(number, id, body) {
      await client.request('PUT', `${request(number)}/notes/${id}`, z.unknown(), { body });
    },
    async removeComment(number, id) {
      await client.request('DELETE', `${request(number)}/notes/${id}`, z.unknown());
    },
  };
}

/** Matches the user names that GitLab gives to the bots of project and group tokens, and to service accounts. */
const BOT_NAME = /^((project|group)_\d+_bot|service_account)(_|$)/;

/** Returns an error that causes a retry. GitLab computes the diff of a push in the background. */
function notReady(number: number): HostProblem {
  return new HostProblem(`GitLab is still comparing the branches of !${number}`, { reason: 'unreachable' });
}

const userForm = lazyObject(() => ({
  id: z.number(),
  username: z.string(),
  name: z.string().optional(),
  public_email: z.string().nullish(),
}));

type User = z.infer<ReturnType<typeof userForm>>;

export const requestForm = lazyObject(() => ({
  iid: z.number(),
  web_url: z.url({ protocol: /^https?$/ }),
  title: z.string(),
  description: z.string().nullable(),
  state: z.string(),
  created_at: z.string(),
  author: userForm().nullable(),
  target_branch: z.string(),
  source_branch: z.string(),
  source_project_id: z.number().nullable(),
  project_id: z.number(),
  sha: z.string().nullable(),
  merge_commit_sha: z.string().nullish(),
  squash_commit_sha: z.string().nullish(),
  diff_refs: z.object({ base_sha: z.string().nullable(), head_sha: z.string().nullable() }).nullish(),
}));

type MergeRequest = z.infer<ReturnType<typeof requestForm>>;

const versionForm = lazyObject(() => ({ head_commit_sha: z.string(), created_at: z.string() }));

const approvalsForm = lazyObject(() => ({
  approved_by: z.array(z.object({ user: userForm(), approved_at: z.string().nullish() })),
}));

type Approval = z.infer<ReturnType<typeof approvalsForm>>['approved_by'][number];

const reviewerForm = lazyObject(() => ({ user: userForm(), state: z.string() }));

const memberForm = lazyObject(() => ({ access_level: z.number(), state: z.string() }));

const eventForm = lazyObject(() => ({
  author_username: z.string().nullish(),
  push_data: z.object({ action: z.string(), ref: z.string().nullable() }).optional(),
}));

const commitForm = lazyObject(() => ({
  author_name: z.string(),
  author_email: z.string(),
  committer_name: z.string(),
  committer_email: z.string(),
}));

const statusForm = lazyObject(() => ({ name: z.string(), status: z.string() }));

const noteForm = lazyObject(() => ({
  id: z.number(),
  body: z.string(),
  system: z.boolean(),
  author: userForm().nullable(),
  created_at: z.string(),
}));

type Note = z.infer<ReturnType<typeof noteForm>>;

function requestOf(found: MergeRequest): PullRequest {
  const { iid: number, web_url: url, title, state, author, source_project_id, project_id } = found;
  const isOver = state === 'closed' || state === 'merged';
  return {
    number,
    url,
    title,
    state: isOver ? state : 'open',
    author: author?.username ?? '',
    base: found.target_branch,
    branch: found.source_branch,
    head: found.sha ?? '',
    isFork: source_project_id !== project_id,
    // A fast-forward merge creates no merge commit: it moves the base branch to the head of the request.
    mergedAs:
      state === 'merged' ? (found.merge_commit_sha ?? found.squash_commit_sha ?? found.sha ?? undefined) : undefined,
  };
}
