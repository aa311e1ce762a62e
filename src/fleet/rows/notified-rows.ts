import type { FleetStatements } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';

const TABLE = `${FLEET_SCHEMA}.notified`;

/** The key of a value stored for a workspace: reported events (`told`), the drift request, or the digest of the search texts. */
type StoredKey = 'told' | 'request' | 'search';

export async function storedValue(
  { query }: FleetStatements,
  address: string,
  key: StoredKey,
): Promise<string | undefined> {
  const [row] = await query(`SELECT digest FROM ${TABLE} WHERE address = $1 AND key = $2`, address, key);
  return row && String(row.digest);
}

/** Stores a value for a workspace, unless the workspace was deleted. @param value JSON. */
export async function storeValue(
  { query }: FleetStatements,
  address: string,
  { key, value }: { readonly key: StoredKey; readonly value: string },
): Promise<void> {
  await query(
    `INSERT INTO ${TABLE} (address, key, digest) SELECT address, $2, $3 FROM ${FLEET_SCHEMA}.workspaces WHERE address = $1
ON CONFLICT (address, key) DO UPDATE SET digest = excluded.digest`,
    address,
    key,
    value,
  );
}
