import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { nodeFiles } from '../../files/files.ts';
import { UserError } from '../../problems/user-error.ts';
import { LockFile, localTiming } from '../../state/backends/local/lock-file.ts';
import { type LockInfo, type LockUser, lockFor } from '../../state/lock-info.ts';
import { VERSION } from '../../version.ts';

export interface ProcessLock {
  release(): Promise<void>;
}

/** The purpose for which a process opens the embedded database: to serve the fleet, or for one short command. */
export type DatabaseUse = 'serve' | 'command';

/** Thrown if another process has the embedded database open. */
export class DatabaseInUse extends UserError {
  readonly use: DatabaseUse;

  constructor({ pid, host, since, operation }: LockInfo, requestedUse: DatabaseUse) {
    super(`the embedded database of the fleet has been in use by process ${pid} on ${host} since ${since}`, {
      hint:
        requestedUse === 'serve'
          ? 'The embedded database supports only one process. To run several, set database in fleet.yaml to a PostgreSQL database.'
          : 'That process is starting or stopping. Repeat the command in a moment.',
    });
    this.use = operation === OPERATIONS.serve ? 'serve' : 'command';
  }
}

const OPERATIONS = { serve: 'fleet serve', command: 'fleet' } as const satisfies Record<DatabaseUse, string>;

/** The maximum number of attempts to take the lock if other processes take it first. */
const MAX_ATTEMPTS = 10;

/**
 * Locks the embedded database for this process. Takes over the lock of a process that is dead or sends no heartbeats.
 * @throws DatabaseInUse if another process holds the lock.
 */
export async function lockForProcess(path: string, use: DatabaseUse): Promise<ProcessLock> {
  const user: LockUser = {
    host: hostname(),
    user: String(process.pid),
    pid: process.pid,
    version: VERSION,
    now: () => new Date(),
  };
  const file = new LockFile({ files: nodeFiles, path, user });
  const info = lockFor(user, { id: randomUUID(), operation: OPERATIONS[use] });
  await take(file, info, use);
  const heartbeat = setInterval(() => void file.renew(info.id).catch(() => undefined), localTiming.heartbeat).unref();
  return {
    async release() {
      clearInterval(heartbeat);
      await file.release(info.id);
    },
  };
}

async function take(file: LockFile, info: LockInfo, use: DatabaseUse): Promise<void> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const existing = await file.read();
    const { secondsSinceHeartbeat = 0, isHolderDead = false } = existing ?? {};
    const isExpired = secondsSinceHeartbeat * 1000 >= localTiming.takeoverAfter(info);
    if (existing !== undefined && !isHolderDead && !isExpired) throw new DatabaseInUse(existing.info, use);
    if (await file.take(info, existing?.info.id)) return;
  }
  throw new Error('cannot lock the embedded database: other processes keep taking the lock');
}
