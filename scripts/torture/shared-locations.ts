import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { ContainerClient } from '@azure/storage-blob';
import pg from 'pg';
import { azure } from '../../src/state/backends/azure/azure-backend.ts';
import { git } from '../../src/state/backends/git/git-backend.ts';
import { http } from '../../src/state/backends/http/http-backend.ts';
import { s3 } from '../../src/state/backends/s3/s3-backend.ts';
import { createStore } from '../../src/state/state-location.ts';
import type { StateStore } from '../../src/state/store.ts';
import { Secret } from '../../src/values/value.ts';
import { azuriteContainer, hasAzurite } from '../../test/state/backends/azure/azurite.ts';
import { GitServer, newRepository } from '../../test/state/backends/git/git-server.ts';
import { type Rules, TerraformServer } from '../../test/state/backends/http/terraform-server.ts';
import { type PostgresServer, startPostgres } from '../../test/state/backends/postgres/postgres-server.ts';
import { hasRadosgw, type Radosgw, startRadosgw } from '../../test/state/backends/s3/radosgw.ts';
import { S3Server } from '../../test/state/backends/s3/s3-server.ts';
import { TcpProxy } from '../../test/state/backends/tcp-proxy.ts';
import { Skipped } from './cases.ts';
import { CAMPAIGN } from './lab.ts';
import { SECRETS } from './secrets.ts';

/** A new, empty location for a state that machines share. */
export interface SharedLocation extends AsyncDisposable {
  /** The value of `state` in the project file. */
  readonly settings: object;
  /** The variables that the settings refer to. */
  readonly env: Readonly<Record<string, string>>;
  /** The proxy between the runs and the server, if there is a server. */
  readonly proxy?: TcpProxy;
  /** Access to the state without the proxy. */
  readonly store: StateStore;
  /** Returns the stored content as text. */
  contents(): Promise<string>;
  /** Prepares the folder of a project for this location. */
  prepare?(root: string): void;
  /** Advances the clock of a server that has its own. */
  advanceClock?(seconds: number): Promise<void>;
}

/** A server or folder for one backend. */
export interface LocationKind {
  readonly backend: string;
  readonly name: string;
  /** The probability that a chunk breaks the connection. Lower where a write takes more chunks. */
  readonly cutProbability: number;
  start(): Promise<SharedLocation>;
}

export const locationKinds: readonly LocationKind[] = [
  { backend: 'git', name: 'a repository behind HTTP', cutProbability: 0.01, start: repositoryBehindHttp },
  { backend: 'git', name: 'a repository in a folder', cutProbability: 0, start: repositoryInFolder },
  { backend: 'postgres', name: 'PostgreSQL', cutProbability: 0.03, start: database },
  ...(['gitlab', 'terraform'] as const).map((rules) => ({
    backend: 'http',
    name: `a server with the rules of ${rules}`,
    cutProbability: 0.03,
    start: () => stateServer(rules),
  })),
  { backend: 's3', name: 'a server as strict as Amazon S3', cutProbability: 0.03, start: strictBucket },
  { backend: 's3', name: 'a bucket of Ceph', cutProbability: 0.03, start: cephBucket },
  { backend: 'azure', name: 'a container of Azurite', cutProbability: 0.03, start: azureContainer },
];

const TOKEN = SECRETS.STATE_TOKEN ?? '';
const OWNER = { workspace: 'test', root: '/' };
const USER = { ...CAMPAIGN, root: '/' };

async function repositoryInFolder(): Promise<SharedLocation & { readonly repository: string }> {
  const folder = mkdtempSync(path.join(tmpdir(), 'voxform-torture-git-'));
  const bare = path.join(folder, 'origin.git');
  newRepository(path.join(folder, 'first'), bare);
  const env = { PATH: process.env.PATH, HOME: folder };
  return {
    repository: bare,
    settings: { backend: 'git' },
    env: {},
    store: createStore(
      { backend: 'git', ...git.locate({ remote: bare }, OWNER) },
      {
        ...USER,
        env,
        cacheFolder: path.join(folder, 'cache'),
      },
    ),
    prepare(root) {
      if (!existsSync(path.join(root, '.git'))) newRepository(root, bare);
    },
    async contents() {
      const run = promisify(execFile);
      const args = ['-C', bare, 'cat-file', '--batch-all-objects', '--batch'];
      const { stdout } = await run('git', args, { encoding: 'latin1', maxBuffer: 2 ** 30 });
      return stdout;
    },
    async [Symbol.asyncDispose]() {
      // A push of a killed run may continue for a moment.
      rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
    },
  };
}

async function repositoryBehindHttp(): Promise<SharedLocation> {
  const { prepare: _, ...location } = await repositoryInFolder();
  const server = await GitServer.start(path.dirname(location.repository));
  server.login = `ci:${TOKEN}`;
  const proxy = await TcpProxy.start(server.port);
  const remote = `http://ci:${TOKEN}@127.0.0.1:${proxy.port}/origin.git`;
  return {
    ...location,
    settings: { backend: 'git', remote: { $secret: 'STATE_REMOTE' } },
    env: { STATE_REMOTE: remote },
    proxy,
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      await location[Symbol.asyncDispose]();
    },
  };
}

