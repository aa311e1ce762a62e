import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import type { FleetDatabase } from '../../src/fleet/database/fleet-database.ts';
import type { StoredState } from './fleet-states.ts';

/** Linux counts processor time in ticks. */
const TICKS_PER_SECOND = 100;

/** The delay of runs in seconds; `high` is the 99th percentile. */
interface Lateness {
  readonly median: number;
  readonly high: number;
  readonly most: number;
}

export interface FleetSample {
  readonly lateness: Lateness;
  /** The age of the oldest check in seconds. */
  readonly unchecked: number;
  readonly connections: number;
  readonly runs: number;
  /** The size of each table with its indexes in MiB, by name. */
  readonly tables: Readonly<Record<string, number>>;
}

/** A resource in a state. */
interface StatedResource {
  readonly workspace: string;
  readonly resource: string;
  /** The record id; undefined for an unknown create. */
  readonly id: string | undefined;
}

interface Checks {
  /** Milliseconds since 1970. Default: 0. */
  readonly since?: number;
  /** The addresses of workspaces that do not count. */
  readonly others?: readonly string[];
}

/** Reads figures of a running fleet from its database. */
export class FleetFigures {
  readonly #database: FleetDatabase;
  #began = 0;
  #processor = 0;

  constructor(database: FleetDatabase) {
    this.#database = database;
  }

