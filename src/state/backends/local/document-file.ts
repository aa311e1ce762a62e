import { basename, dirname, join, resolve } from 'node:path';
import { type Files, ignoreMissing, syncFolderOf, unlinkIfExists } from '../../../files/files.ts';
import { writeDraftFor } from '../../../files/replace-file.ts';
import { errorCode } from '../../../problems/error-code.ts';
import { shellWord } from '../../../problems/shell-word.ts';
import { type Advice, advice, UserError } from '../../../problems/user-error.ts';
import { LostState, RECOVER } from '../../state-errors.ts';
import type { FailPoint } from '../backend.ts';
import type { ContentFiles, StoredContent } from '../object-store/object-store.ts';
import { readIfExists } from './file-problem.ts';

/** The maximum number of backups of earlier documents, in addition to the backup of the current document. */
const MAX_EARLIER = 5;

interface Backup {
  readonly path: string;
  readonly serial: number;
}

/**
 * Follows symbolic links, even to a file that does not exist yet.
 * @throws UserError if a link points into a missing folder, so that no new state is created while a volume is not mounted.
 */
export async function targetOf(files: Files, path: string): Promise<string> {
  let target = path;
  for (let links = 0; links < 40; links++) {
    const real = await files.realpath(target).catch(ignoreMissing);
    if (real !== undefined) return real;
    try {
      target = resolve(dirname(target), await files.readlink(target));
    } catch {
      if (links > 0) await requireFolder(files, path, dirname(target));
      return target;
    }
  }
  return target;
}

async function requireFolder(files: Files, path: string, folder: string): Promise<void> {
  try {
    await files.stat(folder);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    throw new UserError(`the state ${path} is a link into ${folder}, which does not exist`, {
      hint: 'Mount or restore that folder. To start a new state, create the folder first.',
      cause: error,
    });
  }
}

/** Reads the document and the journal, with a hint that explains how to restore a damaged document. */
export async function readContent(
  files: Files,
  path: string,
): Promise<Pick<StoredContent, 'state' | 'journal'> & { readonly files: ContentFiles }> {
  const journalPath = journalPathOf(path);
  // The journal is read before the document. If another run merges the journal in between, this copy is outdated, but no entry is missing.
  // The backups are listed before the document is read, because a backup must not be found without its document.
  const journal = (await readIfExists(files, journalPath)) ?? new Uint8Array();
  const [backup] = await backups(files, path);
  const restore = restoreHint(path, backup);
  const state = await readIfExists(files, path);
  const reason = backup !== undefined ? `its backup ${basename(backup.path)} exists` : 'its journal exists';
  const lost =
    state !== undefined || (backup === undefined && journal.length === 0)
      ? undefined
      : new LostState(`the state ${path} is missing, but ${reason}`, {
          hint:
            backup === undefined
              ? advice`Restore the state from version control or another backup. ${RECOVER} Move ${journalPath} away only if none of its records exist.`
              : restore,
        });
  return { state, journal, files: { document: path, journal: journalPath, restore, lost } };
}

export function journalPathOf(path: string): string {
  return `${path}.journal`;
}

interface DocumentWrite {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly serial: number;
  /** False if there is no document yet. */
  readonly replaces: boolean;
  failPoint(name: FailPoint): void;
}

/**
 * Replaces the document atomically, and stores a copy next to it as `.backup-<serial>`. The copy is stored first, so that the newest backup
 * is never older than a document that is deleted by mistake. The copy of a first document is stored afterwards, because a backup without a
 * document is reported as an error.
 */
export async function writeDocument(files: Files, writing: DocumentWrite): Promise<void> {
  const { path, bytes, serial, replaces, failPoint } = writing;
  const backup = backupPath(path, serial);
  const draft = await writeDraft(files, path, bytes);
  if (replaces) {
    await files.rename(draft, backup);
    await copySynced(files, backup, draft);
  }
  failPoint('before-rename');
  await files.rename(draft, path);
  if (!replaces) {
    await copySynced(files, path, draft);
    await files.rename(draft, backup);
  }
  await syncFolderOf(files, path);
}

/** Backs up the current document unless a backup exists. A document that another program created has no backup. */
export async function keepCurrent(
  files: Files,
  path: string,
  { bytes, serial }: Pick<DocumentWrite, 'bytes' | 'serial'>,
): Promise<void> {
  const backup = backupPath(path, serial);
  if ((await files.stat(backup).catch(ignoreMissing)) !== undefined) return;
  await files.rename(await writeDraft(files, path, bytes), backup);
}

/** Removes all but the newest backups of each lineage, because serials of different lineages cannot be compared. */
export async function pruneBackups(files: Files, path: string): Promise<void> {
  const counts = new Map<string | undefined, number>();
  for (const { path: backup } of await backups(files, path)) {
    const lineage = await lineageIn(files, backup);
    const count = (counts.get(lineage) ?? 0) + 1;
    counts.set(lineage, count);
    if (count > MAX_EARLIER + 1) await unlinkIfExists(files, backup);
  }
}

/** Writes a synced draft next to the document. @returns the path of the draft. */
function writeDraft(files: Files, path: string, bytes: Uint8Array): Promise<string> {
  return writeDraftFor(path, [Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)], {
    files,
    draft: draftOf(path),
  });
}

/** Returns the path of the draft. Only the holder of the lock writes the draft, after it has removed the draft of a dead holder. */
export function draftOf(path: string): string {
  return `${path}.tmp`;
}

/** Makes a copy instead of a link, because an editor that changes the document in place must not change the backup. */
async function copySynced(files: Files, from: string, to: string): Promise<void> {
  await files.copyFile(from, to);
  await using handle = await files.open(to, 'r+');
  await handle.sync();
}

function backupPath(path: string, serial: number): string {
  return `${path}.backup-${serial}`;
}

/** Returns the paths of the backups with a higher serial, newest first. */
export async function newerBackups(files: Files, path: string, serial: number): Promise<string[]> {
  const newer = (await backups(files, path)).filter((backup) => backup.serial > serial);
  return newer.map((backup) => backup.path);
}

/** Returns the lineage of a backup. Reads only the first lines, because a backup may be large. */
async function lineageIn(files: Files, backup: string): Promise<string | undefined> {
  await using handle = await files.open(backup, 'r');
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(1024), 0, 1024, 0);
  return /^ {2}"lineage": "(.*)",$/m.exec(buffer.toString('utf8', 0, bytesRead))?.[1];
}

/** Returns the backups, highest serial first. Modification times are not reliable, because a backup may have been copied. */
async function backups(files: Files, path: string): Promise<Backup[]> {
  const prefix = `${basename(path)}.backup-`;
  const names = (await files.readdir(dirname(path)).catch(ignoreMissing)) ?? [];
  const found: Backup[] = [];
  for (const name of names) {
    const serial = name.startsWith(prefix) ? name.slice(prefix.length) : '';
    if (!/^\d+$/.test(serial)) continue;
    const file = join(dirname(path), name);
    found.push({ path: file, serial: Number(serial) });
  }
  return found.sort((a, b) => b.serial - a.serial);
}

function restoreHint(path: string, backup: Backup | undefined): Advice {
  const restore = advice`Restore it from version control or another backup. ${RECOVER}`;
  return backup === undefined
    ? restore
    : advice`${restore} To restore the newest backup: cp ${shellWord(backup.path)} ${shellWord(path)}`;
}
