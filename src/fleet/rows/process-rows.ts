import type { FleetStatements } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';
import { storableJson } from '../database/storable-json.ts';

export interface ServingProcess {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** Of voxform. */
  readonly version: string;
  /** Runs at once. */
  readonly slots: number;
  /** By name, what its fleet file means by it. */
  readonly sources: Readonly<Record<string, string>>;
}

interface ProcessBeat {
  readonly isEnding: boolean;
  readonly runs: readonly { readonly address: string; readonly since: string }[];
}

const S = FLEET_SCHEMA;

/** Says that a process lives and what it does. One that was silent for a day is removed. */
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

/** Of all processes that came before the only one that can be. */
export async function removeProcesses({ ask }: FleetStatements): Promise<void> {
  await ask(`DELETE FROM ${S}.processes`);
}

/** Of a process that ended in order. */
export async function removeProcess({ ask }: FleetStatements, id: string): Promise<void> {
  await ask(`DELETE FROM ${S}.processes WHERE id = $1`, id);
}

/** Removes what is older, in milliseconds, from the list of runs, and plans that were decided on or overtaken before. */
export async function removeOldRuns({ ask }: FleetStatements, retention: number): Promise<void> {
  await ask(`DELETE FROM ${S}.runs WHERE started_at < now() - $1 * interval '1 millisecond'`, retention);
  await ask(
    `DELETE FROM ${S}.plans WHERE state IN ('rejected', 'stale', 'applied') AND coalesce(decided_at, made_at) < now() - $1 * interval '1 millisecond'`,
    retention,
  );
}
