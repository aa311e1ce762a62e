import { basename, dirname, join } from 'node:path';
import { type Files, syncFolderOf } from '../../../files/files.ts';
import { replaceFile } from '../../../files/replace-file.ts';
import { compareText } from '../../../problems/compare-text.ts';
import { errorCode } from '../../../problems/error-code.ts';
import { UserError } from '../../../problems/user-error.ts';
import { jsonEqual } from '../../../values/json.ts';
import { parseState, stateBytes } from '../../document-text.ts';
import { emptyDocument, fold } from '../../fold.ts';
import { type JournalEntry, journalLine, parseJournal, type StoredEntry, validEntries } from '../../journal-lines.ts';
import { isSuperseded, type Marks } from '../../marks.ts';
import { noSeal, type Seal } from '../../seal.ts';
import type { StateDocument } from '../../state-document.ts';
import { LostState, type NewerState } from '../../state-errors.ts';
import { missingFrom } from '../../state-records.ts';
import type { StateBackup } from '../../store.ts';
import { decryptContent, parseContent } from '../object-store/stored-content.ts';
import { journalPathOf, newerBackups, readContent } from './document-file.ts';
import { readIfExists } from './file-problem.ts';

interface FoundFile {
  readonly source: string;
  readonly modified: number;
}

interface DatedBackup extends StateBackup, FoundFile {
  readonly lineage: string;
  /** The serial of a document. A journal has the serial of its document plus 0.5. */
  readonly step: number;
}

/**
 * Reads the document, the journal and the backups of a state, and quarantined states, newest first. Files of one lineage are ordered by
 * serial, because a file may have been copied at any time. Unreadable files are skipped.
 */
export async function readBackups(files: Files, path: string, seal: Seal | undefined): Promise<StateBackup[]> {
  const documents: { readonly from: FoundFile; readonly document: StateDocument }[] = [];
  const dated: DatedBackup[] = [];
  const [journals, others] = await filesOf(files, path);
  for (const from of others) {
    const document = await documentIn(files, from.source, seal);
    if (document === undefined) continue;
    documents.push({ from, document });
    const { serial: step, workspace_id: workspaceId } = document;
    dated.push({ ...contentOf(document), ...from, step, workspaceId, isCurrent: from.source === path });
  }
  for (const from of journals) {
    const bytes = (await readIfExists(files, from.source).catch(() => undefined)) ?? Buffer.alloc(0);
    const byDocument = Map.groupBy(validEntries(bytes), ({ lineage, serial }) => `${serial} ${lineage}`);
    for (const journal of byDocument.values()) {
      const { lineage = '', serial = 0 } = journal[0] ?? {};
      const opened = await decryptContent({ document: undefined, journal }, from.source, seal).catch(() => undefined);
      if (opened === undefined) continue;
      const { journal: entries } = opened;
      const base = documents.find((each) => each.document.lineage === lineage && each.document.serial === serial);
      const content = contentOf(base?.document ?? emptyDocument({ lineage, salt: '' }, '', ''), entries);
      const workspaceId = base?.document.workspace_id;
      dated.push({ ...content, ...from, step: serial + 0.5, workspaceId, isCurrent: false });
    }
  }
  const latest = new Map<string, number>();
  for (const { lineage, modified } of dated) latest.set(lineage, Math.max(modified, latest.get(lineage) ?? 0));
  return dated
    .sort(
      (a, b) =>
        (latest.get(b.lineage) ?? 0) - (latest.get(a.lineage) ?? 0) ||
        compareText(a.lineage, b.lineage) ||
        b.step - a.step ||
        b.modified - a.modified ||
        compareText(a.source, b.source),
    )
    .map(({ lineage: _, step: __, modified: ___, ...backup }) => backup);
}

function contentOf(
  document: StateDocument,
  entries: readonly JournalEntry[] = [],
): Pick<DatedBackup, 'resources' | 'pending' | 'orphans' | 'lineage'> {
  const { resources, pending, orphans, lineage } = fold(document, entries);
  return { resources, pending, orphans, lineage };
}

/**
 * Quarantines a damaged state. If the document can be read, moves only the journal.
 * @returns the new path; undefined if there was nothing to move.
 * @throws UserError if a newer voxform wrote the state.
 */
export async function quarantine(files: Files, path: string, id: string): Promise<string | undefined> {
  const journal = journalPathOf(path);
  try {
    const content = await readContent(files, path);
    const { document } = parseContent({ ...content, journal: new Uint8Array() }, path);
    if (document !== undefined) {
      const moved = `${journal}.aside-${id}`;
      await files.rename(journal, moved);
      await syncFolderOf(files, path);
      return moved;
    }
  } catch (error) {
    if (!(error instanceof LostState)) throw error;
  }
  const names = await namesIn(files, dirname(path));
  const own = names.filter((name) => isOwn(name, basename(path)));
  if (own.length === 0) return undefined;
  const folder = `${path}.lost-${id}`;
  await files.mkdir(folder, { mode: 0o700 });
  // The document is moved last, because no run creates a new state while a document exists, even if the document is damaged.
  for (const name of own.sort((a, b) => b.length - a.length)) {
    await files.rename(join(dirname(path), name), join(folder, name));
  }
  await syncFolderOf(files, path);
  return folder;
}

