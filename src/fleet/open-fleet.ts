import { existsSync } from 'node:fs';
import { access } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { UserError } from '../problems/user-error.ts';
import { type FleetControl, fleetControl } from './control.ts';
import { controlThrough, statesThrough } from './control-socket.ts';
import { embeddedFleetDatabase, type FleetDatabase, fleetDatabaseAt } from './database/fleet-database.ts';
import { DatabaseInUse, type DatabaseUse } from './database/process-lock.ts';
import { setUpTables } from './database/set-up-tables.ts';
import type { FleetFile } from './fleet-file.ts';
import { keepStatesIn } from './fleet-state.ts';
import { removeProcesses } from './rows/process-rows.ts';

/** The folder with the embedded database and the control socket, relative to the fleet file. */
const HOME = path.join('.voxform', 'fleet');

export function controlSocket(home: string): string {
  return path.join(home, HOME, 'control.sock');
}

/** Milliseconds to wait for another process that has the embedded database open only briefly. */
const LOCK_TIMEOUT = 15_000;
const RETRY_PAUSE = 100;

/** Opens the database of a fleet. @throws DatabaseInUse if another process has the embedded one open. */
export async function openFleetDatabase(
  { database }: Pick<FleetFile, 'database'>,
  home: string,
  use: DatabaseUse,
): Promise<FleetDatabase> {
  if (database !== undefined) return fleetDatabaseAt(database);
  const open = () => embeddedFleetDatabase(path.join(home, HOME), use);
  return retryWhileInUse(open, (inUse) => inUse.use === 'command');
}

/** The earlier embedded database of a fleet, for its states, if any. */
export async function formerDatabase({ database }: FleetFile, home: string): Promise<FleetDatabase | undefined> {
  const folder = path.join(home, HOME);
  if (database === undefined || !existsSync(path.join(folder, 'data'))) return undefined;
  return embeddedFleetDatabase(folder, 'command');
}

async function retryWhileInUse<T>(work: () => Promise<T>, isShort: (inUse: DatabaseInUse) => boolean): Promise<T> {
  for (const until = performance.now() + LOCK_TIMEOUT; ; await pause(RETRY_PAUSE)) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DatabaseInUse) || !isShort(error) || performance.now() > until) throw error;
    }
  }
}

/** Executes an action in the database of a fleet, or through the process that has it open. States can be used meanwhile. */
export async function withControl<T>(
  fleet: FleetFile,
  home: string,
  work: (control: FleetControl) => Promise<T>,
): Promise<T> {
  const connect = async (): Promise<FleetControl | FleetDatabase> => {
    if (fleet.database === undefined) {
      const there = await controlThrough(controlSocket(home));
      if (there !== undefined) return there;
      await refuseMissingFleet(home);
    }
    return openFleetDatabase(fleet, home, 'command');
  };
  // A process that has just started to serve will listen soon.
  const connection = await retryWhileInUse(connect, () => true);
  if (!('close' in connection)) {
    using _ = keepStatesIn(statesThrough(controlSocket(home)));
    return await work(connection);
  }
  try {
    await setUpTables(connection);
    if (connection.isEmbedded) await removeProcesses(connection);
    return await work(fleetControl(connection));
  } finally {
    await connection.close();
  }
}

/** Do not create a database in a mistyped folder. */
async function refuseMissingFleet(home: string): Promise<void> {
  const folder = path.join(home, HOME);
  try {
    await access(folder);
  } catch (cause) {
    throw new UserError(`no fleet was ever served in ${home}`, {
      hint: 'Start it: voxform fleet serve. If it is served in another folder, name that one with -C DIR.',
      cause,
    });
  }
}
