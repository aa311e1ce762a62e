import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';

/** `gitlab`: as GitLab does it. `terraform`: as Terraform's documentation of the protocol says it. */
export type Rules = 'gitlab' | 'terraform';

export type Step = 'read' | 'write' | 'lock' | 'unlock';

/**
 * What goes wrong with a request: `before` it is done, or `after` it, the connection breaks; `held` is done once `letGo` is called, its
 * connection breaks before; `silent` gets no answer at all; a number is the status of an answer to what was not done.
 */
export type Fault = 'before' | 'after' | 'held' | 'silent' | number;

type Lock = { readonly ID: string; readonly [key: string]: unknown };

interface Reply {
  readonly status: number;
  readonly body?: string | Buffer | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A server of Terraform's http protocol for any number of states, one a path. */
export class TerraformServer {
  /** By path: the bodies of all writes, in order. */
  readonly versions = new Map<string, string[]>();
  readonly locks = new Map<string, Lock>();
  readonly requests: { readonly step: Step; readonly line: string }[] = [];
  /** `user:password` that each request must have; none if undefined. */
  credentials: string | undefined;
  rules: Rules = 'gitlab';
  /** Locks that are granted to everybody are none. */
  grantsAll = false;
  /** Whether a write needs the id of the lock. GitLab's does. */
  checksIds = true;
  compresses = false;
  fault: ((step: Step, line: string) => Fault | undefined) | undefined;
  /** Answers instead of all else. */
  answer: ((step: Step, request: IncomingMessage) => Reply | undefined) | undefined;
  #held: (() => void)[] = [];
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  static async start(options: Partial<TerraformServer> = {}): Promise<TerraformServer> {
    const server = Object.assign(new TerraformServer(), options);
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Settings of a state here, as the project file has them. */
  settings(path = '/state/{workspace}'): Record<string, string> {
    const gitlab = { lock_method: 'POST', unlock_method: 'DELETE' };
    return { address: `${this.url}${path}`, ...(this.rules === 'gitlab' && gitlab) };
  }

  count(step: Step): number {
    return this.requests.filter((request) => request.step === step).length;
  }

  /** The last body, parsed. */
  latest(path: string): { readonly voxform: { readonly lock?: { readonly id: string } | null } } {
    return JSON.parse(this.versions.get(path)?.at(-1) ?? '{}');
  }

  letGo(): void {
    for (const each of this.#held.splice(0)) each();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', this.url);
    const isLock = pathname.endsWith('/lock');
    const path = pathname.replace(/\/lock$/, '');
    const step = stepOf(request.method ?? '', isLock);
    const line = `${request.method} ${request.url}`;
    this.requests.push({ step, line });
    const body = await text(request);
    const fault = this.fault?.(step, line);
    if (fault === 'before') return void request.socket.destroy();
    if (fault === 'silent') return;
    if (typeof fault === 'number') return void response.writeHead(fault).end('{"message":"a fault"}');
    const carryOut = (): Reply =>
      this.answer?.(step, request) ?? this.#carryOut({ step, path, body, id: searchParams.get('ID'), request });
    if (fault === 'held') {
      this.#held.push(carryOut);
      return void request.socket.destroy();
    }
    const reply = carryOut();
    if (fault === 'after') return void request.socket.destroy();
    const isCompressed = this.compresses && reply.body !== undefined;
    response
      .writeHead(reply.status, { ...reply.headers, ...(isCompressed && { 'content-encoding': 'gzip' }) })
      .end(isCompressed ? gzipSync(reply.body ?? '') : reply.body);
  }

  #carryOut(asked: {
    readonly step: Step;
    readonly path: string;
    readonly body: string;
    readonly id: string | null;
    readonly request: IncomingMessage;
  }): Reply {
    const { step, path, request } = asked;
    const basic = this.credentials && `Basic ${Buffer.from(this.credentials).toString('base64')}`;
    if (basic !== undefined && request.headers.authorization !== basic) {
      return { status: 401, body: '{"message":"401 Unauthorized"}' };
    }
    switch (step) {
      case 'read':
        return this.#read(path);
      case 'write':
        return this.#write(asked);
      case 'lock':
        return this.#lock(asked);
      case 'unlock':
        return this.#unlock(asked);
      default:
        return { status: 405 };
    }
  }

  #read(path: string): Reply {
    const body = this.versions.get(path)?.at(-1);
    if (body !== undefined) return { status: 200, body };
    // GitLab knows a state from its first lock on.
    return { status: this.rules === 'gitlab' && this.locks.has(path) ? 204 : 404 };
  }

  #write({ path, body, id }: { path: string; body: string; id: string | null }): Reply {
    const isGitlab = this.rules === 'gitlab';
    const lock = this.locks.get(path);
    const versions = this.versions.get(path) ?? [];
    if (this.checksIds && (lock?.ID ?? null) !== id) {
      return isGitlab ? { status: 500 } : { status: lock ? 423 : 409, body: JSON.stringify(lock ?? {}) };
    }
    if (isGitlab) {
      const { serial } = JSON.parse(body);
      if (serial === undefined) return { status: 422, body: '{"message":"version cannot be empty"}' };
      const isTaken = versions.some((version) => JSON.parse(version).serial === serial);
      if (isTaken) return { status: 422, body: '{"message":"duplicate key value violates unique constraint"}' };
    }
    this.versions.set(path, [...versions, body]);
    return { status: 200 };
  }

  #lock({ path, body }: { path: string; body: string }): Reply {
    const asked = JSON.parse(body);
    const held = this.locks.get(path);
    const missing = ['ID', 'Operation', 'Info', 'Who', 'Version', 'Created', 'Path'].filter(
      (key) => typeof asked[key] !== 'string',
    );
    if (missing.length > 0) return { status: 400, body: `{"error":"${missing} is missing"}` };
    if (held !== undefined && !this.grantsAll) {
      if (this.rules === 'terraform') return { status: 423, body: JSON.stringify(held) };
      // All but three are what the asker sent.
      const { ID, Created } = held;
      return { status: 409, body: JSON.stringify({ ...asked, ID, Who: 'ann-of-gitlab', Created }) };
    }
    this.locks.set(path, asked);
    return { status: 200, body: JSON.stringify(asked) };
  }

  #unlock({ path, body, id }: { path: string; body: string; id: string | null }): Reply {
    const held = this.locks.get(path);
    const asked = id ?? (body === '' ? undefined : JSON.parse(body).ID);
    const isForced = this.rules === 'gitlab' && asked === undefined;
    if (!isForced && held?.ID !== asked) return { status: 409 };
    this.locks.delete(path);
    return { status: 200 };
  }
}

function stepOf(method: string, isLock: boolean): Step {
  if (method === 'LOCK' || (isLock && method === 'POST')) return 'lock';
  if (method === 'UNLOCK' || (isLock && method === 'DELETE')) return 'unlock';
  return method === 'GET' ? 'read' : 'write';
}
