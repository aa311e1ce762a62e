import { basename, dirname, join, resolve } from 'node:path';
import { type Files, freeBuffer, syncFolderOf, unlinkIfThere, whereMissing } from '../../../files/files.ts';
import { replaceFile, writeBeside } from '../../../files/replace-file.ts';
import { errorCode } from '../../../problems/error-code.ts';
import { shellWord } from '../../../problems/shell-word.ts';
import { type Advice, advice, UserError } from '../../../problems/user-error.ts';
import { statePieces } from '../../document-pieces.ts';
import { parseState } from '../../document-text.ts';
import type { StateDocument } from '../../state-document.ts';
import { LostState, type MovedMark, RECOVER } from '../../state-errors.ts';
import type { FailPoint } from '../backend.ts';
import { readIfThere } from './file-problem.ts';

/** Earlier documents that are kept, beside a copy of the one in force. */
const keptBackups = 5;

interface Backup {
  readonly path: string;
  readonly serial: number;
}

/**
 * Where a path leads once symbolic links are followed, also to a file that does not exist yet.
 * @throws UserError where a link leads into a folder that is not there: a volume that is not mounted is no first run.
 */
export async function targetOf(files: Files, path: string): Promise<string> {
  let target = path;
  for (let links = 0; links < 40; links++) {
    const real = await files.realpath(target).catch(whereMissing);
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

/**
 * The document, or undefined where there is none and none has ever been.
 * @throws UserError where it is damaged, of a newer format, or missing although its backups are there.
 */
export async function readDocument(
  files: Files,
  path: string,
  parse = parseState,
): Promise<StateDocument | undefined> {
  // Listed first: a backup that is seen then had its document already.
  const backup = (await backups(files, path))[0];
  const hint = restoreHint(path, backup);
  const bytes = await readIfThere(files, path);
  if (bytes !== undefined) {
    try {
      return parse(bytes, path, hint);
    } finally {
      freeBuffer(bytes);
    }
  }
  if (backup === undefined) return undefined;
  throw new LostState(`the state ${path} is missing, but its backup ${basename(backup.path)} exists`, {
    hint,
  });
}

interface DocumentWrite {
  readonly path: string;
  readonly document: StateDocument;
  /** False where there is none yet. */
  readonly replaces: boolean;
  failPoint(name: FailPoint): void;
}

/**
 * Puts the document in the place of the earlier one, in one step; a copy stays beside it as `.backup-<serial>`. The copy is
 * made first, so that deleting the document by mistake never leaves only older ones; of a first document it is made
 * afterwards, because a backup without a document is refused.
 */
export async function writeDocument(files: Files, writing: DocumentWrite): Promise<void> {
  const { path, document, replaces, failPoint } = writing;
  const backup = backupPath(path, document.serial);
  const fresh = await written(files, path, document);
  if (replaces) {
    await files.rename(fresh, backup);
    await copied(files, backup, fresh);
  }
  failPoint('before-rename');
  await files.rename(fresh, path);
  if (!replaces) {
    await copied(files, path, fresh);
    await files.rename(fresh, backup);
  }
  await syncFolderOf(files, path);
}

/** Puts a mark in the document's place, in one step. */
export async function writeMark(files: Files, path: string, mark: MovedMark): Promise<void> {
  await replaceFile(path, `${JSON.stringify(mark, null, 2)}\n`, { files, draft: draftOf(path) });
}

/** Makes sure that the document now in force has its backup, also when something else than voxform put it there. */
export async function keepCurrent(files: Files, path: string, document: StateDocument): Promise<void> {
  const backup = backupPath(path, document.serial);
  if ((await files.stat(backup).catch(whereMissing)) !== undefined) return;
  await files.rename(await written(files, path, document), backup);
}

/** Removes all but the newest backups of each lineage: their serials say nothing about one another. */
export async function pruneBackups(files: Files, path: string): Promise<void> {
  const seen = new Map<string | undefined, number>();
  for (const { path: backup } of await backups(files, path)) {
    const lineage = await lineageIn(files, backup);
    const count = (seen.get(lineage) ?? 0) + 1;
    seen.set(lineage, count);
    if (count > keptBackups + 1) await unlinkIfThere(files, backup);
  }
}

/** The document in a file beside its place, down to the disk. */
function written(files: Files, path: string, document: StateDocument): Promise<string> {
  return writeBeside(path, statePieces(document), { files, draft: draftOf(path) });
}

/** Only the holder of the lock writes it, and removes that of a holder who died. */
function draftOf(path: string): string {
  return `${path}.tmp`;
}

/** A file of its own, not a link: an editor that writes the document in place must not reach its copy. */
async function copied(files: Files, from: string, to: string): Promise<void> {
  await files.copyFile(from, to);
  await using handle = await files.open(to, 'r+');
  await handle.sync();
}

function backupPath(path: string, serial: number): string {
  return `${path}.backup-${serial}`;
}

/** Copies with a higher serial, the newest first. */
export async function newerBackups(files: Files, path: string, serial: number): Promise<string[]> {
  const newer = (await backups(files, path)).filter((backup) => backup.serial > serial);
  return newer.map((backup) => backup.path);
}

/** It stands among the first lines of a backup, which may be large. */
async function lineageIn(files: Files, backup: string): Promise<string | undefined> {
  await using handle = await files.open(backup, 'r');
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(1024), 0, 1024, 0);
  return /^ {2}"lineage": "(.*)",$/m.exec(buffer.toString('utf8', 0, bytesRead))?.[1];
}

/** Newest first: by their serials, because a copy has the time at which somebody made it. */
async function backups(files: Files, path: string): Promise<Backup[]> {
  const prefix = `${basename(path)}.backup-`;
  const names = (await files.readdir(dirname(path)).catch(whereMissing)) ?? [];
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
    : advice`${restore} The newest backup: cp ${shellWord(backup.path)} ${shellWord(path)}`;
}
