import { constants as bufferConstants } from 'node:buffer';
import { constants } from 'node:fs';
import * as promises from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { errorCode } from '../problems/error-code.ts';

/** The file system functions for voxform's own files. Tests can make any of these functions fail. */
export type Files = Pick<
  typeof promises,
  'copyFile' | 'link' | 'mkdir' | 'open' | 'readdir' | 'readlink' | 'realpath' | 'rename' | 'stat' | 'unlink'
> & {
  readFile(path: string): Promise<Buffer>;
};

export type FileHandle = promises.FileHandle;

export const nodeFiles: Files = { ...promises, readFile: readWhole };

/** A longer file cannot become text. */
export const MAX_BYTES = bufferConstants.MAX_STRING_LENGTH;

/**
 * Reads a file with as few reads as possible. Node's `readFile` yields after each half megabyte, and a state may be much larger. Refuses
 * pipes and devices, which may never end, and files of more than 512 MiB.
 * @throws an error with a code that `reasonOf` describes.
 */
export async function readWhole(path: string): Promise<Buffer> {
  // Without O_NONBLOCK, opening a pipe waits for a writer. Windows lacks the flag.
  await using handle = await promises.open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  const status = await handle.stat();
  if (!status.isFile() && !status.isDirectory()) throw failure('ENXIO', 'expected a file');
  const { size } = status;
  if (size > MAX_BYTES) throw tooLarge();
  // Files of the kernel have no size, and reading a folder fails.
  if (size === 0 || !status.isFile()) return await handle.readFile();
  const bytes = Buffer.allocUnsafeSlow(size);
  let filled = 0;
  while (filled < size) {
    const { bytesRead } = await handle.read(bytes, filled, size - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}

/** Empties the buffer of a file's content, to free its memory immediately. The garbage collector may free it much later. */
export function freeBuffer({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

/** An error handler for `catch`: returns undefined if the file does not exist, and rethrows any other error. */
export function ignoreMissing(error: unknown): undefined {
  if (errorCode(error) !== 'ENOENT') throw error;
}

export async function unlinkIfExists(files: Files, path: string): Promise<void> {
  await files.unlink(path).catch(ignoreMissing);
}

/** Writes all bytes. Repeats the write if necessary, because a single write may write fewer bytes. */
export async function writeAll(handle: FileHandle, bytes: Buffer): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, written, bytes.length - written);
    written += bytesWritten;
  }
}

/** Syncs the folder of a file, so that the folder's entries survive a power failure. Does nothing if the system does not support this. */
export async function syncFolderOf(files: Files, path: string): Promise<void> {
  const unless = (codes: readonly string[]) => (error: unknown) => {
    if (!codes.includes(errorCode(error) ?? '')) throw error;
    return undefined;
  };
  await using handle = await files.open(dirname(path), 'r').catch(unless(['EISDIR', 'EPERM']));
  await handle?.sync().catch(unless(['EINVAL', 'EPERM']));
}

/** True if no hard link can be created: the file system does not support hard links, or the file already has too many. */
export function isLinkUnsupported(error: unknown): boolean {
  return ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(errorCode(error) ?? '');
}

interface MakingFolders {
  readonly mode?: number;
  readonly files?: Pick<Files, 'mkdir' | 'stat'>;
}

/**
 * Creates a folder and its missing parents, each with this mode. Existing folders stay as they are. Fails with ENOENT in a folder that
 * cannot contain other folders, such as /proc, where Node's recursive mkdir never returns.
 */
export async function makeFolders(folder: string, making: MakingFolders = {}): Promise<void> {
  const { mode = 0o777, files = nodeFiles } = making;
  const missing: string[] = [];
  let next: string | undefined = resolve(folder);
  while (next !== undefined) {
    const exists = await makeOne(next, { mode, files });
    if (exists) next = missing.pop();
    else {
      missing.push(next);
      next = dirname(next);
    }
  }
}

/** Creates one folder. Returns false if its parent must be created first. */
async function makeOne(folder: string, making: Required<MakingFolders>, isSecond = false): Promise<boolean> {
  const { mode, files } = making;
  try {
    await files.mkdir(folder, { mode });
    return true;
  } catch (error) {
    if (await isFolderIn(folder, files)) return true;
    if (errorCode(error) !== 'ENOENT') throw error;
    if (!(await isFolderIn(dirname(folder), files))) return false;
    // Another caller may have created the parent after the first attempt.
    if (isSecond) throw error;
    return makeOne(folder, making, true);
  }
}

async function isFolderIn(path: string, files: Pick<Files, 'stat'>): Promise<boolean> {
  try {
    return (await files.stat(path)).isDirectory();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errorCode(error) ?? '')) return false;
    throw error;
  }
}

export function tooLarge(): Error {
  return failure('EFBIG', 'the file is larger than 512 MiB');
}

export function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
