import type { Exchange } from '../ci-kit/fake-host.ts';
import type { Files } from './bare-repository.ts';
import {
  type Call,
  type Caller,
  CodeHostFake,
  type FakeComment,
  type FakeRequest,
  type MergeMethod,
  REPOSITORY,
} from './code-host-fake.ts';

const PROJECT = 42;
const FORK = 43;
/** GitLab's limit on the text of a note. */
const LONGEST = 1_000_000;
const LEVELS = { admin: 40, write: 30, read: 20, none: 0 };

/** A GitLab server with the features that merge requests need. It refuses the same requests as GitLab. */
export class FakeGitlab extends CodeHostFake {
  /** False for a server that reports the times of approvals only in notes. */
  hasApprovalTimes = true;
  /** True while the server computes the differences of requests. */
  isComparing = false;

  static start(files: Files, at?: string): Promise<FakeGitlab> {
    return new FakeGitlab(files, at).listening();
  }

  protected override pathOf({ pathname }: URL): string | undefined {
    return /^\/api\/v4(\/.*)$/.exec(pathname)?.[1];
  }

  protected override refusal(status: 401 | 404): object {
    return { message: status === 401 ? '401 Unauthorized' : '404 Not Found' };
  }

  /** A rebase moves the branch itself, and its new head needs new approvals. */
  override mergeBy(number: number, method: MergeMethod): string {
    const merged = super.mergeBy(number, method);
    const request = this.request(number);
    if (method !== 'rebase' || request.closedAt === merged) return merged;
    request.closedAt = merged;
    request.versions.push({ head: merged, at: this.now() });
    return merged;
  }

  protected override merged(request: FakeRequest, method: MergeMethod): string {
    const { repository } = this;
    const [base, head] = [repository.head(request.base) ?? '', this.headOf(request) ?? ''];
    const isOnTop = repository.mergeBase(base, head) === base;
    return method === 'rebase' && isOnTop ? head : super.merged(request, method);
  }

