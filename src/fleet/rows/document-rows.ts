import { type FleetStatements, storableJson } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';

const TABLE = `${FLEET_SCHEMA}.documents`;

/**
 * What the runs of a workspace stored, besides saved plans: the plan of the remaining actions, the summary of a state outside the fleet's
 * database, the drift request, the events reported by notifications, and the digest of the search terms.
 */
type DocumentKind = 'remaining-plan' | 'external-state' | 'drift-request' | 'reported-events' | 'search-terms';

interface StoredDocument {
  /** The digest of the content, if runs compare it. */
  readonly digest?: string;
  /** JSON. */
  readonly document?: unknown;
}

/** Returns a join of a document of each workspace `w`. */
export function joinDocument(alias: string, kind: DocumentKind): string {
  return `LEFT JOIN ${TABLE} ${alias} ON ${alias}.address = w.address AND ${alias}.kind = '${kind}'`;
}

/** Returns the SQL expression for a document of a workspace. @param address an SQL expression. */
export function documentOf(address: string, kind: DocumentKind): string {
  return `(SELECT document FROM ${TABLE} WHERE address = ${address} AND kind = '${kind}')`;
}

export async function storedDocument(
  { query }: FleetStatements,
  address: string,
  kind: DocumentKind,
): Promise<unknown> {
  const [row] = await query(`SELECT ${documentOf('$1', kind)} AS document`, address);
  return row?.document ?? undefined;
}

/** Stores a document of a workspace, unless the workspace was deleted. Undefined deletes the stored document. */
export async function storeDocument(
  { query }: FleetStatements,
  address: string,
  kind: DocumentKind,
  stored: StoredDocument | undefined,
): Promise<void> {
  if (stored === undefined) {
    await query(`DELETE FROM ${TABLE} WHERE address = $1 AND kind = $2`, address, kind);
    return;
  }
  await query(
    `INSERT INTO ${TABLE} (address, kind, digest, document) SELECT address, $2, $3, $4::json FROM ${FLEET_SCHEMA}.workspaces WHERE address = $1
ON CONFLICT (address, kind) DO UPDATE SET digest = excluded.digest, document = excluded.document`,
    address,
    kind,
    stored.digest ?? null,
    stored.document === undefined ? null : storableJson(stored.document),
  );
}
