import type { Exchange } from '../ci-kit/fake-host.ts';
import type { Artifact, Permissions } from '../ci-kit/github-host.ts';
import type { Files } from './bare-repository.ts';
import { type Call, CodeHostFake, type FakeRequest, REPOSITORY } from './code-host-fake.ts';

/** GitHub's limit on the text of a pull request. */
const LONGEST = 65_536;

/** A server of GitHub Enterprise, as far as pull requests need it: it refuses what GitHub refuses. */
export class FakeGithub extends CodeHostFake {
  /** Of jobs: none is kept here. */
  readonly artifacts: Artifact[] = [];

  static start(files: Files, at?: string): Promise<FakeGithub> {
    return new FakeGithub(files, at).listening();
  }

  /** A token of a job that has only these permissions. */
  tokenFor(permissions: Permissions): string {
    const token = `token-of-job-${this.nextId()}`;
    this.tokens.set(token, permissions.contents === 'write' && permissions['pull-requests'] === 'write');
    return token;
  }

  protected override pathOf({ pathname }: URL): string | undefined {
    return /^(?:\/api(?:\/v3)?)?(\/repos\/.*)$/.exec(pathname)?.[1];
  }

  protected override work({ method, path, body }: Call, { url, send }: Exchange, mayWrite: boolean): unknown {
    const base = `/repos/${REPOSITORY}`;
    if (path !== base && !path.startsWith(`${base}/`)) return send(404, { message: 'Not Found' });
    if (method !== 'GET' && !mayWrite)
      return send(403, { message: 'Resource not accessible by personal access token' });
    const rest = decodeURIComponent(path.slice(base.length));
    if (rest === '/pulls' && method === 'GET') {
      const wanted = url.searchParams.get('head');
      const found = this.requests.filter((each) => `acme:${each.branch}` === wanted);
      return send(
        200,
        found.toReversed().map((each) => this.#shown(each)),
      );
    }
    if (rest === '/pulls') return this.#open(body, send);
    const [, number] = /^\/pulls\/(\d+)$/.exec(rest) ?? [];
    if (number !== undefined && method === 'PATCH') return this.#change(this.request(Number(number)), body, send);
    return send(404, { message: 'Not Found' });
  }

  #open({ title, head, base, body }: Record<string, string>, send: Exchange['send']): unknown {
    const { repository } = this;
    const refused = (message: string) =>
      send(422, {
        message: 'Validation Failed',
        errors: [{ resource: 'PullRequest', code: 'custom', message }],
      });
    const [from, to] = [repository.head(base ?? ''), repository.head(head ?? '')];
    if (from === undefined || to === undefined) return refused('base or head is invalid');
    if ((body ?? '').length > LONGEST) return refused('body is too long (maximum is 65536 characters)');
    if (this.requests.some((each) => each.branch === head && each.state === 'open'))
      return refused(`A pull request already exists for acme:${head}.`);
    if (repository.commits(from, to).length === 0) return refused(`No commits between ${base} and ${head}`);
    const made = {
      number: this.nextId(),
      branch: head ?? '',
      base: base ?? '',
      title: title ?? '',
      body: body ?? '',
      state: 'open' as const,
    };
    this.requests.push(made);
    return send(201, this.#shown(made));
  }

  #change(request: FakeRequest, change: Record<string, string>, send: Exchange['send']): unknown {
    const refused = (message: string) =>
      send(422, {
        message: 'Validation Failed',
        errors: [{ resource: 'PullRequest', field: 'state', message }],
      });
    if ((change.body ?? '').length > LONGEST) return refused('body is too long (maximum is 65536 characters)');
    if (change.base !== undefined && request.state !== 'open')
      return refused('Cannot change the base branch of a closed pull request.');
    if (change.state === 'closed' && request.state === 'open') this.close(request.number);
    request.body = change.body ?? request.body;
    request.base = change.base ?? request.base;
    return send(200, this.#shown(request));
  }

  /** A request whose branch is gone, or has nothing that its base has not, is closed by the host. */
  protected override pushed(): void {
    const { repository } = this;
    for (const request of this.requests.filter(({ state }) => state === 'open')) {
      const head = repository.head(request.branch);
      if (head === undefined) this.close(request.number);
      else if (repository.commits(request.base, head).length === 0) request.state = 'merged';
    }
  }

  #shown({ number, branch, base, body, state, closedAt }: FakeRequest): object {
    return {
      number,
      html_url: `${this.url}/${REPOSITORY}/pull/${number}`,
      state: state === 'open' ? 'open' : 'closed',
      merged_at: state === 'merged' ? '2026-01-31T09:30:00Z' : null,
      body,
      head: {
        ref: branch,
        sha: closedAt ?? this.repository.head(branch) ?? '',
        repo: { full_name: REPOSITORY },
      },
      base: { ref: base },
    };
  }
}
