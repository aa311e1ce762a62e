import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { UserError } from '../../../../src/problems/user-error.ts';
import { addressOf } from '../../../../src/state/backends/postgres/address.ts';
import { databaseAt } from '../../../../src/state/backends/postgres/database.ts';
import { problemOf } from '../../../../src/state/backends/postgres/problems.ts';
import { failureOf, lockRequest } from '../../temporary-state.ts';
import { TcpProxy } from '../tcp-proxy.ts';
import { type Database, freshDatabase, storeIn } from './databases.ts';
import { postgresServer } from './postgres-server.ts';

interface Failure {
  readonly reason: string;
  url(database: Database): string | Promise<string>;
  /** Locks instead of only reading. */
  readonly locks?: boolean;
  readonly message: string;
  readonly hint: string;
}

const failures: readonly Failure[] = [
  {
    reason: 'a wrong password',
    url: async (database) => database.urlWith({ user: await database.role(), password: 'not-this-one' }),
    message: 'password authentication failed',
    hint: 'Correct the user and the password in state.url.',
  },
  {
    reason: 'no password',
    url: async (database) => database.urlWith({ user: await database.role(), password: '' }),
    message: 'password',
    hint: 'Correct the user and the password in state.url.',
  },
  {
    reason: 'an unknown host',
    url: () => 'postgres://ann:not-this-one@db.invalid/voxform',
    message: 'cannot use the state postgres://db.invalid:5432/voxform staging: no such host',
    hint: 'Correct the host in state.url.',
  },
  {
    reason: 'a port without a listener',
    url: (database) => database.urlWith({ port: 1 }),
    message: ': connection refused',
    hint: 'Start PostgreSQL, or correct the host and the port in state.url.',
  },
  {
    reason: 'a database that does not exist',
    url: async () => (await postgresServer()).url('no_such_database'),
    message: 'database "no_such_database" does not exist',
    hint: 'Create the database, or correct its name in state.url.',
  },
  {
    reason: 'no permission to create the schema',
    url: async (database) => database.urlWith({ user: await database.role(), password: 'p' }),
    locks: true,
    message: 'permission denied for database',
    hint: 'Have an administrator of the database run the output of: voxform state init --sql',
  },
  {
    reason: 'no permission on the existing schema',
    url: async (database) => {
      await (await (await storeIn(database.url)).lock(lockRequest())).release();
      return database.urlWith({ user: await database.role(), password: 'p' });
    },
    message: 'permission denied for schema voxform',
    hint: 'Have an administrator of the database run the output of: voxform state init --sql',
  },
  {
    reason: 'a read-only server, such as a standby',
    url: async (database) => {
      const role = await database.role('SUPERUSER');
      await database.sql(`ALTER ROLE ${role} SET default_transaction_read_only = on`);
      return database.urlWith({ user: role, password: 'p' });
    },
    locks: true,
    message: 'is read-only',
    hint: 'Point state.url to the primary server.',
  },
  {
    reason: 'a server without TLS if TLS is required',
    url: (database) => `${database.url}?sslmode=require`,
    message: 'has no TLS',
    hint: 'use sslmode=prefer in state.url',
  },
  {
    reason: 'an encoding that does not support every name',
    url: async () => (await freshDatabase("ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")).url,
    message: 'has the encoding LATIN1, not UTF8',
    hint: 'ENCODING UTF8',
  },
  {
    reason: 'no address',
    url: () => 'mysql://ann:not-this-one@127.0.0.1/voxform',
    message: 'state.url (STATE_URL) is not the address of a PostgreSQL database',
    hint: 'postgres://USER:PASSWORD@HOST:5432/DATABASE',
  },
  {
    reason: 'a password that ends the address early',
    url: () => 'postgres://ann:12?not-this-one@127.0.0.1/voxform',
    message: 'is not the address of a PostgreSQL database',
    hint: 'Percent-encode special characters',
  },
  {
    reason: 'an sslmode that does not exist',
    url: (database) => `${database.url}?sslmode=always`,
    message: 'unknown sslmode "always"',
    hint: 'verify-full',
  },
  {
    reason: 'a certificate authority that cannot be read',
    url: (database) => `${database.url}?sslmode=verify-full&sslrootcert=/no/such.pem`,
    message: 'cannot read sslrootcert',
    hint: '',
  },
];