async function stateServer(rules: Rules): Promise<SharedLocation> {
  const server = await TerraformServer.start({ rules, credentials: `ci:${TOKEN}` });
  const proxy = await TcpProxy.start(Number(new URL(server.url).port));
  const { address: direct = '', ...rest } = server.settings('/state/test');
  const address = direct.replace(server.url, `http://127.0.0.1:${proxy.port}`);
  const settings = { ...rest, username: 'ci' };
  const password = new Secret('STATE_TOKEN', TOKEN);
  return {
    settings: { ...settings, backend: 'http', address, password: { $secret: 'STATE_TOKEN' } },
    env: {},
    proxy,
    store: createStore({ backend: 'http', ...http.locate({ ...settings, address: direct, password }, OWNER) }, USER),
    contents: async () => JSON.stringify([...server.versions, ...server.locks]),
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function bucket(
  settings: { readonly endpoint: string },
  location: Pick<SharedLocation, 'contents'> & AsyncDisposable,
): Promise<SharedLocation> {
  const proxy = await TcpProxy.start(Number(new URL(settings.endpoint).port));
  const secret = new Secret('STATE_TOKEN', TOKEN);
  const direct = { ...settings, key: 'test', secret_access_key: secret };
  return {
    ...location,
    settings: {
      ...direct,
      backend: 's3',
      endpoint: `http://127.0.0.1:${proxy.port}`,
      secret_access_key: { $secret: 'STATE_TOKEN' },
    },
    env: {},
    proxy,
    store: createStore({ backend: 's3', ...s3.locate(direct as never, OWNER) }, USER),
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await location[Symbol.asyncDispose]();
    },
  };
}

async function strictBucket(): Promise<SharedLocation> {
  const server = await S3Server.start();
  server.secret = TOKEN;
  const text = () => [...server.objects()].map(([key, { bytes }]) => `${key}\n${bytes.toString()}`).join('\n');
  return await bucket(server.settings(), {
    contents: async () => text(),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  });
}

async function cephBucket(): Promise<SharedLocation> {
  if (!hasRadosgw) throw new Skipped('radosgw is not installed');
  const server: Radosgw = await startRadosgw(TOKEN);
  return await bucket(server.settings(), {
    contents: () => server.contents(),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  });
}

async function azureContainer(): Promise<SharedLocation> {
  if (!hasAzurite) throw new Skipped('azurite-blob is not installed');
  const { container, connection_string: secret } = await azuriteContainer();
  const connection = secret.reveal();
  const port = /:(\d+)\/voices/.exec(connection)?.[1] ?? '';
  const proxy = await TcpProxy.start(Number(port));
  const settings = { container, name: 'test' };
  const client = new ContainerClient(connection, container);
  return {
    settings: { ...settings, backend: 'azure', connection_string: { $secret: 'STATE_CONNECTION' } },
    env: { STATE_CONNECTION: connection.replace(`:${port}/voices`, `:${proxy.port}/voices`) },
    proxy,
    store: createStore({ backend: 'azure', ...azure.locate({ ...settings, connection_string: secret }, OWNER) }, USER),
    async contents() {
      const texts: string[] = [];
      for await (const { name } of client.listBlobsFlat()) {
        const bytes = await client.getBlobClient(name).downloadToBuffer();
        texts.push(name, bytes.toString());
      }
      return texts.join('\n');
    },
    [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
  };
}

/** One server for all running cases, each of which has its own database and role. */
let databases: { readonly server: Promise<PostgresServer>; users: number } | undefined;

/** A database with its own role, behind a proxy. */
export interface OwnDatabase extends AsyncDisposable {
  /** The URL without the proxy. */
  readonly direct: string;
  readonly url: string;
  readonly proxy: TcpProxy;
  readonly server: Pick<PostgresServer, 'stop' | 'start'>;
  /** Returns all tables as text. */
  contents(): Promise<string>;
}

/** @param isAlone uses a server that no other case shares, so that it can be stopped. */
export async function ownDatabase({ isAlone = false } = {}): Promise<OwnDatabase> {
  if (!isAlone) databases ??= { server: startPostgres(), users: 0 };
  const shared = isAlone || databases === undefined ? { server: startPostgres(), users: 0 } : databases;
  shared.users += 1;
  const server = await shared.server.catch((error: Error) => {
    throw new Skipped(error.message);
  });
  const name = `voices_${randomUUID().slice(0, 8)}`;
  const root = server.url('postgres');
  await sql(root, `CREATE ROLE ${name} LOGIN PASSWORD '${TOKEN}'`);
  await sql(root, `CREATE DATABASE ${name} OWNER ${name}`);
  const proxy = await TcpProxy.start(server.port);
  const direct = `postgres://${name}:${TOKEN}@127.0.0.1:${server.port}/${name}`;
  return {
    direct,
    url: direct.replace(`:${server.port}/`, `:${proxy.port}/`),
    proxy,
    server,
    async contents() {
      const [{ all } = {}] = await sql(direct, `SELECT database_to_xml(true, true, '') AS all`);
      return String(all);
    },
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await sql(root, `DROP DATABASE ${name} WITH (FORCE)`);
      shared.users -= 1;
      if (shared.users > 0) return;
      if (shared === databases) databases = undefined;
      await server[Symbol.asyncDispose]();
    },
  };
}

async function database(): Promise<SharedLocation> {
  const { direct, url, ...own } = await ownDatabase();
  return {
    ...own,
    settings: { backend: 'postgres', url: { $secret: 'STATE_URL' } },
    env: { STATE_URL: url },
    store: createStore(
      { backend: 'postgres', url: new Secret('STATE_URL', direct), name: 'test', schema: 'voxform' },
      USER,
    ),
    async advanceClock(seconds) {
      await sql(direct, `UPDATE voxform.states SET heard = heard - interval '${seconds} s'`).catch((error) => {
        // A run that was killed early has not created the table.
        if (error.code !== '42P01') throw error;
      });
    },
  };
}

async function sql(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  // A lost connection also rejects the query.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
