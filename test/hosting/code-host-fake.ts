import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { type Exchange, FakeHost, type Send } from '../ci-kit/fake-host.ts';
import { BareRepository, type Files } from './bare-repository.ts';

export const REPOSITORY = 'acme/voices';
export const TOKEN = 'token-that-may-write-0123456789';
/** A token that may read, but not open requests. */
export const READER = 'token-that-may-read-9876543210';

/** The user of all tokens without another one. */
export const MACHINE = 'voxform-bot';

/** A fault of the first matching request. */
export interface Fault {
  /** Matches `METHOD /path`. A push is `POST /git-receive-pack`. */
  readonly on: RegExp;
  /**
   * A response that replaces the work. `cut` closes the connection before the work, `lost` after it; `pass` does the
   * work.
   */
  readonly answer:
    | 'cut'
    | 'lost'
    | 'pass'
    | {
        readonly status: number;
        readonly headers?: Readonly<Record<string, string>>;
        readonly body?: unknown;
      };
  /** Called before the work, to simulate another person. */
  act?(): void;
}

export type Permission = 'admin' | 'write' | 'read' | 'none';

export interface FakeReview {
  readonly id: number;
  readonly user: string;
  state: 'APPROVED' | 'CHANGES_REQUESTED' | 'COMMENTED' | 'DISMISSED';
  readonly commit: string;
  readonly at: string;
}

export interface FakeComment {
  readonly id: number;
  readonly user: string;
  /** The app that wrote the comment. */
  readonly app?: number | undefined;
  body: string;
}

export interface FakeRequest {
  readonly number: number;
  readonly branch: string;
  /** Undefined if the user is deleted. */
  author: string | undefined;
  /** Owner of the fork with the branch, if any. */
  readonly fork: string | undefined;
  /** Newest commit of a branch in a fork. */
  forkHead: string | undefined;
  base: string;
  title: string;
  body: string;
  state: 'open' | 'closed' | 'merged';
  /** Newest commit of the branch when the request was closed or merged. */
  closedAt?: string | undefined;
  mergedBy?: MergeMethod;
  /** Commit of the base with the changes. */
  mergedAs?: string;
  /** Commits of a merged request, which are now part of its base. */
  commits?: readonly string[];
  readonly reviews: FakeReview[];
  readonly comments: FakeComment[];
  /** The heads of the branch, with the times of their pushes. */
  readonly versions: { readonly head: string; readonly at: string }[];
}

type NewRequest = Pick<FakeRequest, 'branch' | 'base' | 'title' | 'body'> & Partial<FakeRequest>;

export type MergeMethod = 'merge' | 'squash' | 'rebase';

export interface FakePush {
  readonly id: number;
  /** Undefined for the repository itself. */
  readonly fork: string | undefined;
  readonly branch: string;
  readonly user: string;
  readonly kind: 'push' | 'force_push' | 'branch_creation' | 'branch_deletion';
  readonly commit: string;
  readonly at: string;
}

export interface FakeStatus {
  readonly sha: string;
  readonly state: string;
  readonly description: string;
  readonly url: string | undefined;
  readonly name: string;
}

export interface Call {
  readonly method: string;
  /** Relative to the address of the API, without the query. */
  readonly path: string;
  readonly query: string;
  // biome-ignore lint/suspicious/noExplicitAny: What a test looks into.
  readonly body: any;
  /** Status of the response; undefined if a fault replaced it. */
  status?: number;
}

/** The sender of a call. */
export interface Caller {
  readonly login: string;
  readonly mayWrite: boolean;
  readonly app?: number | undefined;
  /** True for the app itself, which is not an installation. */
  readonly isApp?: boolean;
}

/** A host of one repository that records all API calls. */
export abstract class CodeHostFake extends FakeHost {
  readonly repository: BareRepository;
  readonly requests: FakeRequest[] = [];
  readonly calls: Call[] = [];
  readonly faults: Fault[] = [];
  /** Whether a token may write, by token. */
  readonly tokens = new Map([
    [TOKEN, true],
    [READER, false],
  ]);

