import * as promises from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from '../problems/error-code.ts';

/** The functions of a file system for voxform's own files, so that a test can make any of them fail. */
export type Files = Pick<
  typeof promises,
  'copyFile' | 'link' | 'mkdir' | 'open' | 'readdir' | 'readlink' | 'realpath' | 'rename' | 'stat' | 'unlink'
> & {
  readFile(path: string): Promise<Buffer>;
};

export type FileHandle = promises.FileHandle;

export const nodeFiles: Files = { ...promises, readFile: readWhole };

/** Node reads a file in pieces of half a megabyte, with a pause after each; a state may have a hundred times that. */
async function readWhole(path: string): Promise<Buffer> {
  await using handle = await promises.open(path);
  const status = await handle.stat();
  // Other files, such as pipes, have no size.
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
}

/** Frees the memory of a file's content at once: the garbage collector may leave it for long. The buffer is empty then. */
export function freeBuffer({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

/** For `catch`: returns undefined if there is no such file. */
export function whereMissing(error: unknown): undefined {
  if (errorCode(error) !== 'ENOENT') throw error;
}

export async function unlinkIfThere(files: Files, path: string): Promise<void> {
  await files.unlink(path).catch(whereMissing);
}

/** A write may take fewer bytes than it was given. */
export async function writeFully(handle: FileHandle, bytes: Buffer): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, written, bytes.length - written);
    written += bytesWritten;
  }
}

/** Makes names in the file's folder survive a loss of power, if the system can. */
export async function syncFolderOf(files: Files, path: string): Promise<void> {
  const unless = (codes: readonly string[]) => (error: unknown) => {
    if (!codes.includes(errorCode(error) ?? '')) throw error;
    return undefined;
  };
  await using handle = await files.open(dirname(path), 'r').catch(unless(['EISDIR', 'EPERM']));
  await handle?.sync().catch(unless(['EINVAL', 'EPERM']));
}

/** True if a hard link failed because the file system has none. */
export function hasNoLinks(error: unknown): boolean {
  return ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(errorCode(error) ?? '');
}
