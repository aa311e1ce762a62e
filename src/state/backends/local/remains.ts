import { basename, dirname, join } from 'node:path';
import { type Files, syncFolderOf } from '../../../files/files.ts';
import { compareText } from '../../../problems/compare-text.ts';
import { errorCode } from '../../../problems/error-code.ts';
import type { StateDocument } from '../../document.ts';
import { parseState } from '../../document-text.ts';
import { emptyDocument, fold } from '../../fold.ts';
import type { JournalEntry } from '../../journal.ts';
import { LostState } from '../../lost-state.ts';
import type { Remains } from '../../store.ts';
import { readDocument } from './document-file.ts';
import { readIfThere } from './file-problem.ts';
import { wholeEntries } from './journal-file.ts';
import { journalPathOf } from './read-stored.ts';

interface Found {
  readonly path: string;
  readonly modified: number;
}

interface Dated extends Remains {
  readonly lineage: string;
  /** Serials of documents; a journal comes half a step after the document that it continues. */
  readonly step: number;
  readonly modified: number;
}

/**
 * What the files beside a state, and those that were set aside, tell of it: the newest first, by their serials as far as these can be
 * compared, because a file may have been copied at any time. Files that cannot be read are passed over.
 */
export async function readRemains(files: Files, path: string): Promise<Remains[]> {
  const documents: { readonly file: Found; readonly document: StateDocument }[] = [];
  const journals: { readonly file: Found; readonly entries: readonly JournalEntry[] }[] = [];
  for (const file of await filesOf(files, path)) {
    const bytes = await readIfThere(files, file.path).catch(() => undefined);
    if (bytes === undefined) continue;
    if (basename(file.path).includes('.journal')) journals.push({ file, entries: wholeEntries(bytes) });
    else {
      const document = parsed(bytes, file.path);
      if (document !== undefined) documents.push({ file, document });
    }
  }
  const dated = [
    ...documents.map(({ file, document }): Dated => {
      const { lineage, serial, workspace_id: workspaceId } = document;
      const isInForce = file.path === path;
      return {
        ...contentOf(document, []),
        ...sourceOf(file),
        lineage,
        step: serial,
        workspaceId,
        isInForce,
      };
    }),
    ...journals.flatMap(({ file, entries }) =>
      [...Map.groupBy(entries, ({ lineage, serial }) => `${serial} ${lineage}`).values()].flatMap(
        (members): Dated[] => {
          const [first] = members;
          if (first === undefined) return [];
          const { lineage, serial } = first;
          const base = documents.find(
            ({ document }) => document.lineage === lineage && document.serial === serial,
          )?.document;
          const start = base ?? emptyDocument({ lineage, salt: '' }, '', '');
          return [
            {
              ...contentOf(start, members),
              ...sourceOf(file),
              lineage,
              step: serial + 0.5,
              workspaceId: base?.workspace_id,
              isInForce: false,
            },
          ];
        },
      ),
    ),
  ];
  const latest = new Map<string, number>();
  for (const { lineage, modified } of dated)
    latest.set(lineage, Math.max(modified, latest.get(lineage) ?? 0));
  return dated
    .sort(
      (a, b) =>
        (latest.get(b.lineage) ?? 0) - (latest.get(a.lineage) ?? 0) ||
        compareText(a.lineage, b.lineage) ||
        b.step - a.step ||
        b.modified - a.modified ||
        compareText(a.source, b.source),
    )
    .map(({ lineage: _, step: __, modified: ___, ...remains }) => remains);
}

function sourceOf({ path, modified }: Found): Pick<Dated, 'source' | 'modified'> {
  return { source: path, modified };
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

function contentOf(
  document: StateDocument,
  entries: readonly JournalEntry[],
): Pick<Remains, 'resources' | 'pending' | 'orphans'> {
  const { resources, pending, orphans } = fold(document, entries);
  return { resources, pending, orphans };
}
