import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { lstat, readdir, realpath, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { ignoreMissing, makeFolders } from '../../files/files.ts';
import { draftPathFor, removeDrafts } from '../../files/replace-file.ts';
import { reasonOf } from '../../manifests/read-file.ts';
import { compareText } from '../../problems/compare-text.ts';
import { errorCode } from '../../problems/error-code.ts';
import { UserError } from '../../problems/user-error.ts';
import type { ProjectFile } from './project-files.ts';

interface WriteOptions {
  /** The file that makes the folder a project. In an existing folder, it is moved into place last. */
  readonly moveLast?: string;
  /** Replaces files with the same names. If false, the folder must be new or empty. */
  readonly replace?: boolean | undefined;
}

/** All paths are relative to the folder. */
interface WrittenFiles {
  readonly written: readonly string[];
  /** The files that existed before, sorted. */
  readonly replaced: readonly string[];
}

/**
 * Writes files into a folder, all of them or none. They are first written into a draft folder: next to a new folder, or inside an existing
 * one. If the run is killed, at most the draft remains. Replaced files are kept in the folder `old` of the draft until all are replaced.
 * @throws UserError if the folder is not empty or cannot be written, or contains a file, folder or link that conflicts with a new file.
 */
export async function writeFolder(
  target: string,
  files: Iterable<ProjectFile>,
  { moveLast, replace = false }: WriteOptions = {},
): Promise<WrittenFiles> {
  const exists = (await readdir(target).catch(() => undefined)) !== undefined;
  const replaces = replace && exists;
  if (!replaces) await assertNewOrEmptyFolder(target);
  try {
    const real = exists ? await realpath(target) : target;
    await makeFolders(path.dirname(real));
    if (!exists) await removeDrafts([real], 'folder');
    const draft = replaces
      ? path.join(real, `.voxform-export-${randomBytes(4).toString('hex')}`)
      : draftPathFor(exists ? path.join(real, INNER_DRAFT) : real, 'folder');
    const fresh = exists ? path.join(draft, 'new') : draft;
    await makeFolders(fresh);
    try {
      const written = await writeAll(fresh, files);
      // Another process may have written to the folder in the meantime.
      if (!replaces) await assertNewOrEmptyFolder(target, path.basename(draft));
      const swap = { target: real, fresh, old: path.join(draft, 'old') };
      const replaced = exists ? await moveInto(swap, moveLast) : [];
      if (!exists) await rename(draft, real);
      await rm(draft, { recursive: true, force: true });
      return { written, replaced };
    } catch (error) {
      if (!(error instanceof RestoreFailed)) await rm(draft, { recursive: true, force: true });
      throw error;
    }
  } catch (cause) {
    throw toWriteError(target, cause);
  }
}

/** The name of the draft in an existing folder. */
const INNER_DRAFT = 'new';

/** Converts a file system error to an error that names the folder. Returns any other error unchanged. */
function toWriteError(target: string, cause: unknown): unknown {
  if (cause instanceof UserError || !(cause instanceof Error) || !('code' in cause)) return cause;
  const reason = cause.code === 'ENOENT' ? 'cannot create a folder there' : reasonOf(cause);
  return new UserError(`cannot write to the folder ${target}: ${reason}`, {
    hint: 'Choose a writable folder: --out DIR',
    cause,
  });
}

/**
 * Checks that the path is a new or empty folder. First removes the drafts of killed exports, unless `except` is given.
 * @throws UserError for any other path.
 */
export async function assertNewOrEmptyFolder(target: string, except?: string): Promise<void> {
  let entries: string[];
  try {
    if (except === undefined) await removeDrafts([path.join(target, INNER_DRAFT)], 'folder');
    entries = await readdir(target);
  } catch (cause) {
    const code = errorCode(cause);
    if (code === 'ENOENT') return;
    const reason = code === 'ENOTDIR' ? 'not a folder' : reasonOf(cause);
    throw new UserError(`cannot write to ${target}: ${reason}`, { hint: 'Choose a new folder: --out DIR', cause });
  }
  if (entries.every((entry) => entry === except)) return;
  throw new UserError(`${target} is not empty`, {
    hint: 'Choose a new or empty folder: --out DIR. To replace files of the same name: --force',
  });
}

/** The number of files per turn of the event loop. Waiting for each file would take three times as long as writing it. */
const FILES_PER_TURN = 16;

/** Writes files below an existing folder and returns their paths. */
export async function writeAll(root: string, files: Iterable<ProjectFile>): Promise<readonly string[]> {
  const folders = new Set<string>();
  const paths: string[] = [];
  for (const file of files) {
    const target = path.join(root, file.path);
    const folder = path.dirname(target);
    if (!folders.has(folder)) mkdirSync(folder, { recursive: true });
    folders.add(folder);
    // `wx`: two records with the same file name must not become one file.
    writeFileSync(target, file.text, { flag: 'wx' });
    paths.push(file.path);
    if (paths.length % FILES_PER_TURN === 0) await setImmediate();
  }
  return paths;
}

interface Move {
  /** Path relative to the draft folder and to the target. */
  readonly file: string;
  readonly replaces: boolean;
}

/**
 * Moves the files in `fresh` into the target, and replaced files into `old`. After a failure, the target contains its previous files again.
 * @returns the replaced files.
 */
async function moveInto(
  { target, fresh, old }: { readonly target: string; readonly fresh: string; readonly old: string },
  last: string | undefined,
): Promise<string[]> {
  const moves = await Array.fromAsync(movesInto(target, fresh));
  moves.sort((a, b) => Number(a.file === last) - Number(b.file === last));
  const done: Move[] = [];
  const saved: string[] = [];
  try {
    for (const each of moves) {
      const { file } = each;
      if (each.replaces) {
        await makeFolders(path.dirname(path.join(old, file)));
        await rename(path.join(target, file), path.join(old, file));
        saved.push(file);
      }
      await rename(path.join(fresh, file), path.join(target, file));
      done.push(each);
    }
  } catch (error) {
    try {
      for (const { file } of done) await rm(path.join(target, file), { recursive: true, force: true });
      for (const file of saved) await rename(path.join(old, file), path.join(target, file));
    } catch (cause) {
      throw new RestoreFailed(old, cause);
    }
    throw error;
  }
  return saved.sort(compareText);
}

/**
 * Yields the moves that bring the new files into the target. A folder that the target lacks is moved as a whole.
 * @throws UserError if a folder has the same name as a file or a link.
 */
async function* movesInto(target: string, fresh: string, below = ''): AsyncGenerator<Move> {
  for (const entry of await readdir(path.join(fresh, below), { withFileTypes: true })) {
    const file = path.posix.join(below, entry.name);
    const found = await lstat(path.join(target, file)).catch(ignoreMissing);
    if (found?.isDirectory() && entry.isDirectory()) yield* movesInto(target, fresh, file);
    else if (found?.isDirectory() || (found !== undefined && entry.isDirectory())) {
      const [type, other] = entry.isDirectory() ? ['folder', 'file or a link'] : ['file', 'folder'];
      throw new UserError(`cannot write the ${type} ${file} in ${target}: a ${other} has this name`, {
        hint: 'Move it away, or export into a new folder.',
      });
    } else yield { file, replaces: found !== undefined };
  }
}

/** Thrown if replaced files could not be restored. They exist only in the draft folder, which must not be removed. */
class RestoreFailed extends UserError {
  override readonly name = 'RestoreFailed';

  constructor(old: string, cause: unknown) {
    super('cannot write to the folder, and its previous files could not be restored', {
      hint: `The replaced files are in ${old}.`,
      cause,
    });
  }
}

/** Returns the other manifests below `folder` of the target, sorted by path. They may declare the same records. */
export async function otherManifests(
  target: string,
  folder: string,
  written: readonly string[],
): Promise<readonly string[]> {
  const own = new Set(written);
  const entries = await readdir(path.join(target, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && /\.(?:ya?ml|json)$/.test(entry.name))
    .map((entry) => path.relative(target, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'))
    .filter((file) => !own.has(file))
    .sort(compareText);
}
