import type { Json } from '../../values/json.ts';
import type { FleetStatements } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';
import type { ProjectVersion, WantedProject } from '../member.ts';
import { rejectionAssignments } from './finished-runs.ts';

export interface ProjectOfWorkspace extends WantedProject {
  readonly workspace: string;
  /** The registered identity of the workspace's source; null if no process has registered the source. */
  readonly identity: string | null;
  /** The last version with valid manifests. */
  readonly good: ProjectVersion | undefined;
}

interface NamedPlan {
  readonly id: string;
  readonly state: string;
  readonly decidedBy: string | undefined;
}

const S = FLEET_SCHEMA;
/** The SQL condition for the pending or approved plan or, without one, the most recently rejected plan. */
const CURRENT = `(address, id) = (SELECT p.address, p.id FROM ${S}.plans p JOIN ${S}.workspaces w ON w.address = p.address
WHERE p.address = $1 AND (p.state IN ('waiting', 'approved') OR p.state = 'rejected' AND p.id = w.last->>'rejected')
ORDER BY p.state = 'rejected' LIMIT 1)`;
const LOCKED_ADDRESSES = `SELECT address FROM ${S}.workspaces WHERE address = ANY ($1::text[]) ORDER BY address FOR UPDATE`;

/** Returns the first of these addresses that is not in the fleet, if any. */
export async function unknownAddress(
  { query }: FleetStatements,
  addresses: readonly string[],
): Promise<string | undefined> {
  const [first] = await query(
    `SELECT a.address FROM unnest($1::text[]) AS a (address) WHERE NOT EXISTS (SELECT FROM ${S}.workspaces w WHERE w.address = a.address)`,
    addresses,
  );
  return first && String(first.address);
}

/** Returns the addresses of all workspaces in alphabetical order. Includes removed workspaces only with a limit. */
export async function addressesOf({ query }: FleetStatements, limit?: number): Promise<string[]> {
  const condition = limit === undefined ? 'WHERE vanished_at IS NULL' : '';
  const rows = await query(`SELECT address FROM ${S}.workspaces ${condition} ORDER BY address LIMIT $1`, limit ?? null);
  return rows.map(({ address }) => String(address));
}

/** Returns the addresses from the list whose workspaces are paused or removed. */
export async function pausedOrRemoved({ query }: FleetStatements, addresses: readonly string[]): Promise<string[]> {
  const rows = await query(
    `SELECT address FROM ${S}.workspaces WHERE address = ANY ($1::text[]) AND (paused_at IS NOT NULL OR vanished_at IS NOT NULL)`,
    addresses,
  );
  return rows.map(({ address }) => String(address));
}

export async function projectOf({ query }: FleetStatements, address: string): Promise<ProjectOfWorkspace> {
  const [row] = await query(
    `SELECT w.source, w.project, w.workspace, w.version, w.commit, w.good_version, w.good_commit, s.identity
FROM ${S}.workspaces w LEFT JOIN ${S}.sources s ON s.name = w.source WHERE w.address = $1`,
    address,
  );
  const { good_version: good, good_commit: goodCommit, commit, ...rest } = row ?? {};
  return {
    ...rest,
    commit: commit ?? undefined,
    good: good === null ? undefined : { version: good, commit: goodCommit ?? undefined },
  } as ProjectOfWorkspace;
}

export async function currentPlan({ query }: FleetStatements, address: string): Promise<Json | undefined> {
  const [row] = await query(`SELECT plan FROM ${S}.plans WHERE ${CURRENT}`, address);
  return row?.plan as Json | undefined;
}

/** Returns the current plan without its contents. Locks its row until the transaction ends. */
export async function lockCurrentPlan(
  { query }: FleetStatements,
  address: string,
): Promise<(NamedPlan & { readonly digest: string }) | undefined> {
  const [row] = await query(
    `SELECT id, digest, state, decided_by FROM ${S}.plans WHERE ${CURRENT} FOR UPDATE`,
    address,
  );
  return row && { ...namedPlan(row), digest: String(row.digest) };
}

/** Returns up to five plans of a workspace whose digest begins with this prefix, in any state. */
export async function plansWithPrefix(
  { query }: FleetStatements,
  address: string,
  prefix: string,
): Promise<NamedPlan[]> {
  const rows = await query(
    `SELECT id, state, decided_by FROM ${S}.plans WHERE address = $1 AND starts_with(digest, $2) ORDER BY id LIMIT 5`,
    address,
    prefix,
  );
  return rows.map(namedPlan);
}

function namedPlan(row: Readonly<Record<string, unknown>>): NamedPlan {
  const { id, state, decided_by: by } = row;
  return { id: String(id), state: String(state), decidedBy: by === null ? undefined : String(by) };
}

const REQUEST_RUN = `asked_at = clock_timestamp(), asked_why = $2, asked_by = $3, due_at = least(due_at, now())
WHERE address IN (${LOCKED_ADDRESSES})`;

const DECISIONS = {
  requested: REQUEST_RUN,
  approved: REQUEST_RUN,
  rejected: `${rejectionAssignments('$4')}
WHERE address IN (${LOCKED_ADDRESSES})`,
  paused: `paused_at = now(), paused_by = $3, paused_because = $5
WHERE address IN (${LOCKED_ADDRESSES}) AND paused_at IS NULL`,
  resumed: `paused_at = NULL, paused_by = NULL, paused_because = NULL, due_at = now()
WHERE address IN (${LOCKED_ADDRESSES}) AND paused_at IS NOT NULL`,
} as const;

interface Decision {
  readonly addresses: readonly string[];
  readonly by: string;
  readonly because?: string | undefined;
  readonly plan?: string;
}

/** Applies a decision to workspaces and adds it to the list of runs. Returns the addresses of the changed workspaces. */
export async function storeDecision(
  { query }: FleetStatements,
  decision: keyof typeof DECISIONS,
  { addresses, by, plan, because }: Decision,
): Promise<string[]> {
  const rows = await query(
    `WITH changed AS (UPDATE ${S}.workspaces SET ${DECISIONS[decision]} RETURNING address, mode)
INSERT INTO ${S}.runs (address, started_at, seconds, mode, result, who, plan_id, process, summary)
SELECT address, now(), 0, mode, $2, $3, $4, '', json_strip_nulls(json_build_object('because', $5::text)) FROM changed RETURNING address`,
    addresses,
    decision,
    by,
    plan ?? null,
    because ?? null,
  );
  return rows.map(({ address }) => String(address));
}

/** Approves or rejects a plan: changes its state and stores the decision for its workspace. */
export async function decidePlan(
  statements: FleetStatements,
  { address, id, by, because }: { address: string; id: string; by: string; because?: string | undefined },
  state: 'approved' | 'rejected',
): Promise<void> {
  await statements.query(
    `UPDATE ${S}.plans SET state = $3, decided_by = $4, decided_at = now() WHERE address = $1 AND id = $2`,
    address,
    id,
    state,
    by,
  );
  await storeDecision(statements, state, { addresses: [address], by, because, plan: id });
}
