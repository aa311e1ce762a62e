import * as promises from 'node:fs/promises';
import { dirname } from 'node:path';
import { UserError } from '../../problems/user-error.ts';

/** What the local backend needs of a file system, so that a test can make any of it fail. */
export type Files = Pick<
  typeof promises,
  'copyFile' | 'link' | 'mkdir' | 'open' | 'readdir' | 'readlink' | 'realpath' | 'rename' | 'stat' | 'unlink'
> & {
  readFile(path: string): Promise<Buffer>;
};

export type FileHandle = promises.FileHandle;

export const nodeFiles: Files = { ...promises, readFile: readWhole };

/** Node reads a file in pieces of half a megabyte, with a wait after each; a state may have a hundred times that. */
async function readWhole(path: string): Promise<Buffer> {
  const handle = await promises.open(path);
  try {
    const status = await handle.stat();
    // What is no file of its own does not know how much it has.
    if (!status.isFile() || status.size === 0) return await handle.readFile();
    const { size } = status;
    const bytes = Buffer.allocUnsafeSlow(size);
    let filled = 0;
    while (filled < size) {
      const { bytesRead } = await handle.read(bytes, filled, size - filled, filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return bytes.subarray(0, filled);
  } finally {
    await handle.close();
  }
}

/** Where a run can be made to die, for tests. */
export type FailPoint =
  | 'before-append'
  | 'after-append'
  | 'before-fold'
  | 'before-rename'
  | 'after-rename'
  | 'before-truncate'
  | 'before-mark'
  | 'after-mark';

/** The content, or undefined where there is no such file. */
export async function readIfThere(files: Files, path: string): Promise<Buffer | undefined> {
  try {
    return await files.readFile(path);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw fileProblem(error, 'read', path);
  }
}

/** Gives the memory of a file's content back at once: the collector may leave it until long after. It is empty then. */
export function letGo({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

export async function unlinkIfThere(files: Files, path: string): Promise<void> {
  try {
    await files.unlink(path);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
}

/** Replaces the content of a file that nobody else uses meanwhile, piece by piece, down to the disk. */
export async function writeSynced(files: Files, path: string, pieces: Iterable<Buffer>): Promise<void> {
  const handle = await files.open(path, 'w', 0o600);
  try {
    await handle.chmod(0o600);
    for (const piece of pieces) await writeFully(handle, piece);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** A write may take fewer bytes than it was given. */
export async function writeFully(handle: FileHandle, bytes: Buffer): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, written, bytes.length - written);
    written += bytesWritten;
  }
}

/** Makes names in the file's folder survive a loss of power, where the system can. */
export async function syncFolderOf(files: Files, path: string): Promise<void> {
  let handle: FileHandle;
  try {
    handle = await files.open(dirname(path), 'r');
  } catch (error) {
    if (errorCode(error) === 'EISDIR' || errorCode(error) === 'EPERM') return;
    throw error;
  }
  try {
    await handle.sync();
  } catch (error) {
    if (errorCode(error) !== 'EINVAL' && errorCode(error) !== 'EPERM') throw error;
  } finally {
    await handle.close();
  }
}

/** True where a hard link failed because the file system has none. */
export function hasNoLinks(error: unknown): boolean {
  return ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(errorCode(error) ?? '');
}

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** The error in words a person can act on, where it is one of the file system's; else the error itself. */
export function fileProblem(error: unknown, verb: 'read' | 'write' | 'lock', path: string): unknown {
  const code = errorCode(error);
  if (error instanceof UserError || code === undefined) return error;
  const known = problems[code];
  const [reason, hint] = known ?? [code, undefined];
  return new UserError(`cannot ${verb} the state ${path}: ${reason}`, {
    ...(hint === undefined ? {} : { hint }),
    cause: error,
  });
}

const full = 'Free some space and run the command again; what was written before is kept.';
const rights = 'Give this user the right to read and write the file and its folder.';
const problems: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  ENOSPC: ['the disk is full', full],
  EDQUOT: ['the disk quota is used up', full],
  EFBIG: [
    'a limit on the size of files is reached',
    'Raise the limit (ulimit -f) and run the command again.',
  ],
  EACCES: ['permission denied', rights],
  EPERM: ['the system does not permit it', rights],
  EROFS: [
    'the file system is read-only',
    'Set `state.path` of the workspace to a place that can be written.',
  ],
  ENOENT: [
    'no folder can be made there',
    'Set `state.path` of the workspace to a place that can be written.',
  ],
  EISDIR: [
    'a folder is in its place',
    'Move the folder away, or set `state.path` of the workspace to another path.',
  ],
  ENOTDIR: ['a part of its path is a file', 'Set `state.path` of the workspace to another path.'],
  EEXIST: ['a part of its path is a file', 'Set `state.path` of the workspace to another path.'],
  ELOOP: ['its symbolic links lead in a circle', 'Mend the link.'],
  EIO: [
    'the disk reports an error',
    'Check the disk before anything else; what was written before may still be readable.',
  ],
};

/** The path as a word of a shell command that a person can copy. */
export function shellWord(path: string): string {
  return /^[\w./@:+-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
