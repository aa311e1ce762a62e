import { access } from 'node:fs/promises';
import path from 'node:path';
import { UserError } from '../problems/user-error.ts';
import { type FleetControl, fleetControl } from './control.ts';
import { controlThrough } from './control-socket.ts';
import { embeddedFleetDatabase, type FleetDatabase, fleetDatabaseAt } from './database/fleet-database.ts';
import { setUpTables } from './database/set-up-tables.ts';
import type { FleetFile } from './fleet-file.ts';

/** Below the folder where a fleet is served: the embedded database, and how other processes reach it. */
const HOME = path.join('.voxform', 'fleet');

export function controlSocket(home: string): string {
  return path.join(home, HOME, 'control.sock');
}

/** The database of a fleet. @throws UserError where the embedded one belongs to another process. */
export async function openFleetDatabase({ database }: FleetFile, home: string): Promise<FleetDatabase> {
  return database === undefined ? embeddedFleetDatabase(path.join(home, HOME)) : fleetDatabaseAt(database);
}

/** Does what a person asked of a fleet: in its database, or where that is another process, through that one. */
export async function withControl<T>(
  fleet: FleetFile,
  home: string,
  work: (control: FleetControl) => Promise<T>,
): Promise<T> {
  if (fleet.database === undefined) {
    const there = await controlThrough(controlSocket(home));
    if (there !== undefined) return work(there);
    await refuseNothing(home);
  }
  const database = await openFleetDatabase(fleet, home);
  try {
    await setUpTables(database);
    return await work(fleetControl(database));
  } finally {
    await database.close();
  }
}

/** A typing mistake in the folder must not begin a database. */
async function refuseNothing(home: string): Promise<void> {
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
