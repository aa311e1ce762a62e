import { attempt } from '../problems/attempt.ts';
import { addressOf } from '../state/backends/postgres/address.ts';
import { type Database, provideDatabase } from '../state/backends/postgres/database.ts';
import { isSameState, type StateLocation } from '../state/state-location.ts';
import { fleetAddress } from './addresses.ts';
import { FLEET_SCHEMA } from './database/fleet-tables.ts';
import type { FleetFile } from './fleet-file.ts';

/** The placeholder address of this process's embedded database. */
const EMBEDDED_ADDRESS = 'postgres://voxform@embedded/fleet';

/** Returns the default location of a workspace's state: the fleet's database, under the workspace's address. */
export function fleetStateLocation(
  fleet: Pick<FleetFile, 'database'>,
  { source, project, workspace }: { readonly source: string; readonly project: string; readonly workspace: string },
): StateLocation {
  return fleetStateAt(fleet, fleetAddress(source, project, workspace));
}

export function fleetStateAt(
  { database = EMBEDDED_ADDRESS }: Pick<FleetFile, 'database'>,
  name: string,
): StateLocation {
  return { backend: 'postgres', url: database, schema: FLEET_SCHEMA, name };
}

/** Returns the reason why a project must not use a location, if any. The fleet's database contains the states of other projects. */
export function foreignStateProblem(location: StateLocation, own: StateLocation): string | undefined {
  if (location.backend !== 'postgres' || own.backend !== 'postgres' || isSameState(location, own)) return undefined;
  const isOfFleet = location.schema === FLEET_SCHEMA && location.name !== own.name;
  if (!isOfFleet && attempt(() => addressOf(location.url).location) !== addressOf(EMBEDDED_ADDRESS).location)
    return undefined;
  return "a project must not use the fleet's own database; remove the setting state, so that the fleet stores the state there under the workspace's address";
}

/** Makes the state backends of this process use an embedded database until the result is disposed of. */
export function keepStatesIn(database: Database): Disposable {
  return provideDatabase(addressOf(EMBEDDED_ADDRESS), database);
}
