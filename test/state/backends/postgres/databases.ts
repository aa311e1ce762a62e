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
  /** As its superuser. */
  readonly url: string;
  /** The address with other parts. */
  urlWith(parts: { readonly user?: string; readonly password?: string; readonly port?: number }): string;
  /** Statements as its superuser; the rows of the last one. */
  sql(text: string): Promise<Record<string, unknown>[]>;
  /** A role that may log in with the password `p`. */
  role(rights?: string): Promise<string>;
}

/** A database of the test's own on the server that is shared, with which it goes. */
export async function freshDatabase(options = ''): Promise<Database> {
  const server = await postgresServer();
  const name = `test_${randomUUID().slice(0, 8)}`;
  const url = server.url(name);
  // To copy the files of an empty one takes less than to log each of its pages.
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

/** A store as a process of its own has it, with its own project folder. */
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
