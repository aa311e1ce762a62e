import { type FleetControl, fleetControl } from '../../src/fleet/control.ts';
import type { FleetDatabase } from '../../src/fleet/database/fleet-database.ts';
import { FleetSource } from '../../src/page/fleet-source.ts';

/** Returns the contents of a fleet's page, without actions on platforms. */
export function readFleet(
  { database, control = fleetControl(database) }: { readonly database: FleetDatabase; readonly control?: FleetControl },
  changes: Partial<ConstructorParameters<typeof FleetSource>[0]> = {},
): FleetSource {
  return new FleetSource({
    database,
    control,
    closeOrphan: async () => false,
    comparisons: { begin: async () => undefined },
    now: () => new Date(),
    log: () => undefined,
    ...changes,
  });
}
