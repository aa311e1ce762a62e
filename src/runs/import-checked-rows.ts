import { type Claim, isTakenAlready, recordClaim } from '../engine/apply/import-record.ts';
import { eachConcurrently } from '../engine/observe/each-concurrently.ts';
import { createRecheck } from '../engine/observe/recheck.ts';
import { kindNamed } from '../kinds/index.ts';
import { kindOf } from '../manifests/resource.ts';
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
      if (await isTakenAlready(claimOf(row), session.state, recheck)) held.add(row);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      problems.push({ line: row.line, message: error.message });
    }
  });
  problems.sort((a, b) => a.line - b.line);
  return { fresh: rows.filter((row) => !held.has(row)), problems };
}

/** Puts rows that were checked into the state. */
export async function recordRows(rows: readonly ImportRow[], input: RowsImport): Promise<void> {
  // At once, so that one sync of the journal keeps many of them.
  await Promise.all(rows.map((row) => recordClaim(claimOf(row), input)));
}

function claimOf({ address, id }: ImportRow): Claim {
  return { address, id, kind: kindNamed(kindOf(address)) };
}
