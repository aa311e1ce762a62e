import { claimOf, isTakenAlready } from '../engine/apply/import-record.ts';
import { eachConcurrently } from '../engine/observe/each-concurrently.ts';
import { createRecheck } from '../engine/observe/recheck.ts';
import { UserError } from '../problems/user-error.ts';
import type { StateSession } from '../state/session.ts';
import type { ImportRow, RowProblem } from './import-rows.ts';
import type { RecordReads } from './orphans.ts';

export interface RowsImport extends RecordReads {
  readonly session: StateSession;
  now(): Date;
}

interface CheckedRows {
  /** Those that are to be recorded. */
  readonly fresh: readonly ImportRow[];
  /** In the order of the lines: addresses and records that are taken, and records that are not there. */
  readonly problems: readonly RowProblem[];
}

/** Looks whether each row can be taken in. Records nothing. */
export async function checkRows(rows: readonly ImportRow[], input: RowsImport): Promise<CheckedRows> {
  const { session, concurrency, now } = input;
  const recheck = createRecheck(input, { maxAgeMilliseconds: Number.POSITIVE_INFINITY, now });
  const problems: RowProblem[] = [];
  const held = new Set<ImportRow>();
  await eachConcurrently(rows, concurrency, async (row) => {
    try {
      if (await isTakenAlready(claimOf(row.address, row.id), session.state, recheck)) held.add(row);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      problems.push({ line: row.line, message: error.message });
    }
  });
  problems.sort((a, b) => a.line - b.line);
  return { fresh: rows.filter((row) => !held.has(row)), problems };
}