  /** Inserts states, as applies would. */
  async seed(states: readonly StoredState[]): Promise<void> {
    await this.#database.query(
      `INSERT INTO voxform_fleet.states (name, write, generation, state)
SELECT name, write, write, state FROM json_to_recordset($1::json) AS s (name text, write text, state text)`,
      JSON.stringify(states),
    );
  }

  /** Waits until this many workspaces are checked. */
  async allChecked(workspaces: number, each: () => void, checks: Checks = {}): Promise<void> {
    for (;;) {
      each();
      if ((await this.checked(checks)) === workspaces) return;
      await setTimeout(1000);
    }
  }

  /** Counts the workspaces that were checked since a time and are in sync, or have only unknown creates. */
  async checked({ since = 0, others = [] }: Checks): Promise<number> {
    // Only a person can resolve an unknown create.
    const [row] = await this.#database.query(
      `SELECT count(*) AS checked FROM voxform_fleet.workspaces WHERE checked_at > to_timestamp($1 / 1000.0)
AND (status = 'in-sync' OR (last->'counts'->>'unknown')::integer > 0) AND address <> ALL ($2)`,
      since,
      others,
    );
    return Number(row?.checked);
  }

  /** Starts to count runs. */
  async begin(): Promise<void> {
    await this.#database.query(
      `CREATE EXTENSION pg_stat_statements;
CREATE TABLE begun (late double precision NOT NULL, at timestamptz NOT NULL DEFAULT now());
CREATE FUNCTION note_begun() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO begun (late) SELECT extract(epoch FROM started_on - (data->>'due')::timestamptz) FROM gone WHERE started_on IS NOT NULL;
  RETURN NULL;
END $$;
DO $$ DECLARE tab regclass; BEGIN
  FOR tab IN SELECT oid FROM pg_class WHERE relnamespace = 'voxform_queue'::regnamespace AND relname ~ '^job(_common)?$' LOOP
    EXECUTE format('CREATE TRIGGER note AFTER DELETE ON %s REFERENCING OLD TABLE AS gone EXECUTE FUNCTION note_begun()', tab);
  END LOOP;
END $$;
SELECT pg_stat_statements_reset()`,
    );
    this.#began = performance.now();
    this.#processor = await this.#serverTime();
  }

  async end() {
    const seconds = (performance.now() - this.#began) / 1000;
    const server = (await this.#serverTime()) - this.#processor;
    const [row = {}] = await this.#database.query(`SELECT count(*) AS runs, max(late) AS most,
  percentile_cont(0.5) WITHIN GROUP (ORDER BY late) AS median, percentile_cont(0.99) WITHIN GROUP (ORDER BY late) AS high,
  (SELECT sum(calls) FROM pg_stat_statements) AS statements FROM begun`);
    const lateness: Lateness = { median: Number(row.median), high: Number(row.high), most: Number(row.most) };
    return { seconds, server, lateness, runs: Number(row.runs), statements: Number(row.statements) };
  }

  /** Returns the current figures, and the lateness of the runs that ended in the last seconds. */
  async sample(seconds: number, others: readonly string[]): Promise<FleetSample> {
    const [row = {}] = await this.#database.query(
      `SELECT max(late) AS most, percentile_cont(0.5) WITHIN GROUP (ORDER BY late) AS median,
  percentile_cont(0.99) WITHIN GROUP (ORDER BY late) AS high,
  (SELECT extract(epoch FROM now() - min(checked_at)) FROM voxform_fleet.workspaces WHERE address <> ALL ($2)) AS unchecked,
  (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
  (SELECT count(*) FROM voxform_fleet.runs) AS runs,
  (SELECT json_object_agg(relname, pg_total_relation_size(oid) / 1048576.0) FROM pg_class WHERE relkind = 'r'
    AND relnamespace IN ('voxform_fleet'::regnamespace, 'voxform_queue'::regnamespace)) AS tables
FROM begun WHERE at > now() - $1 * interval '1 second'`,
      seconds,
      others,
    );
    return {
      lateness: { median: Number(row.median), high: Number(row.high), most: Number(row.most) },
      unchecked: Number(row.unchecked),
      connections: Number(row.connections),
      runs: Number(row.runs),
      tables: row.tables as Readonly<Record<string, number>>,
    };
  }

  /** Returns the entries of these resources in the states of these workspaces. */
  async statesOf(workspaces: readonly string[], resources: readonly string[]): Promise<readonly StatedResource[]> {
    const rows = await this.#database.query(
      `WITH chosen AS (SELECT name, state::json AS state FROM voxform_fleet.states WHERE name = ANY ($1))
SELECT name, r.key AS resource, r.value->>'id' AS id FROM chosen, json_each(state->'resources') r WHERE r.key = ANY ($2)
UNION ALL SELECT name, p.key, NULL FROM chosen, json_each(state->'pending') p WHERE p.key = ANY ($2)`,
      workspaces,
      resources,
    );
    return rows.map(({ name, resource, id }) => ({
      workspace: String(name),
      resource: String(resource),
      id: id === null ? undefined : String(id),
    }));
  }

  /** Waits until all workspaces have run after a change at `since` (milliseconds since 1970). Returns the seconds until the last of these runs began. */
  async untilRun(addresses: readonly string[], since: number): Promise<number> {
    for (;;) {
      const [row] = await this.#database.query(
        `SELECT extract(epoch FROM max(checked_at)) * 1000 AS at FROM voxform_fleet.workspaces
WHERE address = ANY ($1) HAVING bool_and(status = 'pending' AND checked_at > to_timestamp($2 / 1000.0))`,
        addresses,
        since,
      );
      if (row !== undefined) return (Number(row.at) - since) / 1000;
      await setTimeout(200);
    }
  }

  /** Returns the processor time of the server in seconds, or NaN on systems other than Linux. */
  async #serverTime(): Promise<number> {
    if (!existsSync('/proc/self/stat')) return Number.NaN;
    const [row] = await this.#database.query('SELECT pg_backend_pid() AS pid');
    const postmaster = statOf(String(row?.pid)).parent;
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    let total = statOf(postmaster).withChildren;
    for (const pid of pids) {
      const { parent, own } = statOf(pid);
      if (parent === postmaster) total += own;
    }
    return total;
  }
}

function statOf(pid: string): {
  readonly parent: string;
  readonly own: number;
  readonly withChildren: number;
} {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [user, system, ofUser, ofSystem] = fields.slice(11, 15).map(Number);
    const own = ((user ?? 0) + (system ?? 0)) / TICKS_PER_SECOND;
    return { parent: fields[1] ?? '', own, withChildren: own + ((ofUser ?? 0) + (ofSystem ?? 0)) / TICKS_PER_SECOND };
  } catch {
    // The process has ended. Its time is part of its parent's.
    return { parent: '', own: 0, withChildren: 0 };
  }
}
