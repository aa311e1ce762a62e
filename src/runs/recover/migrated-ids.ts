import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { errorCode, errorMessage } from '../../problems/error-code.ts';
import { UserError } from '../../problems/user-error.ts';
import { readRows } from '../import-rows.ts';
import { MAPS_FOLDER, mapColumn } from '../migrate/id-map.ts';
import type { RememberedState } from './merge-backups.ts';

/**
 * The ids of a workspace in migration maps. Invalid rows are skipped.
 * @throws UserError
 */
export async function migratedIds(root: string, workspace: string): Promise<RememberedState[]> {
  const folder = path.join(root, MAPS_FOLDER);
  try {
    const files = (await readdir(folder)).filter(
      (file) => file.endsWith('.csv') && mapColumn(file, workspace) !== undefined,
    );
    return await Promise.all(
      files.sort().map(async (file) => {
        const { rows } = readRows(await readFile(path.join(folder, file), 'utf8'), { file, workspace });
        return {
          source: file,
          workspaceId: undefined,
          resources: new Map(rows.map(({ address, id }) => [address, { id }])),
          pending: new Map(),
          orphans: [],
        };
      }),
    );
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw new UserError(`cannot read ${MAPS_FOLDER}: ${errorMessage(error)}`, {
      hint: 'It has the ids of a migration. Make it readable, or move it away.',
      cause: error,
    });
  }
}