  /** The user by token; all others belong to the machine user. */
  readonly logins = new Map([[READER, 'reader']]);
  /** The permissions in the repository, by user. */
  readonly collaborators = new Map<string, Permission>([
    ['ann', 'write'],
    ['bob', 'write'],
    ['cara', 'admin'],
    [MACHINE, 'write'],
    ['reader', 'read'],
  ]);
  readonly pushes: FakePush[] = [];
  /** True if only tokens may fetch from the repository. */
  isPrivate = false;
  readonly #statuses: FakeStatus[] = [];
  /** By commit, the user to whom its author is linked; null if there is none. */
  readonly #authors = new Map<string, string | null>();
  readonly #users: string[] = [];
  #seconds = Date.parse('2026-01-31T09:30:00Z') / 1000;

  /** @param at the folder of an existing repository. */
  constructor(files: Files, at?: string) {
    super();
    this.repository = new BareRepository(REPOSITORY, files, at);
    this.repositories = this.repository.root;
  }

  /** The address of the repository for git. */
  get remote(): string {
    return `${this.url}/${REPOSITORY}.git`;
  }

  get writes(): readonly Call[] {
    return this.calls.filter(({ method }) => method !== 'GET');
  }

  /** Opens a request as a person, from a new branch if there is none. */
  openRequest({
    branch,
    base = 'main',
    title = 'A change',
    author = 'ann',
    fork,
    files = { [`${branch}.txt`]: 'new\n' },
  }: {
    readonly branch: string;
    readonly base?: string;
    readonly title?: string;
    readonly author?: string;
    /** Owner of the fork with the branch. */
    readonly fork?: string;
    readonly files?: Files;
  }): FakeRequest {
    const made = this.newRequest({ branch, base, title, body: '', author, fork });
    if (fork !== undefined) made.forkHead = this.repository.head(base);
    if (this.headOf(made) === undefined) this.repository.set(branch, this.repository.head(base));
    if (fork !== undefined || !this.pushes.some((each) => each.branch === branch)) this.push(made.number, files);
    else made.versions.push({ head: this.headOf(made) ?? '', at: this.now() });
    return made;
  }

  /**
   * Pushes a commit to the branch of a request as a person. @param as the user to whom the host links the commit's
   * author; null if the email address is unknown.
   */
  push(
    number: number,
    files: Files,
    { user, as, force = false }: { readonly user?: string; readonly as?: string | null; readonly force?: boolean } = {},
  ): string {
    const request = this.request(number);
    const { branch, fork, base } = request;
    const { repository } = this;
    const parent = force ? repository.mergeBase(base, this.headOf(request) ?? '') : this.headOf(request);
    const commit = repository.commitOn(parent, { files, message: `Change ${Object.keys(files).join(', ')}` });
    if (fork === undefined) repository.set(branch, commit);
    else request.forkHead = commit;
    const pusher = user ?? request.author ?? '';
    this.#authors.set(commit, as === undefined ? pusher : as);
    this.notePush({ branch, fork, user: pusher, kind: force ? 'force_push' : 'push', commit });
    request.versions.push({ head: commit, at: this.now() });
    return commit;
  }

  notePush(push: Omit<FakePush, 'id' | 'at'>): void {
    this.pushes.push({ ...push, id: this.nextId(), at: this.now() });
  }

  /** Reviews the newest commit of a request as a person; `dismiss` removes the last review. */
  review(number: number, user: string, act: 'approve' | 'request-changes' | 'comment' | 'dismiss'): void {
    const { reviews, ...request } = this.request(number);
    const last = reviews.findLast((each) => each.user === user && each.state !== 'COMMENTED');
    if (act === 'dismiss') {
      if (last === undefined) throw new Error(`${user} has not reviewed ${number}`);
      last.state = 'DISMISSED';
      return;
    }
    const state = ({ approve: 'APPROVED', 'request-changes': 'CHANGES_REQUESTED', comment: 'COMMENTED' } as const)[act];
    const commit = this.headOf({ reviews, ...request }) ?? '';
    reviews.push({ id: this.nextId(), user, state, commit, at: this.now() });
  }

