import type { FleetStatements } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';

const TABLE = `${FLEET_SCHEMA}.notified`;

/** The key of stored data: reported events (`told`), the drift request, or the digest of the texts for the search. */
type Memory = 'told' | 'request' | 'search';

/** The stored JSON text, if any. */
export async function memoryOf({ ask }: FleetStatements, address: string, key: Memory): Promise<string | undefined> {
  const [row] = await ask(`SELECT digest FROM ${TABLE} WHERE address = $1 AND key = $2`, address, key);
  return row && String(row.digest);
}

/** Stores nothing for a workspace that left the fleet. @param value JSON. */
export async function remember(
  { ask }: FleetStatements,
  address: string,
  { key, value }: { readonly key: Memory; readonly value: string },
): Promise<void> {
  await ask(
    `INSERT INTO ${TABLE} (address, key, digest) SELECT address, $2, $3 FROM ${FLEET_SCHEMA}.workspaces WHERE address = $1
ON CONFLICT (address, key) DO UPDATE SET digest = excluded.digest`,
    address,
    key,
    value,
  );
}
