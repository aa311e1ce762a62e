import type { FleetStatements } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';
import { storableJson } from '../database/storable-json.ts';

export interface ServingProcess {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly slots: number;
  /** The identity of each source, by name. */
  readonly sources: Readonly<Record<string, string>>;
}

interface ProcessBeat {
  readonly isEnding: boolean;
  readonly runs: readonly { readonly address: string; readonly since: string }[];
}

const S = FLEET_SCHEMA;

/** Sends a heartbeat with the current runs. A process that was silent for a day is removed. */
export async function enterProcess(
  { ask }: FleetStatements,
  { id, host, pid, version, slots, sources }: ServingProcess,
  { isEnding, runs }: ProcessBeat,
): Promise<void> {
  await ask(
    `WITH gone AS (DELETE FROM ${S}.processes WHERE heard_at < now() - interval '1 day' AND id <> $1)
INSERT INTO ${S}.processes (id, host, pid, version, slots, ending, runs, sources) VALUES ($1, $2, $3, $4, $5, $6, $7::json, $8::json)
ON CONFLICT (id) DO UPDATE SET heard_at = now(), ending = excluded.ending, runs = excluded.runs`,
    id,
    host,
    pid,
    version,
    slots,
    isEnding,
    JSON.stringify(runs),
    storableJson(sources),
  );
}

/** Removes earlier processes, of which there can be only one. */
export async function removeProcesses({ ask }: FleetStatements): Promise<void> {
  await ask(`DELETE FROM ${S}.processes`);
}

/** Removes a process that ended properly. */
export async function removeProcess({ ask }: FleetStatements, id: string): Promise<void> {
  await ask(`DELETE FROM ${S}.processes WHERE id = $1`, id);
}

/** Removes runs that are older, and plans that were decided or replaced before. Milliseconds. */
export async function removeOldRuns({ ask }: FleetStatements, retention: number): Promise<void> {
  await ask(`DELETE FROM ${S}.runs WHERE started_at < now() - $1 * interval '1 millisecond'`, retention);
  await ask(
    `DELETE FROM ${S}.plans WHERE state IN ('rejected', 'stale', 'applied') AND coalesce(decided_at, made_at) < now() - $1 * interval '1 millisecond'`,
    retention,
  );
}