  /** Merges a request as a person. @returns the commit of its base. */
  mergeBy(number: number, method: MergeMethod): string {
    const request = this.request(number);
    const { repository } = this;
    const [base, head] = [repository.head(request.base) ?? '', this.headOf(request) ?? ''];
    request.commits = repository.commits(base, head).map(({ id }) => id);
    request.mergedAs = this.merged(request, method);
    request.mergedBy = method;
    request.state = 'merged';
    request.closedAt = head;
    repository.set(request.base, request.mergedAs);
    return request.mergedAs;
  }

  merge(number: number): void {
    this.mergeBy(number, 'squash');
  }

  /** Closes a request as a person. */
  close(number: number): void {
    const request = this.request(number);
    request.closedAt = this.headOf(request);
    request.state = 'closed';
  }

  closeRequest(number: number): void {
    this.close(number);
  }

  /** Reopens a closed request as a person. */
  reopen(number: number): void {
    const request = this.request(number);
    if (request.state !== 'closed') throw new Error(`${number} is ${request.state}`);
    request.state = 'open';
    request.closedAt = undefined;
  }

  /** Returns the comments of a request, which a test may change. */
  comments(number: number): FakeComment[] {
    return this.request(number).comments;
  }

  /** Comments on a request as a person. */
  comment(number: number, user: string, body: string): FakeComment {
    const made = { id: this.nextId(), user, body };
    this.comments(number).push(made);
    return made;
  }

  /** Returns the statuses of a commit, oldest first. */
  statuses(sha: string): readonly FakeStatus[] {
    return this.#statuses.filter((each) => each.sha === sha);
  }

  /** Deletes a branch as a person: the host closes its request. */
  delete(branch: string): void {
    for (const { number } of this.requests.filter((each) => each.branch === branch && each.state === 'open'))
      this.close(number);
    this.repository.set(branch, undefined);
  }

  /** Returns the newest commit of a request. */
  headOf({ closedAt, fork, forkHead, branch }: FakeRequest): string | undefined {
    return closedAt ?? (fork === undefined ? this.repository.head(branch) : forkHead);
  }

  request(number: number): FakeRequest {
    const found = this.requests.find((each) => each.number === number);
    if (found === undefined) throw new Error(`there is no request ${number}`);
    return found;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    this.repository[Symbol.dispose]();
  }

  protected newRequest(wanted: NewRequest): FakeRequest {
    const made: FakeRequest = {
      author: MACHINE,
      fork: undefined,
      forkHead: undefined,
      reviews: [],
      comments: [],
      versions: [],
      ...wanted,
      number: this.nextId(),
      state: 'open',
    };
    this.requests.push(made);
    return made;
  }

  /** Creates a commit with the changes of a request on top of its base. */
  protected merged(request: FakeRequest, method: MergeMethod): string {
    const { repository } = this;
    const [base, head] = [repository.head(request.base) ?? '', this.headOf(request) ?? ''];
    const filesOf = (from: string, to: string): Files =>
      Object.fromEntries(repository.changed(from, to).map((name) => [name, repository.text(to, name) ?? null]));
    const begin = repository.mergeBase(base, head);
    const files = filesOf(begin, head);
    if (method === 'squash') return repository.commitOn(base, { files, message: request.title });
    if (method === 'merge')
      return repository.commitOn(base, { files, message: `Merge ${request.branch}`, merged: head });
    let [before, merged] = [begin, base];
    for (const { id, message } of repository.commits(base, head)) {
      merged = repository.commitOn(merged, { files: filesOf(before, id), message });
      before = id;
    }
    return merged;
  }

