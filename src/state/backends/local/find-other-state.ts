import { basename, join } from 'node:path';
import { nodeFiles } from '../../../files/files.ts';
import { compareText } from '../../../problems/compare-text.ts';
import { recordCount } from '../../fold.ts';
import { MovedState } from '../../state-errors.ts';
import type { StateBackup } from '../../store.ts';
import { recordsIn as countIn, parseContent } from '../object-store/stored-content.ts';
import { readBackups } from './backups.ts';
import { readContent, targetOf } from './document-file.ts';

/** Describes a search for a state of a workspace under another name. */
interface OtherStateSearch {
  /** Path of the document in the workspace's settings; undefined if it is not on this machine. */
  readonly path: string | undefined;
  /** Paths of the states that other workspaces are configured to use. */
  readonly others: readonly string[];
  /** Folders that are searched for `*.state.json`. */
  readonly folders: readonly string[];
  readonly workspaceId: string;
  /** File name of a document that is assumed to belong to the workspace if it cannot be read. */
  readonly name: string;
}

export interface OtherState {
  readonly path: string;
  /** Number of records; undefined if the state cannot be read. */
  readonly records: number | undefined;
}

/** Finds another state of the same workspace that has records. Skips moved states and states of other workspaces. */
export async function findOtherState(search: OtherStateSearch): Promise<OtherState | undefined> {
  const own = search.path;
  const named = (await Promise.all(search.folders.map(documentsIn))).flat();
  const checked = new Set(own === undefined ? [] : [await targetOf(nodeFiles, own).catch(() => own)]);
  for (const path of [...search.others, ...named]) {
    const real = await targetOf(nodeFiles, path).catch(() => path);
    if (checked.has(real)) continue;
    checked.add(real);
    const records = await countRecords(real, search);
    if (records !== 0) return { path, records };
  }
  return undefined;
}

/** Returns the paths of the documents in a folder, including missing documents that still have a journal or a backup. */
async function documentsIn(folder: string): Promise<string[]> {
  const names = await nodeFiles.readdir(folder).catch(() => []);
  const documents = names.flatMap((name) => /^(.+?\.state\.json)(\.(journal|backup-\d+))?$/.exec(name)?.[1] ?? []);
  return [...new Set(documents)].sort(compareText).map((name) => join(folder, name));
}

/** Returns the number of records in a state of the workspace; 0 for another workspace, undefined if the state is unreadable. */
async function countRecords(path: string, { workspaceId, name }: OtherStateSearch): Promise<number | undefined> {
  try {
    const content = parseContent(await readContent(nodeFiles, path), path);
    return content.document?.workspace_id === workspaceId ? countIn(content) : 0;
  } catch (error) {
    if (error instanceof MovedState) return 0;
    const backups = await readBackups(nodeFiles, path, undefined).catch((): StateBackup[] => []);
    const ours = backups.find((each) => each.workspaceId === workspaceId);
    if (ours !== undefined) return recordCount(ours);
    const isForeign = backups.some((each) => each.workspaceId !== undefined);
    return basename(path) === name && !isForeign ? undefined : 0;
  }
}
