import { closeSync, constants, openSync, readSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { errorCode } from '../problems/error-code.ts';
import { failure, MAX_BYTES, readWhole, tooLarge } from './files.ts';

/**
 * Reads a file or a pipe that a user names. Refuses devices, which may never end, and files of more than 512 MiB.
 * @throws an error with a code that `reasonOf` describes.
 */
export async function readGivenFile(file: string): Promise<Buffer> {
  return (await stat(file)).isFIFO() ? readPipe(file) : readWhole(file);
}

/** A blocking open or read of a pipe would keep the process from ending. */
async function readPipe(file: string): Promise<Buffer> {
  const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  const first = readNow(fd);
  if (first?.length === 0) {
    closeSync(fd);
    throw failure('EPIPE', 'nothing writes to this pipe');
  }
  const parts: Buffer[] = first === undefined ? [] : [first];
  let size = first?.length ?? 0;
  for await (const part of new Socket({ fd, readable: true, writable: false })) {
    size += part.length;
    if (size > MAX_BYTES) throw tooLarge();
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** Returns bytes that a pipe already has; none if it has no writer; undefined if its writer has not written yet. */
function readNow(fd: number): Buffer | undefined {
  const bytes = Buffer.alloc(65_536);
  try {
    return bytes.subarray(0, readSync(fd, bytes));
  } catch (error) {
    if (errorCode(error) === 'EAGAIN') return undefined;
    throw error;
  }
}
