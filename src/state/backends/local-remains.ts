import { basename, dirname, join } from 'node:path';
import type { StateDocument } from '../document.ts';
import { parseState } from '../document-text.ts';
import { emptyDocument, fold } from '../fold.ts';
import type { JournalEntry } from '../journal.ts';
import { LostState } from '../lost-state.ts';
import type { Remains } from '../store.ts';
import { readDocument } from './document-file.ts';
import { errorCode, type Files, readIfThere, syncFolderOf } from './files.ts';
import { wholeEntries } from './journal-file.ts';
import { journalPathOf } from './local-read.ts';

interface Found {
  readonly path: string;
  readonly modified: number;
}

/**
 * What the files beside a state, and those that were set aside, tell of it: journals before documents, each the newest first. Files that
 * cannot be read are passed over.
 */
export async function readRemains(files: Files, path: string): Promise<Remains[]> {
  const found = await filesOf(files, path);
  found.sort((a, b) => b.modified - a.modified || (a.path < b.path ? -1 : 1));
  const documents: { readonly source: string; readonly document: StateDocument }[] = [];
  const journals: { readonly source: string; readonly entries: readonly JournalEntry[] }[] = [];
  for (const { path: file } of found) {
    const bytes = await readIfThere(files, file).catch(() => undefined);
    if (bytes === undefined) continue;
    if (basename(file).includes('.journal')) journals.push({ source: file, entries: wholeEntries(bytes) });
    else {
      const document = parsed(bytes, file);
      if (document !== undefined) documents.push({ source: file, document });
    }
  }
  const remains: Remains[] = [];
  for (const { source, entries } of journals) {
    for (const [serial, members] of Map.groupBy(entries, (entry) => `${entry.serial} ${entry.lineage}`)) {
      const base = documents.find(
        ({ document }) => `${document.serial} ${document.lineage}` === serial,
      )?.document;
      const lineage = members[0]?.lineage ?? '';
      const start = base ?? emptyDocument({ lineage, salt: '' }, '', '');
      remains.push({ source, workspaceId: base?.workspace_id, ...contentOf(fold(start, members)) });
    }
  }
  for (const { source, document } of documents) {
    remains.push({ source, workspaceId: document.workspace_id, ...contentOf(fold(document, [])) });
  }
  return remains;
}

/**
 * Puts a state that cannot be used out of the way. A document that can be read stays, and only the journal goes.
 * @returns where it is kept, or undefined where nothing had to be moved.
 * @throws UserError where the state must not be touched, because a newer voxform wrote it.
 */
export async function setAside(files: Files, path: string, id: string): Promise<string | undefined> {
  const journal = journalPathOf(path);
  try {
    const document = await readDocument(files, path);
    if (document !== undefined) {
      const aside = `${journal}.aside-${id}`;
      await files.rename(journal, aside);
      await syncFolderOf(files, path);
      return aside;
    }
  } catch (error) {
    if (!(error instanceof LostState)) throw error;
  }
  const names = await namesIn(files, dirname(path));
  const own = names.filter((name) => isOwn(name, basename(path)));
  if (own.length === 0) return undefined;
  const folder = `${path}.lost-${id}`;
  await files.mkdir(folder, { mode: 0o700 });
  // The document last: while it is there, damaged as it is, the state does not look as if there had never been one.
  for (const name of own.sort((a, b) => b.length - a.length)) {
    await files.rename(join(dirname(path), name), join(folder, name));
  }
  await syncFolderOf(files, path);
  return folder;
}

/** The document, its journal and its backups. */
function isOwn(name: string, document: string): boolean {
  return name === document ||
    name === `${document}.journal` ||
    /^\.backup-\d+$/.test(name.slice(document.length))
    ? name.startsWith(document)
    : false;
}

async function filesOf(files: Files, path: string): Promise<Found[]> {
  const folder = dirname(path);
  const document = basename(path);
  const found: Found[] = [];
  const add = async (place: string): Promise<void> => {
    const { mtimeMs } = await files.stat(place);
    found.push({ path: place, modified: mtimeMs });
  };
  for (const name of await namesIn(files, folder)) {
    if (isOwn(name, document) || name.startsWith(`${document}.journal.aside-`)) await add(join(folder, name));
    if (!name.startsWith(`${document}.lost-`)) continue;
    const lost = join(folder, name);
    for (const inner of await namesIn(files, lost)) if (isOwn(inner, document)) await add(join(lost, inner));
  }
  return found;
}

async function namesIn(files: Files, folder: string): Promise<string[]> {
  try {
    return await files.readdir(folder);
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return [];
    throw error;
  }
}

function parsed(bytes: Uint8Array, name: string): StateDocument | undefined {
  try {
    return parseState(bytes, name, '');
  } catch {
    return undefined;
  }
}

function contentOf({ resources, pending, orphans }: Pick<Remains, 'resources' | 'pending' | 'orphans'>) {
  return { resources, pending, orphans };
}
