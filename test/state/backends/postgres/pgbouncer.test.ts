import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openSession, readState } from '../../../../src/state/session.ts';
import { creating, lockRequest, saved, sessionOptions } from '../../temporary-state.ts';
import { freshDatabase, storeIn } from './databases.ts';
import { reachableTemporaryFolder, serverUser } from './postgres-binaries.ts';
import { freePort, postgresServer } from './postgres-server.ts';

const version = spawnSync('pgbouncer', ['--version'], { encoding: 'utf8' });

/** Starts a pooler that gives each transaction any free connection. @returns its port. */
async function pooler(): Promise<number> {
  const server = await postgresServer();
  const port = await freePort();
  const folder = mkdtempSync(path.join(reachableTemporaryFolder(), 'voxform-pgbouncer-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = (name: string) => path.join(folder, name);
  writeFileSync(file('users.txt'), `"postgres" "${server.password}"\n`);
  writeFileSync(
    file('pgbouncer.ini'),
    `[databases]
* = host=127.0.0.1 port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${file('users.txt')}
pool_mode = transaction
default_pool_size = 2
`,
  );
  if (serverUser !== undefined)
    for (const each of [folder, file('users.txt'), file('pgbouncer.ini')])
      chownSync(each, serverUser.uid, serverUser.gid);
  const child = spawn('pgbouncer', [file('pgbouncer.ini')], {
    stdio: ['ignore', 'ignore', 'pipe'],
    ...serverUser,
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  let said = '';
  for await (const text of child.stderr) {
    said += text;
    if (said.includes('process up')) return port;
  }
  throw new Error(`pgbouncer did not start: ${said}`);
}

describe.skipIf(version.error !== undefined)(
  'pooler in transaction mode (skipped if pgbouncer is not installed)',
  () => {
    it('supports concurrent runs that share its connections', async () => {
      const database = await freshDatabase();
      const url = database.urlWith({ port: await pooler() });
      const work = async (name: string): Promise<void> => {
        const lock = lockRequest({ isStep: false });
        const session = await openSession(await storeIn(url, { name }), sessionOptions({ lock }));
        await Promise.all(['a', 'b', 'c'].map((each) => session.record(creating(each))));
        await Promise.all(['a', 'b', 'c'].map((each) => session.record(saved(each))));
        await session.close();
      };
      const names = Array.from({ length: 8 }, (_, index) => `state-${index}`);
      await Promise.all(names.map(work));
      await Promise.all(names.map(work));
      for (const name of names) {
        const store = await storeIn(url, { name });
        expect((await readState(store, sessionOptions())).resources.size).toBe(3);
        expect(await store.history()).toHaveLength(2);
      }
    });
  },
);
