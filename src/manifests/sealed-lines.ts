import { hash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { fill } from './read-file.ts';

/** Read and digested at once, in bytes: little enough to be read for a single line. */
const BLOCK = 64 * 1024;
/** Blocks that stay in memory: what one after the other asks for stands in two or three places of the file, in order. */
const BLOCKS_HELD = 4;
/** Written at once, in bytes. */
const CHUNK = 16 * BLOCK;
/** Characters of the last line: a digest in quotes. */
const SEAL_LENGTH = 46;

const NEWLINE = 10;

export interface SealedForm {
  /** The first line, with its newline: a file that begins otherwise is not read. */
  readonly head: string;
  /** How far into a line its key begins, and how long it is, in bytes. */
  readonly key: { readonly start: number; readonly length: number };
  /** A larger file is not read. */
  readonly mostBytes: number;
}

interface Line {
  readonly start: number;
  /** Behind the newline. */
  readonly end: number;
}

interface Held {
  readonly block: number;
  readonly bytes: Buffer;
}

/**
 * Lines of a file that is under a seal, by their keys, read when they are asked for. The seal is a digest of where and when the file was
 * made and of the digests of its blocks. It is checked before anything is given out, and a block that is read again must
 * have the digest that it had then: what is given out is what was sealed, whatever happens to the file meanwhile.
 */
export class SealedLines {
  readonly #descriptor: number;
  readonly #digests: readonly string[];
  readonly #lines: ReadonlyMap<string, Line>;
  readonly #size: number;
  readonly #held: Held[] = [];

  private constructor(descriptor: number, { size, digests, lines }: Checked) {
    this.#descriptor = descriptor;
    this.#size = size;
    this.#digests = digests;
    this.#lines = lines;
  }

  /** Undefined where there is no such file, or none with the seal that it should have. To be closed. */
  static open(file: string, form: SealedForm): SealedLines | undefined {
    let descriptor: number | undefined;
    try {
      // Neither a link nor a pipe may be followed or waited for.
      const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
      descriptor = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      const checked = checkedLines(descriptor, form);
      if (checked !== undefined) return new SealedLines(descriptor, checked);
    } catch {
      // As good as none.
    }
    if (descriptor !== undefined) closeSync(descriptor);
    return undefined;
  }

  /** Keys and the bytes of their lines, in the order of the file. */
  *sizes(): Generator<readonly [key: string, bytes: number]> {
    for (const [key, { start, end }] of this.#lines) yield [key, end - start];
  }

  /** The line with its newline, until the next one is asked for; undefined where there is none. */
  line(key: string): Buffer | undefined {
    const line = this.#lines.get(key);
    if (line === undefined) return undefined;
    try {
      return this.#bytes(line);
    } catch {
      return undefined;
    }
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  /** Undefined where the file is not what it was. */
  #bytes({ start, end }: Line): Buffer | undefined {
    const first = Math.floor(start / BLOCK);
    if (end <= (first + 1) * BLOCK)
      return this.#block(first)?.subarray(start - first * BLOCK, end - first * BLOCK);
    const line = Buffer.allocUnsafe(end - start);
    for (let at = start; at < end; ) {
      const block = Math.floor(at / BLOCK);
      const bytes = this.#block(block);
      if (bytes === undefined) return undefined;
      at += bytes.copy(line, at - start, at - block * BLOCK, end - block * BLOCK);
    }
    return line;
  }

  #block(block: number): Buffer | undefined {
    const known = this.#held.find((held) => held.block === block);
    if (known !== undefined) return known.bytes;
    const room = this.#held.length < BLOCKS_HELD ? undefined : this.#held.shift();
    const length = Math.min(BLOCK, this.#size - block * BLOCK);
    const all = room === undefined ? Buffer.allocUnsafeSlow(BLOCK) : Buffer.from(room.bytes.buffer);
    const bytes = all.subarray(0, length);
    if (!fill(this.#descriptor, bytes, block * BLOCK)) return undefined;
    if (hash('sha256', bytes, 'base64url') !== this.#digests[block]) return undefined;
    this.#held.push({ block, bytes });
    return bytes;
  }
}

interface Checked {
  /** Without the seal. */
  readonly size: number;
  /** Of each block of it. */
  readonly digests: readonly string[];
  readonly lines: ReadonlyMap<string, Line>;
}

function checkedLines(descriptor: number, { head, key, mostBytes }: SealedForm): Checked | undefined {
  const status = fstatSync(descriptor, { bigint: true });
  const birth = birthOf(status);
  if (!status.isFile() || status.size > mostBytes || birth === undefined) return undefined;
  const size = Number(status.size) - SEAL_LENGTH;
  const first = Buffer.from(head);
  if (size < first.length) return undefined;
  const seal = Buffer.alloc(SEAL_LENGTH);
  if (!fill(descriptor, seal, size)) return undefined;

  const digests: string[] = [];
  const lines = new Map<string, Line>();
  // The end of the block before stands in front of each block: a key may lie across both.
  const reach = key.start + key.length;
  const room = Buffer.alloc(reach + BLOCK);
  let start = 0;
  let name: string | undefined;
  for (let at = 0; at < size; at += BLOCK) {
    const block = room.subarray(reach, reach + Math.min(BLOCK, size - at));
    if (!fill(descriptor, block, at)) return undefined;
    if (at === 0 && !block.subarray(0, first.length).equals(first)) return undefined;
    digests.push(hash('sha256', block, 'base64url'));
    const read = room.subarray(0, reach + block.length);
    const base = at - reach;
    for (;;) {
      if (name === undefined && start + reach <= base + read.length) {
        name = read.toString('latin1', start - base + key.start, start - base + reach);
      }
      const end = read.indexOf(NEWLINE, Math.max(start - base, reach)) + 1;
      if (end === 0) break;
      if (start > 0 && name !== undefined) lines.set(name, { start, end: base + end });
      start = base + end;
      name = undefined;
    }
    room.copyWithin(0, block.length, read.length);
  }
  return seal.toString('latin1') === sealOf(birth, digests) ? { size, digests, lines } : undefined;
}

/**
 * Writes lines that `SealedLines` reads into an empty file. A line is done with when the next one is asked for.
 * @returns false where the file system does not tell when the file was made; nothing is written then.
 */
export async function writeSealed(
  handle: FileHandle,
  head: string,
  lines: Iterable<string | Uint8Array>,
): Promise<boolean> {
  const birth = birthOf(await handle.stat({ bigint: true }));
  if (birth === undefined) return false;
  const digests: string[] = [];
  // The same room for all: ten thousand lines would otherwise wait for the collector.
  const chunk = Buffer.allocUnsafeSlow(CHUNK);
  let filled = chunk.write(head);
  const flush = async (): Promise<void> => {
    for (let at = 0; at < filled; at += BLOCK) {
      digests.push(hash('sha256', chunk.subarray(at, Math.min(at + BLOCK, filled)), 'base64url'));
    }
    await handle.appendFile(chunk.subarray(0, filled));
    filled = 0;
  };
  for (const line of lines) {
    if (typeof line === 'string' && Buffer.byteLength(line) <= CHUNK - filled) {
      filled += chunk.write(line, filled);
      continue;
    }
    const bytes = typeof line === 'string' ? Buffer.from(line) : line;
    for (let done = 0; done < bytes.length; ) {
      if (filled === CHUNK) await flush();
      const part = bytes.subarray(done, done + CHUNK - filled);
      chunk.set(part, filled);
      filled += part.length;
      done += part.length;
    }
  }
  if (filled > 0) await flush();
  await handle.appendFile(sealOf(birth, digests));
  return true;
}

/** Undefined where the file system does not tell when a file was made. */
function birthOf({ ino, birthtimeNs }: { ino: bigint; birthtimeNs: bigint }): string | undefined {
  return birthtimeNs === 0n ? undefined : `${ino} ${birthtimeNs}\n`;
}

function sealOf(birth: string, digests: readonly string[]): string {
  return `"${hash('sha256', birth + digests.join('\n'), 'base64url')}"\n`;
}
