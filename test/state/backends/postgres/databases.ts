import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import type { StoreUser } from '../../../../src/state/backends/backend.ts';
import { postgres } from '../../../../src/state/backends/postgres/postgres-backend.ts';
import { createStore } from '../../../../src/state/state-location.ts';
import type { StateStore } from '../../../../src/state/store.ts';
import { Secret } from '../../../../src/values/value.ts';
import { postgresServer } from './postgres-server.ts';

export interface Database {
  readonly name: string;
  /** The URL of the database for its superuser. */
  readonly url: string;
  /** Returns the URL with some parts replaced. */
  urlWith(parts: { readonly user?: string; readonly password?: string; readonly port?: number }): string;
  /** Executes statements as the superuser. Returns the rows of the last one. */
  sql(text: string): Promise<Record<string, unknown>[]>;
  /** Creates a role that may log in with the password `p`. */
  role(rights?: string): Promise<string>;
}

/** Creates a database for a test on the shared server. It is removed with the server. */
export async function freshDatabase(options = ''): Promise<Database> {
  const server = await postgresServer();
  const name = `test_${randomUUID().slice(0, 8)}`;
  const url = server.url(name);
  // Copying the files of an empty database is faster than logging each of its pages.
  await asSuperuser(server.url('postgres'), `CREATE DATABASE ${name} STRATEGY FILE_COPY ${options}`);
  return {
    name,
    url,
    sql: (text) => asSuperuser(url, text),
    urlWith(parts) {
      const changed = new URL(url);
      if (parts.user !== undefined) changed.username = parts.user;
      if (parts.password !== undefined) changed.password = encodeURIComponent(parts.password);
      if (parts.port !== undefined) changed.port = String(parts.port);
      return changed.href;
    },
    async role(rights = '') {
      const role = `role_${randomUUID().slice(0, 8)}`;
      await asSuperuser(url, `CREATE ROLE ${role} LOGIN PASSWORD 'p' ${rights}`);
      return role;
    },
  };
}

async function asSuperuser(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  // A lost connection also rejects the query.
  client.on('error', () => undefined);
  await client.connect();
  try {
    const result: unknown = await client.query(text);
    const last = Array.isArray(result) ? result.at(-1) : result;
    return (last as pg.QueryResult).rows;
  } finally {
    await client.end();
  }
}

export interface Opening extends Partial<StoreUser> {
  readonly schema?: string;
  readonly name?: string;
}

/** Returns a store of a separate process with its own project folder. */
export async function storeIn(url: string, { schema, name, ...user }: Opening = {}): Promise<StateStore> {
  const root = await mkdtemp(join(tmpdir(), 'voxform-postgres-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const settings = { url: new Secret('STATE_URL', url), schema, name };
  return createStore(
    { backend: 'postgres', ...postgres.locate(settings, { workspace: 'staging', root }) },
    {
      root,
      host: 'here',
      user: 'ann',
      pid: process.pid,
      version: '0.0.0',
      now: () => new Date(),
      ...user,
    },
  );
}
