import type { Exchange } from '../ci-kit/fake-host.ts';
import type { Files } from './bare-repository.ts';
import { type Call, CodeHostFake, type FakeRequest, REPOSITORY } from './code-host-fake.ts';

const PROJECT = 42;

interface CommitAction {
  readonly action: string;
  readonly file_path: string;
  readonly content: string;
  readonly encoding?: string;
  readonly last_commit_id?: string;
}

/** A GitLab server, as far as merge requests need it: it refuses what GitLab refuses. */
export class FakeGitlab extends CodeHostFake {
  static start(files: Files, at?: string): Promise<FakeGitlab> {
    return new FakeGitlab(files, at).listening();
  }

  protected override pathOf({ pathname }: URL): string | undefined {
    return /^\/api\/v4(\/.*)$/.exec(pathname)?.[1];
  }

  protected override work(
    { method, path, body }: Call,
    { url, response, send }: Exchange,
    mayWrite: boolean,
  ): unknown {
    const base = `/projects/${encodeURIComponent(REPOSITORY)}`;
    if (path !== base && !path.startsWith(`${base}/`)) return send(404, { message: '404 Project Not Found' });
    if (method !== 'GET' && method !== 'HEAD' && !mayWrite) return send(403, { message: '403 Forbidden' });
    const rest = path.slice(base.length);
    const { repository } = this;
    if (rest === '') return send(200, { id: PROJECT, default_branch: 'main' });
    const [, branch] = /^\/repository\/branches\/(.+)$/.exec(rest) ?? [];
    if (branch !== undefined) {
      const id = repository.head(decodeURIComponent(branch));
      return id === undefined
        ? send(404, { message: '404 Branch Not Found' })
        : send(200, { name: branch, commit: { id } });
    }
    if (rest === '/repository/merge_base') {
      const [a = '', b = ''] = url.searchParams.getAll('refs[]');
      return send(200, { id: repository.mergeBase(a, b) });
    }
    if (rest === '/repository/compare') {
      const [from, to] = [url.searchParams.get('from') ?? '', url.searchParams.get('to') ?? ''];
      const diffs = repository
        .changed(repository.mergeBase(from, to), to)
        .map((name) => ({ old_path: name, new_path: name }));
      return send(200, { commits: repository.commits(from, to).toReversed(), diffs, compare_timeout: false });
    }
    const [, file] = /^\/repository\/files\/(.+)$/.exec(rest) ?? [];
    if (file !== undefined) {
      const [name, ref] = [decodeURIComponent(file), url.searchParams.get('ref') ?? ''];
      const blob = repository.find(`${ref}:${name}`);
      if (blob === undefined) return response.writeHead(404).end();
      return response
        .writeHead(200, {
          'x-gitlab-blob-id': blob,
          'x-gitlab-last-commit-id': repository.lastChange(ref, name),
        })
        .end();
    }
    if (rest === '/repository/commits' && method === 'POST') return this.#commit(body, send);
    if (rest === '/merge_requests' && method === 'GET') {
      const found = this.requests.filter((each) => each.branch === url.searchParams.get('source_branch'));
      return send(
        200,
        found.toReversed().map((each) => this.#shown(each)),
      );
    }
    if (rest === '/merge_requests') return this.#open(body, send);
    const [, number] = /^\/merge_requests\/(\d+)$/.exec(rest) ?? [];
    if (number !== undefined && method === 'PUT')
      return this.#change(this.request(Number(number)), body, send);
    return send(404, { message: '404 Not Found' });
  }

  #commit(
    body: {
      readonly branch: string;
      readonly commit_message: string;
      readonly start_sha?: string;
      readonly force?: boolean;
      readonly actions: readonly CommitAction[];
    },
    send: Exchange['send'],
  ): unknown {
    const { branch, commit_message: message, start_sha: start, force = false, actions } = body;
    const { repository } = this;
    const refused = (text: string) => send(400, { message: text });
    if (this.protectedBranches.has(branch))
      return send(403, { message: 'You are not allowed to push into this branch' });
    const head = repository.head(branch);
    if (head === undefined && start === undefined)
      return refused('You can only create or edit files when you are on a branch');
    if (head !== undefined && start !== undefined && !force)
      return refused(
        `A branch called '${branch}' already exists. Switch to that branch in order to make changes`,
      );
    const parent = start ?? head ?? '';
    for (const { action, file_path: name, last_commit_id: last } of actions) {
      if (action === 'update' && repository.find(`${parent}:${name}`) === undefined)
        return refused("A file with this name doesn't exist");
      if (last !== undefined && last !== repository.lastChange(parent, name))
        return refused(`You are attempting to update a file that has changed since you started editing it.`);
    }
    const files = actions.map(({ file_path: name, content, encoding }) => [
      name,
      encoding === 'base64' ? Buffer.from(content, 'base64').toString() : content,
    ]);
    const made = repository.commitOn(parent, { files: Object.fromEntries(files), message });
    repository.set(branch, made);
    return send(201, { id: made });
  }

  #open(
    {
      source_branch: branch = '',
      target_branch: base = '',
      title = '',
      description = '',
    }: Record<string, string>,
    send: Exchange['send'],
  ): unknown {
    const open = this.requests.find(
      (each) => each.branch === branch && each.base === base && each.state === 'open',
    );
    if (open !== undefined) {
      return send(409, {
        message: [`Another open merge request already exists for this source branch: !${open.number}`],
      });
    }
    if (this.repository.head(branch) === undefined)
      return send(400, { message: { source_branch: ['does not exist'] } });
    const made = { number: this.nextId(), branch, base, title, body: description, state: 'open' as const };
    this.requests.push(made);
    return send(201, this.#shown(made));
  }

  #change(request: FakeRequest, change: Record<string, string>, send: Exchange['send']): unknown {
    if (change.state_event === 'reopen') {
      if (request.state === 'merged') return send(422, { message: 'merged' });
      if (this.repository.head(request.branch) === undefined)
        return send(422, { message: 'source branch is gone' });
      request.state = 'open';
    }
    if (change.state_event === 'close' && request.state === 'open') this.close(request.number);
    request.body = change.description ?? request.body;
    request.base = change.target_branch ?? request.base;
    return send(200, this.#shown(request));
  }

  #shown({ number, branch, base, body, state }: FakeRequest): object {
    return {
      iid: number,
      web_url: `${this.url}/${REPOSITORY}/-/merge_requests/${number}`,
      state: state === 'open' ? 'opened' : state,
      description: body,
      source_branch: branch,
      target_branch: base,
      source_project_id: PROJECT,
      project_id: PROJECT,
    };
  }
}