  protected override work(call: Call, exchange: Exchange, caller: Caller): unknown {
    const { method, path, body } = call;
    const { url, send } = exchange;
    if (path === '/user') return send(200, this.#user(caller.login));
    const [, id] = /^\/projects\/(\d+)\/events$/.exec(path) ?? [];
    if (id !== undefined && method === 'GET') return this.#events(Number(id), exchange);
    const base = `/projects/${encodeURIComponent(REPOSITORY)}`;
    if (path !== base && !path.startsWith(`${base}/`)) return send(404, { message: '404 Project Not Found' });
    if (method !== 'GET' && !caller.mayWrite) return send(403, { message: '403 Forbidden' });
    const rest = path.slice(base.length);
    if (rest === '/merge_requests' && method === 'GET') return this.#list(exchange);
    if (rest === '/merge_requests') return this.#open(body, send);
    const [, number, part = ''] = /^\/merge_requests\/(\d+)(\/.*)?$/.exec(rest) ?? [];
    if (number !== undefined) {
      const request = this.requests.find((each) => each.number === Number(number));
      return request === undefined
        ? send(404, this.refusal(404))
        : this.#request(request, { call, exchange, caller, part });
    }
    const [, sha = ''] = /^\/statuses\/(\w+)$/.exec(rest) ?? [];
    if (sha !== '' && method === 'POST') return this.#setStatus(sha, body, send);
    const [, commit = ''] = /^\/repository\/commits\/(\w+)\/statuses$/.exec(rest) ?? [];
    if (commit !== '') {
      const last = new Map(this.statuses(commit).map((each) => [each.name, each]));
      const name = url.searchParams.get('name');
      const shown = [...last.values()].filter((each) => name === null || each.name === name);
      return this.page(
        shown.map(({ state, ...each }) => ({ ...each, status: state })),
        exchange,
      );
    }
    const [, member] = /^\/members\/all\/(\d+)$/.exec(rest) ?? [];
    const found = [...this.collaborators].find(([login]) => this.userId(login) === Number(member));
    if (found === undefined) return send(404, { message: '404 Not found' });
    return send(200, { ...this.#user(found[0]), state: 'active', access_level: LEVELS[found[1]] });
  }

  #request(
    request: FakeRequest,
    {
      call: { method, body },
      exchange,
      caller,
      part,
    }: { readonly call: Call; readonly exchange: Exchange; readonly caller: Caller; readonly part: string },
  ): unknown {
    const { send } = exchange;
    const { reviews, comments, versions } = request;
    const last = [
      ...new Map(reviews.filter(({ state }) => state !== 'COMMENTED').map((each) => [each.user, each])).values(),
    ];
    const approvals = last.filter(({ state }) => state === 'APPROVED');
    switch (`${method} ${part}`) {
      case 'GET ':
        return send(200, this.#shown(request));
      case 'PUT ':
        return this.#change(request, body, send);
      case 'GET /approvals':
        return send(200, {
          approved_by: approvals.map(({ user, at }) => ({
            user: this.#user(user),
            ...(this.hasApprovalTimes && { approved_at: at }),
          })),
        });
      case 'GET /versions':
        return this.page(
          versions.toReversed().map(({ head, at }) => ({ head_commit_sha: head, created_at: at })),
          exchange,
        );
      case 'GET /reviewers': {
        const names = {
          APPROVED: 'approved',
          CHANGES_REQUESTED: 'requested_changes',
          COMMENTED: 'reviewed',
          DISMISSED: 'unapproved',
        };
        return this.page(
          last.map(({ user, state, at }) => ({ user: this.#user(user), state: names[state], created_at: at })),
          exchange,
        );
      }
      case 'GET /commits':
        return this.page(
          this.commitsOf(request).map((id) => this.#commit(id)),
          exchange,
        );
      case 'GET /notes': {
        const system = reviews
          .filter(({ state }) => state === 'APPROVED')
          .map(({ id, user, at }) => ({
            id,
            body: 'approved this merge request',
            system: true,
            author: this.#user(user),
            created_at: at,
          }));
        return this.page(
          [...comments.map((each) => this.#note(each)), ...system].sort((a, b) => a.id - b.id),
          exchange,
        );
      }
      case 'POST /notes': {
        if (body.body.length > LONGEST) return this.#tooLong(send);
        const made = { id: this.nextId(), user: caller.login, body: body.body };
        comments.push(made);
        return send(201, this.#note(made));
      }
      default: {
        const at = comments.findIndex(({ id }) => part === `/notes/${id}`);
        const comment = comments[at];
        if (comment === undefined) return send(404, { message: '404 Note Not Found' });
        if (method === 'DELETE') {
          comments.splice(at, 1);
          return send(204, undefined);
        }
        if (method === 'PUT' && body.body.length > LONGEST) return this.#tooLong(send);
        if (method === 'PUT') comment.body = body.body;
        return send(200, this.#note(comment));
      }
    }
  }

  #tooLong(send: Exchange['send']): void {
    send(400, { message: { note: [`is too long (maximum is ${LONGEST} characters)`] } });
  }

  #list(exchange: Exchange): void {
    const { searchParams } = exchange.url;
    const [branch, base, state] = ['source_branch', 'target_branch', 'state'].map((name) => searchParams.get(name));
    const found = this.requests.filter(
      (each) =>
        (branch === null || each.branch === branch) &&
        (base === null || each.base === base) &&
        (state !== 'opened' || each.state === 'open'),
    );
    this.page(
      found.toReversed().map((each) => this.#shown(each)),
      exchange,
    );
  }

  #events(project: number, exchange: Exchange): void {
    const after = exchange.url.searchParams.get('after') ?? '';
    const found = this.pushes.filter(
      (each) => (each.fork === undefined ? PROJECT : FORK) === project && each.at.slice(0, 10) > after,
    );
    this.page(
      found.toReversed().map(({ id, user, branch, kind, commit, at }) => ({
        id,
        action_name: 'pushed to',
        author: this.#user(user),
        author_username: user,
        created_at: at,
        push_data: {
          action: kind === 'branch_deletion' ? 'removed' : 'pushed',
          ref_type: 'branch',
          commit_to: commit,
          // GitLab sends one event for a push of many branches.
          ref: branch === '' ? null : branch,
        },
      })),
      exchange,
    );
  }

  #setStatus(
    sha: string,
    { state = '', description = '', name = 'default', target_url: url }: Record<string, string>,
    send: Exchange['send'],
  ): unknown {
    if (!this.repository.has(sha)) return send(404, { message: '404 Commit Not Found' });
    if (!['pending', 'running', 'success', 'failed', 'canceled', 'skipped'].includes(state))
      return send(400, { error: 'state does not have a valid value' });
    if ([...description].length > 255)
      return send(400, { message: { description: ['is too long (maximum is 255 characters)'] } });
    const last = this.statuses(sha).findLast((each) => each.name === name);
    if (state === 'pending' && last?.state === 'pending') {
      const reason = 'Status cannot transition via "enqueue"';
      return send(400, { message: `Cannot transition status via :enqueue from :pending (Reason(s): ${reason})` });
    }
    this.addStatus({ sha, state, description, url, name });
    return send(201, { sha, status: state, name, description, target_url: url ?? null });
  }

  #user(login: string): object {
    return { id: this.userId(login), username: login, name: `${login} of Acme`, state: 'active', public_email: null };
  }

  #note({ id, user, body }: FakeComment) {
    return { id, body, system: false, author: this.#user(user), created_at: '2026-01-31T09:30:00.000Z' };
  }

  #commit(id: string): object {
    const [name, email] = [`${this.authorOf(id) ?? 'nobody'} of Acme`, 'someone@example.com'];
    return { id, author_name: name, author_email: email, committer_name: name, committer_email: email };
  }

  #open(
    { source_branch: branch = '', target_branch: base = '', title = '', description = '' }: Record<string, string>,
    send: Exchange['send'],
  ): unknown {
    const open = this.requests.find((each) => each.branch === branch && each.base === base && each.state === 'open');
    if (open !== undefined) {
      return send(409, {
        message: [`Another open merge request already exists for this source branch: !${open.number}`],
      });
    }
    if (this.repository.head(branch) === undefined)
      return send(400, { message: { source_branch: ['does not exist'] } });
    const made = this.newRequest({ branch, base, title, body: description });
    return send(201, this.#shown(made));
  }

  #change(request: FakeRequest, change: Record<string, string>, send: Exchange['send']): unknown {
    if (change.state_event === 'close' && request.state === 'open') this.close(request.number);
    request.body = change.description ?? request.body;
    request.base = change.target_branch ?? request.base;
    return send(200, this.#shown(request));
  }

  #shown(request: FakeRequest): object {
    const { number, branch, base, title, body, state, author, fork, mergedBy, mergedAs } = request;
    const head = this.headOf(request) ?? null;
    const begin = this.repository.head(base);
    return {
      iid: number,
      web_url: `${this.url}/${REPOSITORY}/-/merge_requests/${number}`,
      title,
      state: state === 'open' ? 'opened' : state,
      created_at: '2026-01-31T09:30:00.000Z',
      author: author === undefined ? null : this.#user(author),
      description: body,
      source_branch: branch,
      sha: head,
      target_branch: base,
      source_project_id: fork === undefined ? PROJECT : FORK,
      project_id: PROJECT,
      merge_commit_sha: mergedBy === 'merge' ? mergedAs : null,
      squash_commit_sha: mergedBy === 'squash' ? mergedAs : null,
      diff_refs:
        this.isComparing || head === null || begin === undefined
          ? null
          : { base_sha: this.repository.mergeBase(begin, head), head_sha: head, start_sha: begin },
    };
  }
}
