import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gitAnswer } from '../../../git-http-backend.ts';

/** Runs git. Must not be used against a server of this process, which cannot respond meanwhile. */
export function git(folder: string, ...args: string[]): string {
  return execFileSync('git', ['-C', folder, '-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();
}

/**
 * Creates a repository with a commit, whose remote `origin` is a bare one. @returns the path of the bare repository.
 */
export function newRepository(folder: string, bare = path.join(folder, 'origin.git')): string {
  newClone(folder, bare);
  if (!existsSync(bare)) newBare(bare);
  return bare;
}

/** Creates a repository with a commit and this address as its remote `origin`. */
export function newClone(folder: string, origin: string): void {
  cpSync(path.join(template(), 'clone'), folder, { recursive: true });
  const fetch = '+refs/heads/*:refs/remotes/origin/*';
  const remote = `[remote "origin"]\n\turl = ${JSON.stringify(origin)}\n\tfetch = ${fetch}\n`;
  appendFileSync(path.join(folder, '.git/config'), remote);
}

/** Creates an empty repository that accepts pushes, over HTTP too. */
export function newBare(folder: string): string {
  cpSync(path.join(template(), 'bare'), folder, { recursive: true });
  return folder;
}

let made: string | undefined;

/** Returns the template of new repositories, because creating one takes several processes. */
function template(): string {
  if (made !== undefined) return made;
  const folder = mkdtempSync(path.join(tmpdir(), 'voxform-git-template-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const [clone, bare] = [path.join(folder, 'clone'), path.join(folder, 'bare')];
  execFileSync('git', ['init', '--quiet', '--bare', '--template=', bare]);
  // Everyone with the address may push. As on hosts, maintenance does not run after a push.
  appendFileSync(path.join(bare, 'config'), '[http]\n\treceivepack = true\n[receive]\n\tautogc = false\n');
  execFileSync('git', ['init', '--quiet', '--template=', '-b', 'main', clone]);
  git(clone, 'commit', '--quiet', '--allow-empty', '-m', 'manifests');
  made = folder;
  return folder;
}

/** A fault of a request: `cut` does nothing, `swallowed` does everything but sends no response. */
export type Fault = 'cut' | 'swallowed' | undefined;

/** A server of repositories like that of a host: `git http-backend` behind HTTP, with a password. */
export class GitServer implements AsyncDisposable {
  readonly #server: Server;
  readonly #folder: string;
  /** `user:password`. If undefined, everyone may read and write. */
  login: string | undefined;
  /** Called for each request. */
  fault: ((request: string) => Fault) | undefined;
  /** The origin of a server to which all requests are redirected. */
  redirect: string | undefined;
  /** No request gets a response before this promise resolves. */
  held: Promise<void> | undefined;
  /** The number of requests that were aborted before their response. */
  abandoned = 0;
  readonly requests: string[] = [];
  /** All received `Authorization` headers. */
  readonly authorizations: string[] = [];

  private constructor(server: Server, folder: string) {
    this.#server = server;
    this.#folder = folder;
  }

  /** @param folder contains the repositories. */
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

  /** @param login precedes the host, as in `ann:pw`. */
  address(repository: string, login?: string): string {
    return `http://${login === undefined ? '' : `${login}@`}127.0.0.1:${this.port}/${repository}`;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get pushes(): number {
    return this.requests.filter((each) => each.startsWith('POST') && each.endsWith('/git-receive-pack')).length;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
    const name = `${request.method} ${pathname}${searchParams.size > 0 ? `?${searchParams}` : ''}`;
    const { authorization } = request.headers;
    if (authorization !== undefined) this.authorizations.push(authorization);
    if (this.redirect !== undefined) {
      response.writeHead(302, { location: new URL(request.url ?? '/', this.redirect).href }).end();
      return;
    }
    const login = this.login && `Basic ${Buffer.from(this.login).toString('base64')}`;
    if (login !== undefined && authorization !== login) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      return;
    }
    if (request.rawHeaders.filter((each) => each.toLowerCase() === 'authorization').length > 1) {
      response.writeHead(400).end('Duplicate header');
      return;
    }
    this.requests.push(name);
    response.once('close', () => {
      if (!response.writableEnded) this.abandoned++;
    });
    await this.held;
    const fault = this.fault?.(name);
    if (fault === 'cut') {
      request.socket.destroy();
      return;
    }
    const send = await gitAnswer(request, this.#folder);
    if (fault === 'swallowed') {
      request.socket.destroy();
      return;
    }
    send(response);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
