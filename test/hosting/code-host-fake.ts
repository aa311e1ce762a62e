import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { type Exchange, FakeHost, type Send } from '../ci-kit/fake-host.ts';
import { BareRepository, type Files } from './bare-repository.ts';

export const REPOSITORY = 'acme/voices';
export const TOKEN = 'token-that-may-write-0123456789';
/** That may read, and open nothing. */
export const READER = 'token-that-may-read-9876543210';

/** What goes wrong once, with the first request that fits. */
export interface Fault {
  /** Of `METHOD /path`. A push is `POST /git-receive-pack`. */
  readonly on: RegExp;
  /** An answer instead of the work; `cut` closes the connection before it, `lost` after it; `pass` does it. */
  readonly answer:
    | 'cut'
    | 'lost'
    | 'pass'
    | {
        readonly status: number;
        readonly headers?: Readonly<Record<string, string>>;
        readonly body?: unknown;
      };
  /** Before the work: what somebody else does in between. */
  act?(): void;
}

export interface FakeRequest {
  readonly number: number;
  readonly branch: string;
  base: string;
  title: string;
  body: string;
  state: 'open' | 'closed' | 'merged';
  /** Newest commit of the branch, when it was closed or merged. */
  closedAt?: string | undefined;
}

export interface Call {
  readonly method: string;
  /** Below the address of the API, without the query. */
  readonly path: string;
  // biome-ignore lint/suspicious/noExplicitAny: What a test looks into.
  readonly body: any;
}

/** A host of one repository, in which all that its API does can be seen. */
export abstract class CodeHostFake extends FakeHost {
  readonly repository: BareRepository;
  readonly requests: FakeRequest[] = [];
  readonly calls: Call[] = [];
  readonly faults: Fault[] = [];
  /** By token, whether it may write. */
  readonly tokens = new Map([
    [TOKEN, true],
    [READER, false],
  ]);

  /** @param at the folder of a repository that is there already. */
  constructor(files: Files, at?: string) {
    super();
    this.repository = new BareRepository(REPOSITORY, files, at);
    this.repositories = this.repository.root;
  }

  /** Address of the repository for git. */
  get remote(): string {
    return `${this.url}/${REPOSITORY}.git`;
  }

  get writes(): readonly Call[] {
    return this.calls.filter(({ method }) => method !== 'GET');
  }

  /** A person merges a request, as one commit. */
  merge(number: number): void {
    const request = this.request(number);
    const { repository } = this;
    const [base, head] = [repository.head(request.base) ?? '', repository.head(request.branch) ?? ''];
    const files = Object.fromEntries(
      repository
        .changed(repository.mergeBase(base, head), head)
        .map((name) => [name, repository.text(head, name) ?? null]),
    );
    repository.push(request.base, files, request.title);
    request.state = 'merged';
    request.closedAt = head;
  }

  /** A person closes a request. */
  close(number: number): void {
    const request = this.request(number);
    request.state = 'closed';
    request.closedAt = this.repository.head(request.branch);
  }

  /** A person deletes a branch: the host closes its request. */
  delete(branch: string): void {
    for (const { number } of this.requests.filter((each) => each.branch === branch && each.state === 'open'))
      this.close(number);
    this.repository.set(branch, undefined);
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

  /** Path below the API; undefined for what is none of it. */
  protected abstract pathOf(url: URL): string | undefined;
  protected abstract work(call: Call, exchange: Exchange, mayWrite: boolean): unknown;

  protected override rightsOf(token: string): 'none' | 'read' | 'write' {
    return this.tokens.get(token) === true ? 'write' : 'read';
  }

  protected override async answer(exchange: Exchange): Promise<void> {
    const { request, response, url, send } = exchange;
    const path = this.pathOf(url);
    if (path === undefined) return void send(404, { message: 'Not Found' });
    const { method = 'GET' } = request;
    const body: Call['body'] = method === 'GET' ? undefined : await json(request);
    const call: Call = { method, path, body };
    const fault = this.#called(call, exchange);
    if (fault === 'answered') return;
    const lost: Send = () => request.socket.destroy() as never;
    const mayWrite = this.tokens.get(tokenIn(request) ?? '');
    if (mayWrite === undefined) return void send(401, { message: 'Bad credentials' });
    this.work(call, { ...exchange, ...(fault === 'lost' && { send: lost }) }, mayWrite);
    if (!response.writableEnded && !request.socket.destroyed) throw new Error(`no answer to ${path}`);
  }

  protected override async git(exchange: Exchange): Promise<void> {
    const { request, response } = exchange;
    const isPush = request.method === 'POST' && exchange.url.pathname.endsWith('/git-receive-pack');
    if (!isPush) return super.git(exchange);
    const fault = this.#called({ method: 'POST', path: '/git-receive-pack', body: undefined }, exchange);
    if (fault === 'answered') return;
    if (fault === 'lost') response.writeHead = () => request.socket.destroy() as never;
    await super.git(exchange);
    this.pushed();
  }

  /** After a push. */
  protected pushed(): void {}

  /** Notes a call, and has the fault for it happen. */
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
