import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';

/** `gitlab`: the behavior of GitLab. `terraform`: Terraform's documentation of the protocol. */
export type Rules = 'gitlab' | 'terraform';

export type Step = 'read' | 'write' | 'lock' | 'unlock';

/**
 * A fault of a request. `before` and `after`: the connection breaks before or after the operation. `held`: the
 * connection breaks first, and the operation runs when `letGo` is called. `silent`: no response. A number: a response
 * with this status and no operation.
 */
export type Fault = 'before' | 'after' | 'held' | 'silent' | number;

type Lock = { readonly ID: string; readonly [key: string]: unknown };

interface Reply {
  readonly status: number;
  readonly body?: string | Buffer | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A server of Terraform's http protocol for any number of states, one per path. */
export class TerraformServer {
  /** The bodies of all writes, in order, by path. */
  readonly versions = new Map<string, string[]>();
  readonly locks = new Map<string, Lock>();
  readonly requests: { readonly step: Step; readonly line: string }[] = [];
  /** `user:password` that each request must have. No authentication if undefined. */
  credentials: string | undefined;
  rules: Rules = 'gitlab';
  /** Grants every lock request, so that locks have no effect. */
  grantsAll = false;
  /** Whether a write needs the lock id. GitLab's does. */
  checksIds = true;
  compresses = false;
  fault: ((step: Step, line: string) => Fault | undefined) | undefined;
  /** Returns a response that replaces the normal one. */
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

  /** Returns the project file's settings of a state on this server. */
  settings(path = '/state/{workspace}'): Record<string, string> {
    const gitlab = { lock_method: 'POST', unlock_method: 'DELETE' };
    return { address: `${this.url}${path}`, ...(this.rules === 'gitlab' && gitlab) };
  }

  count(step: Step): number {
    return this.requests.filter((request) => request.step === step).length;
  }

  /** Returns the last body, parsed. */
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
    // GitLab creates a state with its first lock.
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
      // All but three fields are those of the request.
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
