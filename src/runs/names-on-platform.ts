import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { makeFolders } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { attempt } from '../problems/attempt.ts';
import type { WorkspaceConfig } from '../project/project.ts';

interface NameList {
  /** The absolute path of the cache; undefined if nothing is cached. */
  readonly cacheFolder: string | undefined;
  readonly workspace: Pick<WorkspaceConfig, 'baseUrl' | 'workspaceId' | 'state'>;
  /** The kind of lookup, such as `KnowledgeBase`. */
  readonly lookup: string;
}

/** Returns the names in the list that this machine read last; empty if there is none. */
export function knownNames(list: NameList): readonly string[] {
  const file = fileOf(list);
  const names: unknown = file && attempt(() => JSON.parse(readFileSync(file, 'utf8')));
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
}

/** Yields the records unchanged. After the last record, caches their names for editors. */
export async function* cachingNames<T extends { readonly name?: string | null | undefined }>(
  records: AsyncIterable<T>,
  { mayCache, ...list }: NameList & { mayCache(name: string): boolean },
): AsyncIterable<T> {
  const names: string[] = [];
  for await (const record of records) {
    if (typeof record.name === 'string') names.push(record.name);
    yield record;
  }
  const file = fileOf(list);
  const text = JSON.stringify([...new Set(names)].filter(mayCache).sort());
  if (file === undefined || text === JSON.stringify(knownNames(list))) return;
  try {
    await makeFolders(path.dirname(file), { mode: 0o700 });
    await replaceFile(file, text, { isDurable: false });
  } catch (error) {
    // If the cache cannot be written, editors keep the earlier names.
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
}

function fileOf({ cacheFolder, workspace, lookup }: NameList): string | undefined {
  const { baseUrl, workspaceId, state } = workspace;
  if (state.seal !== undefined) return undefined;
  const key = hash('sha256', JSON.stringify([lookup, baseUrl, workspaceId])).slice(0, 24);
  return cacheFolder && path.join(cacheFolder, 'names', `${key}.json`);
}
