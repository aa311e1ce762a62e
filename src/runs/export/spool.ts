import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { deserialize, serialize } from 'node:v8';

/** Where a value lies. */
export interface SpoolPlace {
  readonly at: number;
  /** In bytes. */
  readonly length: number;
}

/** In bytes: so much stays in memory. */
const BLOCK = 4 * 1024 * 1024;

/** Consecutive bytes in memory. */
interface SpoolBlock {
  /** Where the first of them lies. */
  readonly at: number;
  readonly bytes: Buffer;
  filled: number;
}

/**
 * Values that are laid aside until their turn comes, each to be taken up again by its place. Few of them stay in memory; more go to a
 * file that only this process can reach: it has no name any more once it is open, so nothing of it is left however the run ends. Where
 * no such file can be made, or the disk is full, all stay in memory. To be closed.
 */
export class Spool {
  readonly #blockSize: number;
  readonly #folder: string;
  /** What is not in the file: one block, as long as there is room for a file. */
  readonly #blocks: SpoolBlock[] = [];
  #end = 0;
  #file: number | undefined;
  #hasRoom = true;

  constructor({ blockSize = BLOCK, folder = tmpdir() } = {}) {
    this.#blockSize = blockSize;
    this.#folder = folder;
  }

  /** Lays a value aside: of plain data and maps, everything comes back as it was. */
  put(value: unknown): SpoolPlace {
    const bytes = serialize(value);
    const { length } = bytes;
    const block = this.#blockFor(length);
    // A copy, so that thousands of buffers need not wait for the collector.
    bytes.copy(block.bytes, block.filled);
    block.filled += length;
    this.#end += length;
    return { at: this.#end - length, length };
  }

  /** The value that was laid aside there. */
  get({ at, length }: SpoolPlace): unknown {
    const block = this.#blocks.findLast((each) => each.at <= at);
    if (block !== undefined) return deserialize(block.bytes.subarray(at - block.at, at - block.at + length));
    const bytes = Buffer.allocUnsafe(length);
    if (this.#file === undefined || !fill(this.#file, bytes, at)) {
      throw new Error('temporary files of the export were deleted while it ran');
    }
    return deserialize(bytes);
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  /** A block with room for so many bytes. */
  #blockFor(length: number): SpoolBlock {
    const last = this.#blocks.at(-1);
    if (last !== undefined && last.filled + length <= last.bytes.length) return last;
    const isWritten = last !== undefined && this.#write(last);
    if (isWritten) this.#blocks.pop();
    const bytes =
      isWritten && length <= last.bytes.length
        ? last.bytes
        : Buffer.allocUnsafeSlow(Math.max(length, this.#blockSize));
    const block = { at: this.#end, bytes, filled: 0 };
    this.#blocks.push(block);
    return block;
  }

  #write({ bytes, filled }: SpoolBlock): boolean {
    if (!this.#hasRoom) return false;
    try {
      this.#file ??= openNameless(this.#folder);
      writeFileSync(this.#file, bytes.subarray(0, filled));
    } catch {
      // An export may need more memory then, but it does not fail for want of a place that nobody asked for.
      this.#hasRoom = false;
    }
    return this.#hasRoom;
  }
}

/** A file without a name, which the system removes when it is closed. */
function openNameless(folder: string): number {
  const name = path.join(folder, `voxform-export-${randomBytes(8).toString('hex')}`);
  const file = openSync(name, 'wx+', 0o600);
  try {
    unlinkSync(name);
  } catch (error) {
    // Some systems keep the name for as long as the file is open.
    closeSync(file);
    rmSync(name, { force: true });
    throw error;
  }
  return file;
}

/** Fills the bytes with what an open file has from a position on; false where it has less than that. */
function fill(descriptor: number, bytes: Uint8Array, position: number): boolean {
  for (let done = 0; done < bytes.length; ) {
    const read = readSync(descriptor, bytes, done, bytes.length - done, position + done);
    if (read === 0) return false;
    done += read;
  }
  return true;
}