/** True for the name of the document, its journal or one of its backups. */
function isOwn(name: string, document: string): boolean {
  return name === document || name === `${document}.journal` || /^\.backup-\d+$/.test(name.slice(document.length))
    ? name.startsWith(document)
    : false;
}

/** Returns the journals and the documents, including quarantined files. */
async function filesOf(files: Files, path: string): Promise<[journals: FoundFile[], documents: FoundFile[]]> {
  const [folder, document] = [dirname(path), basename(path)];
  const paths: string[] = [];
  for (const name of await namesIn(files, folder)) {
    const file = join(folder, name);
    if (isOwn(name, document) || name.startsWith(`${document}.journal.aside-`)) paths.push(file);
    if (!name.startsWith(`${document}.lost-`)) continue;
    const lost = await namesIn(files, file);
    paths.push(...lost.filter((each) => isOwn(each, document)).map((each) => join(file, each)));
  }
  const found: [FoundFile[], FoundFile[]] = [[], []];
  for (const source of paths) {
    const { mtimeMs: modified } = await files.stat(source);
    found[basename(source).includes('.journal') ? 0 : 1].push({ source, modified });
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

/** Rewrites the backups in the form that `seal` specifies. @returns the paths of unreadable backups, which stay unchanged. */
export async function convertBackups(files: Files, path: string, seal: Seal): Promise<string[]> {
  const unreadable: string[] = [];
  const [journals, documents] = await filesOf(files, path);
  for (const { source } of documents) {
    // The commit has already rewritten the document.
    if (source === path) continue;
    const document = await documentIn(files, source, seal);
    if (document === undefined) unreadable.push(source);
    else await replaceFile(source, [stateBytes(await seal.encrypt(document))], { files });
  }
  for (const { source } of journals) {
    if (source === journalPathOf(path)) continue;
    const journal = await journalIn(files, source);
    if (journal === undefined) {
      unreadable.push(source);
      continue;
    }
    const entries = (await decryptContent({ document: undefined, journal }, source, seal)).journal;
    const sealed = await Promise.all(entries.map((entry) => seal.encryptEntry(entry)));
    await replaceFile(source, sealed.map(journalLine).join(''), { files });
  }
  return unreadable;
}

/** Returns undefined for a damaged journal. Its damaged lines may contain ids that exist nowhere else. */
async function journalIn(files: Files, source: string): Promise<readonly StoredEntry[] | undefined> {
  try {
    return parseJournal((await readIfExists(files, source)) ?? Buffer.alloc(0), source).entries;
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}

interface NewerSearch {
  readonly files: Files;
  /** Path of the document. */
  readonly path: string;
  readonly marks?: Marks | undefined;
  readonly seal?: Seal | undefined;
  /** True to ignore the backups. A run that died during a commit leaves a journal and a newer backup, but the state is not outdated. */
  readonly hasJournal: boolean;
}

/** Finds a write that is later than the document, in the backups and the mark of this machine. */
export async function newerThan(
  document: StateDocument,
  { files, path, marks, seal, hasJournal }: NewerSearch,
): Promise<NewerState | undefined> {
  const mark = await marks?.read(document);
  const newerMark = mark !== undefined && isSuperseded(document, mark) ? mark : undefined;
  const paths = hasJournal ? [] : await newerBackups(files, path, document.serial);
  if (newerMark !== undefined && newerMark.path !== path) paths.push(newerMark.path);
  let newest: { readonly file: string; readonly copy: StateDocument } | undefined;
  for (const file of paths) {
    const copy = await documentIn(files, file, seal);
    if (copy === undefined || !isLater(copy, document) || isRewrite(copy, document)) continue;
    if (newest === undefined || copy.serial > newest.copy.serial) newest = { file, copy };
  }
  if (newest === undefined) return newerMark && { serial: newerMark.serial, copy: undefined, missing: [] };
  const { file, copy } = newest;
  return {
    serial: Math.max(copy.serial, newerMark?.serial ?? 0),
    copy: file,
    missing: missingFrom(document, copy),
  };
}

function isLater(copy: StateDocument, document: StateDocument): boolean {
  const isSame = copy.lineage === document.lineage && copy.workspace_id === document.workspace_id;
  return isSame && isSuperseded(document, copy);
}

/** True if the copy has the same content as the document, because `state seal` died before it replaced the document. */
function isRewrite(copy: StateDocument, document: StateDocument): boolean {
  const { serial, write, voxform_version } = document;
  return jsonEqual({ ...copy, serial, write, voxform_version }, document);
}

/** Returns the document in a file; undefined if the file is unreadable and therefore cannot be pushed either. */
async function documentIn(files: Files, file: string, seal: Seal = noSeal): Promise<StateDocument | undefined> {
  try {
    const bytes = await readIfExists(files, file);
    return bytes && (await seal.decryptCopy(parseState(bytes, file, ''), file));
  } catch {
    return undefined;
  }
}
