import { generateKeyPairSync, type KeyObject, verify } from 'node:crypto';
import type { Exchange } from '../ci-kit/fake-host.ts';
import type { Artifact, Permissions } from '../ci-kit/github-host.ts';
import type { Files } from './bare-repository.ts';
import {
  type Call,
  type Caller,
  CodeHostFake,
  type FakeComment,
  type FakeRequest,
  type Permission,
  REPOSITORY,
} from './code-host-fake.ts';

/** GitHub's limit on the text of a pull request, and of a comment. */
const LONGEST = 65_536;
const DOCS = 'https://docs.github.com';

interface FakeApp {
  readonly publicKey: KeyObject;
  readonly installation: number;
  isInstalled: boolean;
}

/** A server of GitHub Enterprise with the features that pull requests need. It refuses the same requests as GitHub. */
export class FakeGithub extends CodeHostFake {
  /** The artifacts of jobs, which are not supported. */
  readonly artifacts: Artifact[] = [];
  /** False for an old GitHub Enterprise Server. */
  hasActivity = true;
  /** The permission of users who are not collaborators: `read` in a public repository. */
  permissionOfOthers: Permission = 'none';

  static start(files: Files, at?: string): Promise<FakeGithub> {
    return new FakeGithub(files, at).listening();
  }

  /** GitHub Apps by id, with their public keys. */
  readonly apps = new Map<number, FakeApp>();
  /** The number of milliseconds for which a token of an app is valid. */
  tokenLife = 3_600_000;

  /** Installs an app in the repository. @returns its private key. */
  installApp(id: number, { type = 'pkcs1' as 'pkcs1' | 'pkcs8' } = {}): string {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    this.apps.set(id, { publicKey, installation: this.nextId(), isInstalled: true });
    return privateKey.export({ type, format: 'pem' }).toString();
  }

  /** The issued tokens of apps, and the times at which they expire. */
  readonly issued = new Map<string, { readonly app: number; endsAt: number }>();

  protected override callerOf(token: string): Caller | undefined {
    const found = this.issued.get(token);
    if (found !== undefined && found.endsAt <= Date.now()) return undefined;
    if (found !== undefined) return { login: `app-${found.app}[bot]`, mayWrite: true, app: found.app };
    const app = this.#signedBy(token);
    return app === undefined ? super.callerOf(token) : { login: '', mayWrite: false, app, isApp: true };
  }