describe('unusable database', () => {
  it.each(failures)(
    'is refused at once with a hint: $reason',
    { tags: ['long'] },
    async ({ url, locks, message, hint }) => {
      const store = await storeIn(await url(await freshDatabase()));
      const failure = await failureOf(locks ? store.lock(lockRequest()) : store.read());
      expect(failure).toBeInstanceOf(UserError);
      expect(failure.message).toContain(message);
      expect(failure.hint ?? '').toContain(hint);
      expect(`${failure.message} ${failure.hint} ${store.location}`).not.toMatch(/not-this-one|p@ss|p%40ss/);
    },
  );

  it('fails the statement and not the process if the server closes a connection in its startup packet', async () => {
    const { urlWith } = await freshDatabase();
    await using proxy = await TcpProxy.start((await postgresServer()).port);
    const fields = Buffer.from('SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0');
    const end = Buffer.concat([Buffer.from('E'), Buffer.alloc(4), fields]);
    end.writeUInt32BE(4 + fields.length, 1);
    const isReady = (bytes: Buffer): boolean => bytes.subarray(-6).equals(Buffer.from('Z\0\0\0\x05I'));
    proxy.answer = (bytes) => (isReady(bytes) ? Buffer.concat([bytes, end]) : bytes);
    const database = databaseAt(addressOf(urlWith({ port: proxy.port })));
    await expect(database.query('SELECT 1', [], new AbortController().signal)).rejects.toThrow(/connection/);
  });

  it('is refused if the server is older than the tested versions', async () => {
    const { urlWith } = await freshDatabase();
    await using proxy = await TcpProxy.start((await postgresServer()).port);
    proxy.answer = (bytes) =>
      Buffer.from(
        bytes
          .toString('latin1')
          .replace(/18\d{4}/, '090624')
          .replace('18.', '09.'),
        'latin1',
      );
    const { message, hint } = await failureOf((await storeIn(urlWith({ port: proxy.port }))).read());
    expect(message).toContain('is on PostgreSQL 09.4; voxform needs 13 or later');
    expect(hint).toContain('Upgrade the server');
  });

  it('is waited for while it has no free connection', async () => {
    const database = await freshDatabase();
    const role = await database.role('CONNECTION LIMIT 0');
    await database.sql(`GRANT CREATE ON DATABASE ${database.name} TO ${role}`);
    await using proxy = await TcpProxy.start((await postgresServer()).port);
    const store = await storeIn(database.urlWith({ user: role, password: 'p', port: proxy.port }));
    const locked = store.lock(lockRequest());
    await once(proxy.events, 'closed');
    await database.sql(`ALTER ROLE ${role} CONNECTION LIMIT -1`);
    await (await locked).release();
  });

  it('explains the options after it waited in vain for a connection', async () => {
    const database = await freshDatabase();
    const url = database.urlWith({ user: await database.role('CONNECTION LIMIT 0'), password: 'p' });
    const error = await failureOf(databaseAt(addressOf(url)).query('SELECT 1', [], new AbortController().signal));
    const about = {
      subject: 'it',
      setting: 'url',
      setUp: 'init',
      server: 'there',
      wasReached: false,
      wasWritten: false,
    };
    const problem = problemOf(error, about);
    expect(problem).not.toBeInstanceOf(UserError);
    expect(problem.message).toMatch(/too many connections for role.*Raise max_connections/);
  });

  it('releases the locks of a client that is frozen inside a transaction', { tags: ['long'] }, async () => {
    const { url, sql } = await freshDatabase();
    await sql('CREATE TABLE rows (value text); INSERT INTO rows VALUES (0)');
    const { signal } = new AbortController();
    const [locked, thawed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const frozen = failureOf(
      databaseAt(addressOf(url)).transaction(async ({ query }) => {
        await query(`UPDATE rows SET value = 'of the frozen'`, [], signal);
        locked.resolve();
        await thawed.promise;
      }, signal),
    );
    await locked.promise;
    await sql(`UPDATE rows SET value = value || ' of another'`);
    thawed.resolve();
    expect((await frozen).message).toMatch(/terminat|not queryable/i);
    expect(await sql('SELECT value FROM rows')).toEqual([{ value: '0 of another' }]);
  });
});
