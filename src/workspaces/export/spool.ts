import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { deserialize, serialize } from 'node:v8';

/** Where a value lies. */
export interface Place {
  readonly at: number;
  /** In bytes. */
  readonly length: number;
}

/** In bytes: so much is in memory before it goes to the disk. */
const MOST_HELD = 4 * 1024 * 1024;

/**
 * Values that are laid aside until their turn comes, each to be taken up again by its place. Few of them stay in memory; more go to a
 * file that only this process can reach: it has no name any more once it is open, so nothing of it is left however the run ends. Where
 * no such file can be made, or the disk is full, all stay in memory. To be closed.
 */
export class Spool {
  readonly #mostHeld: number;
  readonly #folder: string;
  /** What is not in the file yet, by place, in order. */
  #held = new Map<number, Buffer>();
  #written = 0;
  #end = 0;
  #file: number | undefined;
  #isFull = false;

  constructor({ mostHeld = MOST_HELD, folder = tmpdir() } = {}) {
    this.#mostHeld = mostHeld;
    this.#folder = folder;
  }

  /** Lays a value aside: of plain data and maps, everything comes back as it was. */
  put(value: unknown): Place {
    const bytes = serialize(value);
    const place = { at: this.#end, length: bytes.length };
    this.#held.set(place.at, bytes);
    this.#end += bytes.length;
    if (this.#end - this.#written >= this.#mostHeld && !this.#isFull) this.#write();
    return place;
  }

  /** The value that was laid aside there. */
  get({ at, length }: Place): unknown {
    const held = this.#held.get(at);
    if (held !== undefined) return deserialize(held);
    const bytes = Buffer.allocUnsafe(length);
    for (let read = 0; read < length; ) {
      const more = this.#file === undefined ? 0 : readSync(this.#file, bytes, read, length - read, at + read);
      if (more === 0) throw new Error('what was laid aside for the export is not there any more');
      read += more;
    }
    return deserialize(bytes);
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #write(): void {
    try {
      this.#file ??= openNameless(this.#folder);
      writeFileSync(this.#file, Buffer.concat([...this.#held.values()]));
      this.#held = new Map();
      this.#written = this.#end;
    } catch {
      // An export may need more memory for it, but it does not fail for want of a place that nobody asked for.
      this.#isFull = true;
    }
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
