import type { FleetDatabase, FleetStatements } from '../../src/fleet/database/fleet-database.ts';
import { UserError } from '../../src/problems/user-error.ts';

export interface Recorded {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Returns a database that adds its statements to the list. */
export function recording(database: FleetDatabase, statements: Recorded[]): FleetDatabase {
  const recorded = ({ query }: FleetStatements): FleetStatements => ({
    query(text, ...values) {
      statements.push({ text, values });
      return query(text, ...values);
    },
  });
  return {
    ...database,
    ...recorded(database),
    atomically: (work) => database.atomically((on) => work(recorded(on))),
  };
}

export interface Cost {
  /** Rows that scans of the fleet's tables read, whether or not the statement needed them. */
  readonly rows: number;
  /** Pages of 8 kB that the statement read from memory or disk. */
  readonly pages: number;
}

interface PlanNode {
  readonly [name: string]: unknown;
  readonly Plans?: readonly PlanNode[];
}

/** Executes a statement and rolls it back. Returns its cost. */
export async function costOf(database: FleetDatabase, { text, values }: Recorded): Promise<Cost> {
  const undone = new UserError('undone');
  let cost: Cost | undefined;
  try {
    await database.atomically(async ({ query }) => {
      const [row] = await query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, ...values);
      const [explained] = (row?.['QUERY PLAN'] ?? []) as readonly { readonly Plan: PlanNode }[];
      const plan = explained?.Plan ?? {};
      const pages = Number(plan['Shared Hit Blocks']) + Number(plan['Shared Read Blocks']);
      cost = { rows: rowsReadBy(plan), pages };
      throw undone;
    });
  } catch (error) {
    if (error !== undone) throw error;
  }
  return cost ?? { rows: 0, pages: 0 };
}

function rowsReadBy(node: PlanNode): number {
  const own = ['Actual Rows', 'Rows Removed by Filter', 'Rows Removed by Index Recheck'].map((key) =>
    Number(node[key] ?? 0),
  );
  const read = 'Relation Name' in node && String(node['Node Type']).includes('Scan') ? own : [];
  const total = read.reduce((sum, rows) => sum + rows, 0) * Number(node['Actual Loops'] ?? 0);
  return (node.Plans ?? []).map(rowsReadBy).reduce((sum, rows) => sum + rows, Math.round(total));
}

export async function costsOf(database: FleetDatabase, statements: readonly Recorded[]): Promise<Cost> {
  const all: Cost[] = [];
  for (const each of statements) all.push(await costOf(database, each));
  return all.reduce((sum, { rows, pages }) => ({ rows: sum.rows + rows, pages: sum.pages + pages }), {
    rows: 0,
    pages: 0,
  });
}
