import { hostname } from 'node:os';
import { nodeFiles } from '../../files/files.ts';
import { UserError } from '../../problems/user-error.ts';
import { type LockSettings, lockHolder, releaseLock, takeLock } from '../../state/backends/local/lock.ts';
import { lockTiming, startHeartbeat } from '../../state/backends/local/lock-heartbeat.ts';
import { VERSION } from '../../version.ts';

export interface ProcessLock {
  release(): Promise<void>;
}

/**
 * The sole right of this process to what lies beside a file; that of a process that died passes on.
 * @throws UserError where another process has it.
 */
export async function lockForProcess(path: string): Promise<ProcessLock> {
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
  const { id } = await takenBy(settings);
  const endHeartbeat = startHeartbeat(nodeFiles, path, { id, beat: lockTiming.beat });
  return {
    async release() {
      await endHeartbeat();
      await releaseLock(settings, id);
    },
  };
}

async function takenBy(settings: LockSettings): Promise<{ readonly id: string }> {
  const ignore = (): void => undefined;
  try {
    return await takeLock(settings, {
      operation: 'fleet serve',
      timeoutSeconds: 0,
      notice: ignore,
      warn: ignore,
    });
  } catch (error) {
    const holder = await lockHolder(settings);
    if (holder === undefined) throw error;
    const { pid, host, since } = holder;
    throw new UserError(
      `the embedded database of the fleet is in use by process ${pid} on ${host} since ${since}`,
      { hint: 'It serves one process. For more, set database in fleet.yaml to a PostgreSQL.', cause: error },
    );
  }
}
