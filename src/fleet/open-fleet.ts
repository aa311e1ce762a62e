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

/** The folder for the embedded database and the control socket, relative to the folder of the fleet file. */
const FLEET_FOLDER = path.join('.voxform', 'fleet');

export function controlSocket(home: string): string {
  return path.join(home, FLEET_FOLDER, 'control.sock');
}

/** The maximum milliseconds to wait for another process that has the embedded database open briefly, and between two attempts. */
const LOCK_TIMEOUT_MS = 15_000;
const RETRY_INTERVAL_MS = 100;

/** Opens the database of a fleet. @throws DatabaseInUse if another process has the embedded database open. */
export async function openFleetDatabase(
  { database }: Pick<FleetFile, 'database'>,
  home: string,
  use: DatabaseUse,
): Promise<FleetDatabase> {
  if (database !== undefined) return fleetDatabaseAt(database);
  const open = () => embeddedFleetDatabase(path.join(home, FLEET_FOLDER), use);
  return retryWhileInUse(open, (inUse) => inUse.use === 'command');
}

/** Opens the embedded database that a fleet used before its move to a PostgreSQL server, if any. It may contain states. */
export async function formerDatabase({ database }: FleetFile, home: string): Promise<FleetDatabase | undefined> {
  const folder = path.join(home, FLEET_FOLDER);
  if (database === undefined || !existsSync(path.join(folder, 'data'))) return undefined;
  return embeddedFleetDatabase(folder, 'command');
}

async function retryWhileInUse<T>(work: () => Promise<T>, isTemporary: (inUse: DatabaseInUse) => boolean): Promise<T> {
  for (const until = performance.now() + LOCK_TIMEOUT_MS; ; await pause(RETRY_INTERVAL_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DatabaseInUse) || !isTemporary(error) || performance.now() > until) throw error;
    }
  }
}

/** Calls `work` with the control of a fleet, through its database or the process that has it open. State backends may use it too. */
export async function withControl<T>(
  fleet: FleetFile,
  home: string,
  work: (control: FleetControl) => Promise<T>,
): Promise<T> {
  const connect = async (): Promise<FleetControl | FleetDatabase> => {
    if (fleet.database === undefined) {
      const control = await controlThrough(controlSocket(home));
      if (control !== undefined) return control;
      await refuseMissingFleet(home);
    }
    return openFleetDatabase(fleet, home, 'command');
  };
  // A process that has just started has the database open, but does not listen on its socket yet.
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

/** Prevents commands from creating a database in a mistyped folder. */
async function refuseMissingFleet(home: string): Promise<void> {
  const folder = path.join(home, FLEET_FOLDER);
  try {
    await access(folder);
  } catch (cause) {
    throw new UserError(`no fleet has been started in ${home}`, {
      hint: 'Start one: voxform fleet serve. If the fleet is in another folder, select it with -C DIR.',
      cause,
    });
  }
}
