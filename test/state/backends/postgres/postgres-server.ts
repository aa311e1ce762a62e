import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import path from 'node:path';
import { Secret } from '../../../../src/values/value.ts';
import { postgresBinaries, reachableTemporaryFolder, serverUser } from './postgres-binaries.ts';

export interface PostgresServer extends AsyncDisposable {
  readonly port: number;
  readonly password: string;
  /** Returns the URL of a database on the server, for its superuser. */
  url(database: string): string;
  /** Stops the server, normally or, with SIGQUIT, as in a crash. */
  stop(signal?: 'INT' | 'QUIT'): Promise<void>;
  /** Starts the server again with its data. */
  start(): Promise<void>;
}

/** Takes commands from its input, and ends with the process at the other end, however that process terminates. */
const SCRIPT = `
"$1/initdb" --pgdata="$2/data" --username=postgres --pwfile="$2/password" --auth=scram-sha-256 \\
  --encoding=UTF8 --locale=C --no-sync >"$2/initdb.log" 2>&1 || { cat "$2/initdb.log" >&2; exit 1; }
start() {
  "$1/postgres" -D "$2/data" -p "$3" -c listen_addresses=127.0.0.1 -c unix_socket_directories= \\
    -c shared_buffers=16MB -c max_connections=200 -c wal_writer_delay=10s $4 </dev/null >"$2/server.log" 2>&1 &
  until "$1/pg_ctl" status -D "$2/data" >/dev/null 2>&1 && grep -q 'ready to accept' "$2/server.log"; do
    kill -0 $! || { cat "$2/server.log" >&2; exit 1; }
    sleep 0.05
  done
}
start "$@"
echo ready
trap '' INT TERM
while read -r order; do
  if [ "$order" = start ]; then start "$@"; else kill -"$order" $!; wait $!; fi
  echo "done"
done
kill -INT $!
wait $!
rm -rf "$2" 2>/dev/null
`;

const PASSWORD = 'p@ss/word#1';

const servers = new Map<string, Promise<PostgresServer>>();

/** No durability, no replication, and no autovacuum, as the databases are short-lived. */
const SHORT_LIVED = '-F -c full_page_writes=off -c wal_level=minimal -c max_wal_senders=0 -c autovacuum=off';

/** Returns a PostgreSQL that all tests of this process share. It ends with the process. */
export function postgresServer(options = SHORT_LIVED): Promise<PostgresServer> {
  const server = servers.get(options) ?? startPostgres(options);
  servers.set(options, server);
  return server;
}

/**
 * Starts a server that ends when it is disposed of, or with the process. `files`, by name, are in the folder above its
 * data, readable only by the server.
 */
export async function startPostgres(
  options = '-F',
  files: Readonly<Record<string, string>> = {},
): Promise<PostgresServer> {
  const folder = mkdtempSync(path.join(reachableTemporaryFolder(), 'voxform-postgres-'));
  if (serverUser !== undefined) chownSync(folder, serverUser.uid, serverUser.gid);
  for (const [name, text] of Object.entries({ password: PASSWORD, ...files })) {
    const file = path.join(folder, name);
    writeFileSync(file, text, { mode: 0o600 });
    if (serverUser !== undefined) chownSync(file, serverUser.uid, serverUser.gid);
  }
  const port = await freePort();
  const child: ChildProcess = spawn('sh', ['-c', SCRIPT, 'sh', postgresBinaries(), folder, String(port), options], {
    // The server's user may not be able to enter the folder of the tests.
    cwd: folder,
    stdio: ['pipe', 'pipe', 'inherit'],
    ...serverUser,
  });
  if (child.stdin === null || child.stdout === null) throw new Error('no pipes');
  const { stdin, stdout } = child;
  const ended = once(child, 'exit');
  const [said] = await Promise.race([once(stdout, 'data'), ended.then(() => [''])]);
  if (String(said) === '') throw new Error('PostgreSQL did not start');
  // The process may end while the server runs.
  for (const each of [child, stdin as Socket, stdout as Socket]) each.unref();
  const giveOrder = async (order: string): Promise<void> => {
    stdin.write(`${order}\n`);
    const failed = ended.then(() => Promise.reject(new Error('PostgreSQL did not start again')));
    await Promise.race([once(stdout, 'data'), failed]);
  };
  const login = `postgres:${encodeURIComponent(PASSWORD)}`;
  return {
    port,
    password: PASSWORD,
    url: (database) => `postgres://${login}@127.0.0.1:${port}/${database}`,
    stop: (signal = 'INT') => giveOrder(signal),
    start: () => giveOrder('start'),
    async [Symbol.asyncDispose]() {
      child.ref();
      stdin.end();
      await ended;
      // The server's user may not remove a folder from one that it does not own.
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Returns the settings of a new state on the shared server. */
export async function freshPlace(): Promise<{ readonly url: Secret; readonly name: string }> {
  const { url } = await postgresServer();
  return { url: new Secret('STATE_URL', url('postgres')), name: `${randomUUID()}/{workspace}` };
}

export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
