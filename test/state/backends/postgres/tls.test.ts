import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addressOf } from '../../../../src/state/backends/postgres/address.ts';
import { databaseAt } from '../../../../src/state/backends/postgres/database.ts';
import { selfSigned } from '../../../platform/connect-proxy.ts';
import { failureOf } from '../../temporary-state.ts';
import { storeIn } from './databases.ts';
import { type PostgresServer, postgresServer, startPostgres } from './postgres-server.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'voxform-tls-'));
const root = path.join(folder, 'cert.pem');
let server: PostgresServer;

beforeAll(async () => {
  const { cert, key } = selfSigned('localhost');
  writeFileSync(root, cert);
  server = await startPostgres('-F -c ssl=on -c ssl_cert_file=../cert.pem -c ssl_key_file=../key.pem', {
    'cert.pem': cert,
    'key.pem': key,
  });
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

async function isEncrypted(url: string): Promise<unknown> {
  const text = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()';
  const [row] = await databaseAt(addressOf(url)).query(text, [], new AbortController().signal);
  return row?.ssl;
}

describe('TLS to PostgreSQL', () => {
  it.each([
    ['', true],
    ['?sslmode=disable', false],
    ['?sslmode=allow', true],
    ['?sslmode=prefer', true],
    ['?sslmode=require', true],
    ['?sslmode=require&sslrootcert=ROOT', true],
    ['?sslmode=verify-ca&sslrootcert=ROOT', true],
  ])('behaves as in libpq for any form of the host: %s', async (options, encrypted) => {
    expect(await isEncrypted(server.url('postgres') + options.replace('ROOT', root))).toBe(encrypted);
  });

  it('verifies the host name if required', async () => {
    const url = `${server.url('postgres')}?sslmode=verify-full&sslrootcert=${root}`;
    expect(await isEncrypted(url.replace('127.0.0.1', 'localhost'))).toBe(true);
    const { message } = await failureOf((await storeIn(url)).read());
    expect(message).toContain('is not trusted: ');
  });

  it.each(['verify-full', 'verify-ca'])('trusts no unknown certificate: %s', async (mode) => {
    const other = path.join(folder, 'other.pem');
    writeFileSync(other, selfSigned('localhost').cert);
    const url = `${server.url('postgres').replace('127.0.0.1', 'localhost')}?sslmode=${mode}&sslrootcert=${other}`;
    const { message, hint } = await failureOf((await storeIn(url)).read());
    expect(message).toContain('is not trusted: ');
    expect(hint).toContain('sslrootcert=FILE');
  });

  it('is not used if the server lacks it and it is only preferred', async () => {
    const { url } = await postgresServer();
    expect(await isEncrypted(url('postgres'))).toBe(false);
  });
});
