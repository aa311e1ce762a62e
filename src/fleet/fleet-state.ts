import { attempt } from '../problems/attempt.ts';
import { addressOf } from '../state/backends/postgres/address.ts';
import { type Database, provideDatabase } from '../state/backends/postgres/database.ts';
import { isSameState, type StateLocation } from '../state/state-location.ts';
import { fleetAddress } from './addresses.ts';
import { FLEET_SCHEMA } from './database/fleet-tables.ts';
import type { FleetFile } from './fleet-file.ts';

/** The name of the embedded database in this process. */
const EMBEDDED = 'postgres://voxform@embedded/fleet';

/** The default location of a workspace's state: the fleet's database, under its address. */
export function fleetStateLocation(
  fleet: Pick<FleetFile, 'database'>,
  { source, project, workspace }: { readonly source: string; readonly project: string; readonly workspace: string },
): StateLocation {
  return fleetStateAt(fleet, fleetAddress(source, project, workspace));
}

export function fleetStateAt({ database = EMBEDDED }: Pick<FleetFile, 'database'>, name: string): StateLocation {
  return { backend: 'postgres', url: database, schema: FLEET_SCHEMA, name };
}

/** Why a project may not use this location: it would reach the states of other projects. */
export function foreignStateProblem(place: StateLocation, own: StateLocation): string | undefined {
  if (place.backend !== 'postgres' || own.backend !== 'postgres' || isSameState(place, own)) return undefined;
  const isOfFleet = place.schema === FLEET_SCHEMA && place.name !== own.name;
  if (!isOfFleet && attempt(() => addressOf(place.url).location) !== addressOf(EMBEDDED).location) return undefined;
  return "a project must not use the fleet's own database; remove state, which is then kept there under the workspace's address";
}

/** Provides this embedded database to state backends until it is disposed of. */
export function keepStatesIn(database: Database): Disposable {
  return provideDatabase(addressOf(EMBEDDED), database);
}
