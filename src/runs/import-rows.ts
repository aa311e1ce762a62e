import { claimOf, isImported } from '../engine/apply/import-record.ts';
import { eachConcurrently } from '../engine/observe/each-concurrently.ts';
import { createRecheck } from '../engine/observe/recheck.ts';
import { kinds, lookups } from '../kinds/index.ts';
import type { Kind } from '../kinds/kind.ts';
import { unknownKind } from '../manifests/envelope.ts';
import { declarationProblem, parseAddress } from '../manifests/resource.ts';
import type { Diagnostic } from '../problems/diagnostic.ts';
import { UserError } from '../problems/user-error.ts';
import type { StateSession } from '../state/session.ts';
import { MAP_COLUMNS, mapColumn, mapPath } from './migrate/id-map.ts';
import type { RecordReads } from './orphan-status.ts';

/** One line of an import file. */
interface ImportRow {
  readonly address: string;
  readonly id: string;
  /** The first line is 1. */
  readonly line: number;
}

/** The error for an invalid import file, with all problems by line. */
export class InvalidRows extends UserError {
  override readonly name = 'InvalidRows';
  readonly diagnostics: readonly Diagnostic[];

  constructor(diagnostics: readonly Diagnostic[]) {
    super(diagnostics.map(({ file, line, message }) => `${file}:${line}  ${message}`).join('\n'), {
      hint: 'Nothing was imported.',
    });
    this.diagnostics = diagnostics;
  }
}

interface RowProblem {
  readonly line: number;
  readonly message: string;
}

const COLUMNS: readonly string[] = ['address', 'id'];

/**
 * Returns the rows of a CSV file with the header `address,id`, or of a migration map, and the problems of invalid rows. Rows of a map
 * without an id of this workspace are skipped.
 * @param origin the file name, and the workspace whose ids are read from a map.
 */
export function readRows(
  text: string,
  origin: { readonly file: string; readonly workspace: string },
): { readonly rows: readonly ImportRow[]; readonly problems: readonly RowProblem[] } {
  const rows: ImportRow[] = [];
  const problems: RowProblem[] = [];
  const lines = text.split(/\r\n|\r|\n/);
  const header = cellsOf(lines[0] ?? '')?.join(',');
  const isMap = header === MAP_COLUMNS.join(',');
  const columns = isMap ? MAP_COLUMNS : COLUMNS;
  const idColumn = columns.indexOf(isMap ? (mapColumn(origin.file, origin.workspace) ?? '') : 'id');
  if (header !== columns.join(',')) {
    const message = `the first line must be the header ${COLUMNS.join(',')}, or the header of a migration map`;
    return { rows, problems: [{ line: 1, message }] };
  }
  if (idColumn === -1) {
    const message = `cannot determine which column contains the ids of ${origin.workspace}: use the file name that migrate created, such as ${mapPath({ from: 'OLD', to: origin.workspace })}`;
    return { rows, problems: [{ line: 1, message }] };
  }
  const byAddress = new Map<string, number>();
  const byRecord = new Map<string, number>();
  for (const [index, lineText] of lines.entries()) {
    if (index === 0 || lineText.trim() === '') continue;
    const line = index + 1;
    const cells = cellsOf(lineText);
    if (isMap && cells?.length === columns.length && cells[idColumn] === '') continue;
    const row = readRow(cells, columns, idColumn);
    if (typeof row === 'string') {
      problems.push({ line, message: row });
      continue;
    }
    const { address, id, kind } = row;
    const sameAddress = byAddress.get(address);
    const sameRecord = byRecord.get(`${kind}/${id}`);
    // A killed migration may have written a row twice.
    if (isMap && sameAddress !== undefined && sameAddress === sameRecord) continue;
    if (sameAddress !== undefined) problems.push({ line, message: `${address} is already on line ${sameAddress}` });
    else if (sameRecord !== undefined) problems.push({ line, message: `${id} is already on line ${sameRecord}` });
    else {
      byAddress.set(address, line);
      byRecord.set(`${kind}/${id}`, line);
      rows.push({ address, id, line });
    }
  }
  if (rows.length === 0 && problems.length === 0) problems.push({ line: 1, message: 'no rows below the header' });
  return { rows, problems };
}

/** Returns the content of a line, or a problem. */
function readRow(
  cells: readonly string[] | undefined,
  columns: readonly string[],
  idColumn: number,
): { readonly address: string; readonly id: string; readonly kind: string } | string {
  if (cells === undefined) return 'unclosed quote, or text after a closing quote';
  const { 0: address = '', [idColumn]: id = '' } = cells;
  if (cells.length !== columns.length)
    return `expected ${columns.length} cells (${columns.join(',')}), got ${cells.length}`;
  const kind = importableKind(address);
  if (typeof kind === 'string') return kind;
  if (id === '' || /[\s/]/.test(id)) return `${JSON.stringify(id)} is not an id`;
  return { address, id, kind: kind.name };
}

/** Returns the kind of an address, or a problem if no manifest can have the address. */
export function importableKind(address: string): Kind | string {
  const name = parseAddress(address)?.kind;
  if (name === undefined) return `${JSON.stringify(address)} is not an address such as Agent/support-line`;
  const kind = kinds.get(name);
  if (kind === undefined) return unknownKind(name, { kinds, lookups }).message;
  const refusal = declarationProblem(address);
  return refusal === undefined ? kind : `${address}: ${refusal}`;
}

/** Returns the cells of a line without surrounding spaces; undefined if the quotes do not match. */
function cellsOf(line: string): string[] | undefined {
  const cells: string[] = [];
  const cell = /\s*(?:"((?:[^"]|"")*)"|([^",]*))\s*(,|$)/y;
  let hasMore = true;
  while (hasMore) {
    const match = cell.exec(line);
    if (match === null) return undefined;
    cells.push(match[1]?.replaceAll('""', '"') ?? match[2]?.trim() ?? '');
    hasMore = match[3] === ',';
  }
  return cells;
}

export interface RowsImport extends RecordReads {
  readonly session: StateSession;
  now(): Date;
}

/** Returns the rows that are not imported yet, and the problems in the order of the lines. Does not change the state. */
export async function checkRows(
  rows: readonly ImportRow[],
  input: RowsImport,
): Promise<{ readonly fresh: readonly ImportRow[]; readonly problems: readonly RowProblem[] }> {
  const { session, concurrency, now } = input;
  const recheck = createRecheck(input, { maxAgeMilliseconds: Number.POSITIVE_INFINITY, now });
  const problems: RowProblem[] = [];
  const imported = new Set<ImportRow>();
  await eachConcurrently(rows, concurrency, async (row) => {
    try {
      if (await isImported(claimOf(row.address, row.id), session.state, recheck)) imported.add(row);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      problems.push({ line: row.line, message: error.message });
    }
  });
  problems.sort((a, b) => a.line - b.line);
  return { fresh: rows.filter((row) => !imported.has(row)), problems };
}
