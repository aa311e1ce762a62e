import { appendFileSync } from 'node:fs';
import path from 'node:path';
import { makeFolders } from '../../files/files.ts';
import { replaceFile } from '../../files/replace-file.ts';
import type { Address } from '../../manifests/resource.ts';

/** The ids of a resource in both workspaces; null if the record does not exist or is unknown. */
export interface MappedIds {
  readonly address: Address;
  readonly from: string | null;
  readonly to: string | null;
}

/** The folder of all maps, relative to the project folder. */
export const MAPS_FOLDER = '.voxform/migrations';

/** Returns the path of the file with the ids of a migration, relative to the project folder. */
export function mapPath({ from, to }: { readonly from: string; readonly to: string }): string {
  return `${MAPS_FOLDER}/${from}-to-${to}.csv`;
}

export const MAP_COLUMNS: readonly string[] = ['address', 'from_id', 'to_id'];

/** Returns the column with the ids of a workspace; undefined if the file name does not name the workspace. */
export function mapColumn(file: string, workspace: string): 'from_id' | 'to_id' | undefined {
  const name = path.basename(file, '.csv');
  if (name.startsWith(`${workspace}-to-`)) return 'from_id';
  return name.endsWith(`-to-${workspace}`) ? 'to_id' : undefined;
}

/** Writes a CSV file with the old and new id of each resource. The states are authoritative; the next run adds missing lines. */
export async function writeMap(file: string, rows: readonly MappedIds[]): Promise<void> {
  await makeFolders(path.dirname(file));
  await replaceFile(file, mapText(rows), { mode: 0o644 });
}

export function addToMap(file: string, row: MappedIds): void {
  appendFileSync(file, lineOf(row));
}

/** Returns the content of the file: all resources with a record in the target workspace, by address. */
export function mapText(rows: readonly MappedIds[]): string {
  const migrated = rows.filter(({ to }) => to !== null).sort((a, b) => (a.address < b.address ? -1 : 1));
  return `${MAP_COLUMNS.join(',')}\n${migrated.map(lineOf).join('')}`;
}

function lineOf({ address, from, to }: MappedIds): string {
  return `${[address, from ?? '', to ?? ''].map(csvCell).join(',')}\n`;
}

function csvCell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
