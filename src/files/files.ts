import * as promises from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from '../problems/error-code.ts';

/** As much of a file system as voxform needs for its own files, so that a test can make any of it fail. */
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

/** Gives the memory of a file's content back at once: the collector may leave it until long after. It is empty then. */
export function freeBuffer({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

export async function unlinkIfThere(files: Files, path: string): Promise<void> {
  try {
    await files.unlink(path);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
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
