import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';

/** Must not be used against a server of this process, which cannot answer meanwhile. */
export function git(folder: string, ...args: string[]): string {
  return execFileSync('git', ['-C', folder, '-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();
}

/** Makes the folder a repository with a commit, whose remote `origin` is a bare one. @returns the path of that. */
export function newRepository(folder: string, bare = path.join(folder, 'origin.git')): string {
  mkdirSync(folder, { recursive: true });
  execFileSync('git', ['init', '--quiet', '--bare', '--template=', bare]);
  execFileSync('git', ['init', '--quiet', '--template=', '-b', 'main', folder]);
  git(folder, 'remote', 'add', 'origin', bare);
  git(folder, 'commit', '--quiet', '--allow-empty', '-m', 'manifests');
  return bare;
}

/** What becomes of a request: nothing more is done than to `cut` it, or its answer is `swallowed` once all is done. */
export type Fault = 'cut' | 'swallowed' | undefined;

/** A server of repositories as hosts have it: `git http-backend` behind HTTP, with a password. */
export class GitServer implements AsyncDisposable {
  readonly #server: Server;
  readonly #folder: string;
  /** `user:password`; everybody may read and write where it is undefined. */
  login: string | undefined;
  /** Asked at each request. */
  fault: ((request: string) => Fault) | undefined;
  readonly requests: string[] = [];

  private constructor(server: Server, folder: string) {
    this.#server = server;
    this.#folder = folder;
  }

  /** @param folder holds the repositories. */
  static async start(folder: string): Promise<GitServer> {
    const server = createServer();
    const started = new GitServer(server, folder);
    server.on('request', (request, response) => {
      started.#answer(request, response).catch(() => response.destroy());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return started;
  }

  /** @param login stands in front of the host, as in `ann:pw`. */
  address(repository: string, login?: string): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://${login === undefined ? '' : `${login}@`}127.0.0.1:${port}/${repository}`;
  }

  get pushes(): number {
    return this.requests.filter((each) => each.startsWith('POST') && each.endsWith('/git-receive-pack'))
      .length;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
    const name = `${request.method} ${pathname}${searchParams.size > 0 ? `?${searchParams}` : ''}`;
    const login = this.login && `Basic ${Buffer.from(this.login).toString('base64')}`;
    if (login !== undefined && request.headers.authorization !== login) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      return;
    }
    this.requests.push(name);
    const fault = this.fault?.(name);
    if (fault === 'cut') {
      request.socket.destroy();
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const child = spawn('git', ['http-backend'], {
      env: {
        ...process.env,
        GIT_PROJECT_ROOT: this.#folder,
        GIT_HTTP_EXPORT_ALL: '1',
        REMOTE_USER: 'tester',
        REQUEST_METHOD: request.method,
        PATH_INFO: pathname,
        QUERY_STRING: searchParams.toString(),
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: String(request.headers['content-encoding'] ?? ''),
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    child.stdin.on('error', () => undefined);
    child.stdin.end(Buffer.concat(chunks));
    const out: Buffer[] = [];
    for await (const chunk of child.stdout) out.push(chunk);
    if (fault === 'swallowed') {
      request.socket.destroy();
      return;
    }
    const all = Buffer.concat(out);
    const end = all.indexOf('\r\n\r\n');
    const headers = all.subarray(0, end).toString().split('\r\n');
    let status = 200;
    for (const header of headers) {
      const [key = '', value = ''] = header.split(/: (.*)/s);
      if (key === 'Status') status = Number.parseInt(value, 10);
      else response.setHeader(key, value);
    }
    response.writeHead(status).end(all.subarray(end + 4));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
