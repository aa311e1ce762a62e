import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import { errorCode } from '../../problems/error-code.ts';

/** Milliseconds that an unused checkout stays, as long as a run may still read it. */
const LONGEST_USE = 3_600_000;

/** Folders with the files of one version each, shared by the processes of a machine. */
export class Checkouts {
  readonly #home: string;

  /** @param home an absolute path. */
  constructor(home: string) {
    this.#home = home;
  }

  /** The folder of a version, if it exists. */
  async find(version: string): Promise<string | undefined> {
    const folder = path.join(this.#home, version);
    const now = new Date();
    return utimes(folder, now, now).then(
      () => folder,
      () => undefined,
    );
  }

  /**
   * Creates the folder of the version that `fill` returns, completely or not at all.
   * @param fill puts the files into the first folder. The second one is for its temporary files, and is removed afterwards.
   */
  async make<T extends { readonly version: string }>(
    fill: (folder: string, scratch: string) => Promise<T>,
  ): Promise<T & { readonly folder: string }> {
    const partial = path.join(this.#home, `partial-${randomUUID()}`);
    const files = path.join(partial, 'files');
    await mkdir(files, { recursive: true, mode: 0o700 });
    try {
      const made = await fill(files, partial);
      const folder = path.join(this.#home, made.version);
      await rename(files, folder).catch((error: unknown) => {
        // Another process created it first.
        if (!['ENOTEMPTY', 'EEXIST', 'EPERM'].includes(errorCode(error) ?? '')) throw error;
      });
      return { ...made, folder };
    } finally {
      await rm(partial, { recursive: true, force: true });
    }
  }

  /** Removes all others that were unused for long, and files of killed processes. */
  async keep(versions: ReadonlySet<string>, now = Date.now()): Promise<void> {
    for (const entry of await readdir(this.#home).catch(() => [])) {
      if (versions.has(entry)) continue;
      const folder = path.join(this.#home, entry);
      const used = await stat(folder).catch(() => undefined);
      if (used !== undefined && now - used.mtimeMs > LONGEST_USE) await rm(folder, { recursive: true, force: true });
    }
  }
}
