import { hostname } from 'node:os';
import { nodeFiles } from '../../files/files.ts';
import { UserError } from '../../problems/user-error.ts';
import { type LockSettings, lockHolder, releaseLock, takeLock } from '../../state/backends/local/lock.ts';
import { Heartbeat } from '../../state/backends/local/lock-heartbeat.ts';
import type { LockHolder } from '../../state/lock-info.ts';
import { VERSION } from '../../version.ts';

export interface ProcessLock {
  release(): Promise<void>;
}

/** What a process has the embedded database for: to serve, or for one command, which is short. */
export type DatabaseUse = 'serve' | 'command';

/** Another process has the embedded database. */
export class DatabaseInUse extends UserError {
  readonly use: DatabaseUse;

  constructor({ pid, host, since, operation }: LockHolder, wanted: DatabaseUse, cause: unknown) {
    super(`the embedded database of the fleet is in use by process ${pid} on ${host} since ${since}`, {
      hint:
        wanted === 'serve'
          ? 'It serves one process. For more, set database in fleet.yaml to a PostgreSQL.'
          : 'That process is starting or ending. Repeat the command in a moment.',
      cause,
    });
    this.use = operation === OPERATIONS.serve ? 'serve' : 'command';
  }
}

const OPERATIONS = { serve: 'fleet serve', command: 'fleet' } as const satisfies Record<DatabaseUse, string>;

/**
 * The sole right of this process to what lies beside a file; that of a process that died passes on.
 * @throws DatabaseInUse
 */
export async function lockForProcess(path: string, use: DatabaseUse): Promise<ProcessLock> {
  const host = hostname();
  const settings: LockSettings = {
    files: nodeFiles,
    path,
    location: 'the embedded database of the fleet',
    host,
    user: String(process.pid),
    pid: process.pid,
    version: VERSION,
    now: () => new Date(),
  };
  const { id } = await takenBy(settings, use);
  const heartbeat = new Heartbeat(nodeFiles, path, { id, now: settings.now });
  return {
    async release() {
      await heartbeat.end();
      await releaseLock(settings, id);
    },
  };
}

async function takenBy(
  settings: LockSettings,
  use: DatabaseUse,
  tries = 10,
): Promise<{ readonly id: string }> {
  const ignore = (): void => undefined;
  try {
    return await takeLock(settings, {
      operation: OPERATIONS[use],
      timeoutSeconds: 0,
      notice: ignore,
      warn: ignore,
    });
  } catch (error) {
    const holder = await lockHolder(settings);
    if (holder === undefined && tries > 1) return takenBy(settings, use, tries - 1);
    if (holder === undefined) throw error;
    throw new DatabaseInUse(holder, use, error);
  }
}
