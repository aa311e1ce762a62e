import * as promises from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
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

interface MakingFolders {
  readonly mode?: number;
  readonly files?: Pick<Files, 'mkdir' | 'stat'>;
}

/**
 * Creates a folder with its parents, each with this mode; existing ones stay as they are. Node's recursive mkdir never ends in an existing
 * folder that cannot contain others, as in /proc: this fails with ENOENT there.
 */
export async function makeFolders(folder: string, making: MakingFolders = {}): Promise<void> {
  const { mode = 0o777, files = nodeFiles } = making;
  const inside: string[] = [];
  let next: string | undefined = resolve(folder);
  while (next !== undefined) {
    const made = await makeOne(next, { mode, files });
    if (made) next = inside.pop();
    else {
      inside.push(next);
      next = dirname(next);
    }
  }
}

/** False if its parent has to be created first. */
async function makeOne(folder: string, { mode, files }: Required<MakingFolders>): Promise<boolean> {
  try {
    await files.mkdir(folder, { mode });
    return true;
  } catch (error) {
    if (await isFolderIn(folder, files)) return true;
    if (errorCode(error) !== 'ENOENT' || (await isFolderIn(dirname(folder), files))) throw error;
    return false;
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