  /** Returns the app whose key signed a JWT, unless the JWT has expired. */
  #signedBy(token: string): number | undefined {
    const [head = '', claims = '', signature = ''] = token.split('.');
    if (signature === '') return undefined;
    const part = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString());
    const { iss, iat, exp } = part(claims);
    const app = this.apps.get(Number(iss));
    const seconds = Date.now() / 1000;
    // GitHub accepts no token for more than ten minutes.
    const isTimely = iat <= seconds && seconds < exp && exp - seconds <= 600;
    const isSigned =
      app !== undefined &&
      part(head).alg === 'RS256' &&
      verify('sha256', Buffer.from(`${head}.${claims}`), app.publicKey, Buffer.from(signature, 'base64url'));
    return isTimely && isSigned ? Number(iss) : undefined;
  }

  /** Handles the calls that need the JWT of an app. */
  #app({ method, path }: Call, send: Exchange['send'], { app, isApp }: Caller): unknown {
    const found = app === undefined ? undefined : this.apps.get(app);
    if (isApp !== true || app === undefined || found === undefined)
      return send(401, { message: 'A JSON web token could not be decoded', status: '401' });
    if (!found.isInstalled) return send(404, this.refusal(404));
    if (method === 'GET') return send(200, { id: found.installation, app_id: app });
    if (method !== 'POST' || path !== `/app/installations/${found.installation}/access_tokens`)
      return send(404, this.refusal(404));
    const token = `ghs_${this.nextId()}_of_app_${app}`;
    const endsAt = Date.now() + this.tokenLife;
    this.issued.set(token, { app, endsAt });
    return send(201, {
      token,
      expires_at: new Date(endsAt).toISOString(),
      permissions: { contents: 'read' },
      repository_selection: 'selected',
    });
  }

  /** Returns a token of a job that has only these permissions. */
  tokenFor(permissions: Permissions): string {
    const token = `token-of-job-${this.nextId()}`;
    this.tokens.set(token, permissions.contents === 'write' && permissions['pull-requests'] === 'write');
    return token;
  }

  protected override pathOf({ pathname }: URL): string | undefined {
    return /^(?:\/api(?:\/v3)?)?(\/(?:repos\/.*|user|app\/.*))$/.exec(pathname)?.[1];
  }

  protected override refusal(status: 401 | 404): object {
    return {
      message: status === 401 ? 'Bad credentials' : 'Not Found',
      documentation_url: `${DOCS}/rest`,
      status: String(status),
    };
  }

  protected override work(call: Call, exchange: Exchange, caller: Caller): unknown {
    const { method, path, body } = call;
    const { url, send } = exchange;
    const missing = () => send(404, this.refusal(404));
    if (path === `/repos/${REPOSITORY}/installation` || path.startsWith('/app/')) return this.#app(call, send, caller);
    if (caller.isApp === true) return send(401, this.refusal(401));
    if (path === '/user') {
      if (caller.app === undefined) return send(200, this.#user(caller.login));
      return send(403, { message: 'Resource not accessible by integration', status: '403' });
    }
    const [, repository = '', encoded = ''] = /^\/repos\/([^/]+\/[^/]+)(.*)$/.exec(path) ?? [];
    const rest = decodeURIComponent(encoded);
    if (method === 'GET' && rest === '/activity' && this.hasActivity) return this.#activity(repository, exchange);
    if (repository !== REPOSITORY) return missing();
    if (method !== 'GET' && !caller.mayWrite)
      return send(403, { message: 'Resource not accessible by personal access token', status: '403' });
    if (rest === '/pulls' && method === 'GET') return this.#list(exchange);
    if (rest === '/pulls') return this.#open(body, send);
    const [, number = ''] = /^\/(?:pulls|issues)\/(\d+)(?:\/\w+)?$/.exec(rest) ?? [];
    const request = this.requests.find((each) => each.number === Number(number));
    if (number !== '') {
      if (request === undefined) return missing();
      switch (`${method} ${rest.replace(/\d+/, 'N')}`) {
        case 'GET /pulls/N':
          return send(200, this.#shown(request));
        case 'PATCH /pulls/N':
          return this.#change(request, body, send);
        case 'GET /pulls/N/commits':
          return this.page(
            this.commitsOf(request)
              .slice(0, 250)
              .map((id) => this.#commit(id)),
            exchange,
          );
        case 'GET /pulls/N/reviews':
          return this.page(
            request.reviews.map(({ user, commit, at, ...review }) => ({
              ...review,
              user: this.#user(user),
              commit_id: commit,
              submitted_at: at,
              body: '',
            })),
            exchange,
          );
        case 'GET /issues/N/comments':
          return this.page(
            request.comments.map((each) => this.#comment(each)),
            exchange,
          );
        case 'POST /issues/N/comments': {
          if (isTooLong(body.body)) return this.#tooLong(send);
          const made = { id: this.nextId(), user: caller.login, app: caller.app, body: body.body };
          request.comments.push(made);
          return send(201, this.#comment(made));
        }
        default:
          return missing();
      }
    }
    const [, comment = ''] = /^\/issues\/comments\/(\d+)$/.exec(rest) ?? [];
    if (comment !== '') return this.#changeComment(Number(comment), call, send);
    const [, sha = ''] = /^\/statuses\/(\w+)$/.exec(rest) ?? [];
    if (sha !== '' && method === 'POST') return this.#setStatus(sha, body, send);
    const [, base = '', head = ''] = /^\/compare\/(.+)\.\.\.(.+)$/.exec(rest) ?? [];
    if (base !== '') return this.#compare({ base, head, page: url.searchParams.get('page') ?? '1' }, send);
    const [, login = ''] = /^\/collaborators\/([^/]+)\/permission$/.exec(rest) ?? [];
    if (login === '') return missing();
    const permission = this.collaborators.get(login) ?? this.permissionOfOthers;
    return send(200, { permission, role_name: permission, user: this.#user(login) });
  }

  #list(exchange: Exchange): void {
    const { searchParams } = exchange.url;
    const [head, base, state] = ['head', 'base', 'state'].map((name) => searchParams.get(name));
    const found = this.requests.filter(
      (each) =>
        (head === null || `${each.fork ?? 'acme'}:${each.branch}` === head) &&
        (base === null || each.base === base) &&
        (state === 'all' || (each.state === 'open') === (state !== 'closed')),
    );
    const shown = found.toReversed().map((each) => this.#shown(each));
    this.page(shown, exchange);
  }

  #activity(repository: string, exchange: Exchange): void {
    const [owner, name] = repository.split('/');
    if (name !== REPOSITORY.split('/')[1]) return void exchange.send(404, this.refusal(404));
    const ref = exchange.url.searchParams.get('ref');
    const fork = owner === 'acme' ? undefined : owner;
    const found = this.pushes.filter((each) => each.fork === fork && `refs/heads/${each.branch}` === ref);
    this.page(
      found.toReversed().map(({ id, user, kind, commit, at }) => ({
        id,
        before: '0'.repeat(40),
        after: commit,
        ref,
        timestamp: at,
        activity_type: kind,
        actor: this.#user(user),
      })),
      exchange,
    );
  }

  #compare({ base, head, page }: Readonly<Record<'base' | 'head' | 'page', string>>, send: Exchange['send']): unknown {
    const { repository } = this;
    const from = repository.find(base);
    if (from === undefined || !repository.has(head)) return send(404, this.refusal(404));
    return send(200, {
      merge_base_commit: { sha: repository.mergeBase(from, head) },
      total_commits: repository.commits(from, head).length,
      commits: [],
      ...(page === '1' && { files: repository.changed(from, head).map((filename) => ({ filename })) }),
    });
  }

  #setStatus(
    sha: string,
    { state, description = '', context, target_url: url }: Record<string, string>,
    send: Exchange['send'],
  ): unknown {
    const refused = (message: string) =>
      send(422, { message, documentation_url: `${DOCS}/rest/commits/statuses`, status: '422' });
    if (!this.repository.has(sha)) return refused(`No commit found for SHA: ${sha}`);
    if (!['error', 'failure', 'pending', 'success'].includes(state ?? '')) return refused('Validation Failed');
    if ([...description].length > 140) return refused('description is too long (maximum is 140 characters)');
    this.addStatus({ sha, state: state ?? '', description, url, name: context ?? 'default' });
    return send(201, { state, description, context, target_url: url });
  }

  #changeComment(id: number, { method, body }: Call, send: Exchange['send']): unknown {
    const comments = this.requests
      .map((each) => each.comments)
      .find((each) => each.some((comment) => comment.id === id));
    const at = comments?.findIndex((each) => each.id === id) ?? -1;
    const comment = comments?.[at];
    if (comments === undefined || comment === undefined) return send(404, this.refusal(404));
    if (method === 'DELETE') {
      comments.splice(at, 1);
      return send(204, undefined);
    }
    if (method === 'PATCH') {
      if (isTooLong(body.body)) return this.#tooLong(send);
      comment.body = body.body;
    }
    return send(200, this.#comment(comment));
  }

  #tooLong(send: Exchange['send']): void {
    const message = 'body is too long (maximum is 65536 characters)';
    send(422, {
      message: 'Validation Failed',
      errors: [{ resource: 'IssueComment', code: 'unprocessable', field: 'data', message }],
      status: '422',
    });
  }

  #user(login: string): object {
    return { login, id: this.userId(login), type: login.endsWith('[bot]') ? 'Bot' : 'User' };
  }

  #comment({ id, user, app, body }: FakeComment): object {
    return { id, body, user: this.#user(user), performed_via_github_app: app === undefined ? null : { id: app } };
  }

  #commit(sha: string): object {
    const login = this.authorOf(sha);
    const author = login === null ? null : this.#user(login);
    return { sha, author, committer: author };
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
    const made = this.newRequest({ branch: head ?? '', base: base ?? '', title: title ?? '', body: body ?? '' });
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

  /** The host closes a request whose branch is gone or has no changes. */
  protected override pushed(): void {
    const { repository } = this;
    for (const request of this.requests.filter(({ state }) => state === 'open')) {
      const head = repository.head(request.branch);
      if (head === undefined) this.close(request.number);
      else if (repository.commits(request.base, head).length === 0) request.state = 'merged';
    }
  }

  #shown(request: FakeRequest): object {
    const { number, branch, base, title, body, state, author, fork, mergedAs } = request;
    return {
      number,
      html_url: `${this.url}/${REPOSITORY}/pull/${number}`,
      title,
      state: state === 'open' ? 'open' : 'closed',
      user: author === undefined ? null : this.#user(author),
      merged_at: state === 'merged' ? '2026-01-31T09:30:00Z' : null,
      // For a request that is not merged, it is the commit of a test merge.
      merge_commit_sha: mergedAs ?? '1'.repeat(40),
      body,
      head: {
        ref: branch,
        sha: this.headOf(request) ?? '',
        repo: { full_name: fork === undefined ? REPOSITORY : `${fork}/${REPOSITORY.split('/')[1]}` },
      },
      base: { ref: base, repo: { full_name: REPOSITORY } },
    };
  }
}

function isTooLong(text: unknown): boolean {
  return typeof text === 'string' && text.length > LONGEST;
}
