import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gitAnswer } from '../git-http-backend.ts';

export type Send = (status: number, body: unknown, headers?: Readonly<Record<string, string>>) => void;

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  /** Responds with JSON. */
  readonly send: Send;
}

/** A server on loopback that replaces the API of a CI host. */
export abstract class FakeHost implements AsyncDisposable {
  readonly #server = createServer((request, response) => {
    const send: Send = (status, body, headers = {}) =>
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
    const exchange = { request, response, url: new URL(request.url ?? '/', this.url), send };
    const answered = exchange.url.pathname.includes('.git/') ? this.git(exchange) : this.answer(exchange);
    answered.catch((error) => response.writeHead(500).end(String(error)));
  });
  #ids = 100;
  #port = 0;
  /** The folder of the repositories that it serves. */
  repositories = '';

  async listening(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
    return this;
  }

  /** Refuses connections until it listens again. */
  async away(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  nextId(): number {
    return ++this.#ids;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.away();
  }

  protected abstract answer(exchange: Exchange): Promise<void>;

  /** Returns the permissions of a token in the repository. */
  protected abstract rightsOf(token: string): 'none' | 'read' | 'write';

  protected async git(exchange: Exchange): Promise<void> {
    const { request, response, url } = exchange;
    const [, basic = ''] = /^basic (.*)$/i.exec(request.headers.authorization ?? '') ?? [];
    const [, token = ''] = Buffer.from(basic, 'base64').toString().split(':');
    const rights = this.rightsOf(token);
    const headers = request.rawHeaders.filter((name, at) => at % 2 === 0 && /^authorization$/i.test(name));
    if (headers.length > 1) {
      // GitHub responds like this.
      response.writeHead(400).end('Duplicate header: "Authorization"');
    } else if (rights === 'none') {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
    } else if (rights === 'read' && url.href.includes('git-receive-pack')) {
      response.writeHead(403).end();
    } else (await gitAnswer(request, this.repositories))(response);
  }
}

const PAGE_SIZE = 2;

/** Returns the items of the requested page, and the URL of the next page. */
export function page(list: readonly unknown[], url: URL): { readonly items: readonly unknown[]; readonly next?: URL } {
  const number = Number(url.searchParams.get('page') ?? 1);
  const items = list.slice((number - 1) * PAGE_SIZE, number * PAGE_SIZE);
  if (number * PAGE_SIZE >= list.length) return { items };
  const next = new URL(url);
  next.searchParams.set('page', String(number + 1));
  return { items, next };
}