  /** Returns a time that is one second later with each call. */
  protected now(): string {
    return new Date(++this.#seconds * 1000).toISOString();
  }

  protected userId(login: string): number {
    if (!this.#users.includes(login)) this.#users.push(login);
    return 1000 + this.#users.indexOf(login);
  }

  protected authorOf(commit: string): string | null {
    return this.#authors.get(commit) ?? null;
  }

  protected commitsOf(request: FakeRequest): readonly string[] {
    const { base } = request;
    return request.commits ?? this.repository.commits(base, this.headOf(request) ?? '').map(({ id }) => id);
  }

  protected addStatus(status: FakeStatus): void {
    this.#statuses.push(status);
  }

  /** Returns the path relative to the API; undefined for other paths. */
  protected abstract pathOf(url: URL): string | undefined;
  protected abstract work(call: Call, exchange: Exchange, caller: Caller): unknown;
  /** Returns the body of a refusal. */
  protected abstract refusal(status: 401 | 404): unknown;

  protected callerOf(token: string): Caller | undefined {
    const mayWrite = this.tokens.get(token);
    return mayWrite === undefined ? undefined : { login: this.logins.get(token) ?? MACHINE, mayWrite };
  }

  /** Sends a page of a list, and the address of the next one. */
  protected page(list: readonly unknown[], { url, send }: Exchange): void {
    const size = Math.min(Number(url.searchParams.get('per_page') ?? 30), 100);
    const number = Number(url.searchParams.get('page') ?? 1);
    const at = (page: number, rel: string) => {
      const address = new URL(url);
      address.searchParams.set('page', String(page));
      return `<${address}>; rel="${rel}"`;
    };
    const pages = Math.ceil(list.length / size);
    const links = [
      ...(number > 1 ? [at(number - 1, 'prev')] : []),
      ...(number < pages ? [at(number + 1, 'next'), at(pages, 'last')] : []),
    ];
    const headers = links.length === 0 ? {} : { link: links.join(', ') };
    send(200, list.slice((number - 1) * size, number * size), headers);
  }

  protected override rightsOf(token: string): 'none' | 'read' | 'write' {
    const caller = this.callerOf(token);
    if (caller === undefined && this.isPrivate) return 'none';
    return caller?.mayWrite === true ? 'write' : 'read';
  }

  protected override async answer(exchange: Exchange): Promise<void> {
    const { request, response, url } = exchange;
    const path = this.pathOf(url);
    if (path === undefined) return void exchange.send(404, this.refusal(404));
    const { method = 'GET' } = request;
    const sent = await text(request);
    const body: Call['body'] = sent === '' ? undefined : JSON.parse(sent);
    const call: Call = { method, path, query: url.search, body };
    const send: Send = (status, answer, headers = {}) => {
      const tag = `W/"${hash('sha256', JSON.stringify([answer, headers.link]))}"`;
      const isUnchanged = method === 'GET' && status === 200 && request.headers['if-none-match'] === tag;
      call.status = isUnchanged ? 304 : status;
      if (isUnchanged) response.writeHead(304, { etag: tag }).end();
      else exchange.send(status, answer, { ...headers, ...(method === 'GET' && status === 200 && { etag: tag }) });
    };
    const fault = this.#called(call, { ...exchange, send });
    if (fault === 'answered') return;
    const lost: Send = () => request.socket.destroy() as never;
    const caller = this.callerOf(tokenIn(request) ?? '');
    if (caller === undefined) return void send(401, this.refusal(401));
    this.work(call, { ...exchange, send: fault === 'lost' ? lost : send }, caller);
    if (!response.writableEnded && !request.socket.destroyed) throw new Error(`no answer to ${path}`);
  }

  protected override async git(exchange: Exchange): Promise<void> {
    const { request, response } = exchange;
    const isPush = request.method === 'POST' && exchange.url.pathname.endsWith('/git-receive-pack');
    if (!isPush) return super.git(exchange);
    const fault = this.#called({ method: 'POST', path: '/git-receive-pack', query: '', body: undefined }, exchange);
    if (fault === 'answered') return;
    if (fault === 'lost') response.writeHead = () => request.socket.destroy() as never;
    await super.git(exchange);
    this.pushed();
  }

  /** Called after a push. */
  protected pushed(): void {}

  /** Records a call, and executes its fault. */
  #called(call: Call, { request, send }: Exchange): 'answered' | 'lost' | undefined {
    this.calls.push(call);
    const at = this.faults.findIndex(({ on }) => on.test(`${call.method} ${call.path} `));
    const [fault] = at === -1 ? [] : this.faults.splice(at, 1);
    fault?.act?.();
    if (fault?.answer === 'lost') return 'lost';
    if (fault === undefined || fault.answer === 'pass') return undefined;
    if (fault.answer === 'cut') request.socket.destroy();
    else send(fault.answer.status, fault.answer.body ?? { message: 'a fault' }, fault.answer.headers);
    return 'answered';
  }
}

function tokenIn({ headers }: IncomingMessage): string | undefined {
  return /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? (headers['private-token'] as string | undefined);
}
