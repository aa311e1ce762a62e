import { json } from 'node:stream/consumers';
import { type Exchange, FakeHost, page } from './fake-host.ts';

export const REPOSITORY = 'acme/voices';
export const REPOSITORY_ID = 7001;

/** GitHub's maximum length of a comment. */
const MAX_COMMENT_LENGTH = 65_536;

export interface Comment {
  readonly id: number;
  body: string;
  readonly user: { readonly id: number; readonly login: string };
}

export interface Artifact {
  readonly id: number;
  readonly name: string;
  readonly expired: boolean;
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly workflow_run: {
    readonly id: number;
    readonly head_sha: string;
    readonly repository_id: number;
    readonly head_repository_id: number;
  };
}

export interface Pull {
  readonly number: number;
  readonly head: { readonly sha: string };
  readonly base: { readonly ref: string };
  readonly merged_at: string | null;
  readonly merge_commit_sha: string | null;
}

/** The permissions of a job in a workflow. */
export type Permissions = Readonly<Record<string, string>>;

export interface Call {
  readonly method: string;
  readonly path: string;
}

/** The token with which a job requests its identity token. */
export const IDENTITY_REQUEST = 'request-of-the-job';

function identityFor(login: string | undefined, url: URL): [number, unknown] {
  if (login?.toLowerCase() !== `bearer ${IDENTITY_REQUEST}`) return [401, {}];
  return [200, { value: `token-for-${url.searchParams.get('audience')}` }];
}

/** The part of GitHub's API that the kit uses. Lists have two items per page. */
export class GithubHost extends FakeHost {
  readonly comments = new Map<number, Comment[]>();
  readonly artifacts: Artifact[] = [];
  /** Pull requests by their commit on the base branch. */
  readonly pulls = new Map<string, Pull[]>();
  readonly calls: Call[] = [];
  readonly #tokens = new Map<string, Permissions>();
  /** HTTP statuses of the next responses. */
  readonly faults: number[] = [];

  static start(): Promise<GithubHost> {
    return new GithubHost().listening();
  }

  /** Returns a token of a job that has only these permissions. */
  tokenFor(permissions: Permissions): string {
    const token = `token-${this.nextId()}`;
    this.#tokens.set(token, permissions);
    return token;
  }

  /** Revokes the permissions of all tokens. */
  revokeTokens(): void {
    this.#tokens.clear();
  }

  protected override rightsOf(token: string): 'none' | 'read' | 'write' {
    const { contents } = this.#tokens.get(token) ?? {};
    return contents === 'read' || contents === 'write' ? contents : 'none';
  }

  commentsOn(pull: number): Comment[] {
    const known = this.comments.get(pull) ?? [];
    this.comments.set(pull, known);
    return known;
  }

  protected override async answer({ request, url, send }: Exchange): Promise<void> {
    const { method = 'GET' } = request;
    this.calls.push({ method, path: url.pathname });
    if (url.pathname === '/identity') return send(...identityFor(request.headers.authorization, url));
    const fault = this.faults.shift();
    if (fault !== undefined) return void send(fault, { message: 'a fault' });
    const permissions = this.#tokens.get(request.headers.authorization?.replace('Bearer ', '') ?? '');
    if (permissions === undefined) return void send(401, { message: 'Bad credentials' });
    const path = url.pathname.replace(`/repos/${REPOSITORY}/`, '');
    const granted = permissions[path.startsWith('actions/') ? 'actions' : 'pull-requests'];
    if (granted !== 'write' && !(granted === 'read' && method === 'GET')) {
      return void send(403, { message: 'Resource not accessible by integration' });
    }
    const listed = this.#list(path, url);
    if (listed !== undefined && method === 'GET') {
      const { items, next } = page(listed, url);
      const body = path === 'actions/artifacts' ? { artifacts: items, total_count: listed.length } : items;
      return void send(200, body, next === undefined ? {} : { link: `<${next}>; rel="next", <${url}>; rel="last"` });
    }
    const [, comment] = /^issues\/comments\/(\d+)$/.exec(path) ?? [];
    const [, pull] = /^issues\/(\d+)\/comments$/.exec(path) ?? [];
    if (!(method === 'PATCH' && comment) && !(method === 'POST' && pull)) {
      return void send(404, { message: 'Not Found' });
    }
    const { body } = (await json(request)) as { body: string };
    if (body.length > MAX_COMMENT_LENGTH) return void send(422, { message: 'Body is too long' });
    if (pull !== undefined) {
      const created = { id: this.nextId(), body, user: { id: 41898282, login: 'github-actions[bot]' } };
      this.commentsOn(Number(pull)).push(created);
      return void send(201, created);
    }
    const found = [...this.comments.values()].flat().find(({ id }) => id === Number(comment));
    if (found === undefined) return void send(404, { message: 'Not Found' });
    found.body = body;
    send(200, found);
  }

  #list(path: string, url: URL): readonly unknown[] | undefined {
    const [, pull] = /^issues\/(\d+)\/comments$/.exec(path) ?? [];
    if (pull !== undefined) return this.commentsOn(Number(pull));
    const [, commit] = /^commits\/([0-9a-f]+)\/pulls$/.exec(path) ?? [];
    if (commit !== undefined) return this.pulls.get(commit) ?? [];
    if (path !== 'actions/artifacts') return undefined;
    return this.artifacts
      .filter(({ name }) => name === url.searchParams.get('name'))
      .map(({ files: _, ...shown }) => shown);
  }
}
