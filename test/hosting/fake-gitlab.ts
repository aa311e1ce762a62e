import type { Exchange } from '../ci-kit/fake-host.ts';
import type { Files } from './bare-repository.ts';
import { type Call, type Caller, CodeHostFake, type FakeRequest, REPOSITORY } from './code-host-fake.ts';

const PROJECT = 42;

/** A GitLab server, as far as merge requests need it: it refuses what GitLab refuses. */
export class FakeGitlab extends CodeHostFake {
  static start(files: Files, at?: string): Promise<FakeGitlab> {
    return new FakeGitlab(files, at).listening();
  }

  protected override pathOf({ pathname }: URL): string | undefined {
    return /^\/api\/v4(\/.*)$/.exec(pathname)?.[1];
  }

  protected override refusal(status: 401 | 404): object {
    return { message: status === 401 ? '401 Unauthorized' : '404 Not Found' };
  }

  protected override work({ method, path, body }: Call, { url, send }: Exchange, { mayWrite }: Caller): unknown {
    const base = `/projects/${encodeURIComponent(REPOSITORY)}`;
    if (path !== base && !path.startsWith(`${base}/`)) return send(404, { message: '404 Project Not Found' });
    if (method !== 'GET' && !mayWrite) return send(403, { message: '403 Forbidden' });
    const rest = path.slice(base.length);
    if (rest === '/merge_requests' && method === 'GET') {
      const found = this.requests.filter((each) => each.branch === url.searchParams.get('source_branch'));
      return send(
        200,
        found.toReversed().map((each) => this.#shown(each)),
      );
    }
    if (rest === '/merge_requests') return this.#open(body, send);
    const [, number] = /^\/merge_requests\/(\d+)$/.exec(rest) ?? [];
    if (number !== undefined && method === 'PUT') return this.#change(this.request(Number(number)), body, send);
    return send(404, { message: '404 Not Found' });
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

  #shown({ number, branch, base, body, state, closedAt }: FakeRequest): object {
    return {
      iid: number,
      web_url: `${this.url}/${REPOSITORY}/-/merge_requests/${number}`,
      state: state === 'open' ? 'opened' : state,
      description: body,
      source_branch: branch,
      sha: closedAt ?? this.repository.head(branch) ?? null,
      target_branch: base,
      source_project_id: PROJECT,
      project_id: PROJECT,
    };
  }
}
