import { randomUUID } from 'node:crypto';
import { readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import { makeFolders } from '../../files/files.ts';
import { errorCode } from '../../problems/error-code.ts';

/** Milliseconds after the last use of a checkout until it may be removed. No run reads a checkout for longer. */
const MAX_USE_MS = 3_600_000;

/** The checkouts of a machine, which its processes share. Each checkout is a folder with the files of one version. */
export class Checkouts {
  readonly #home: string;

  /** @param home an absolute path. */
  constructor(home: string) {
    this.#home = home;
  }

  /** Returns the folder of a version, if it exists, and marks it as used. */
  async find(version: string): Promise<string | undefined> {
    const folder = path.join(this.#home, version);
    const now = new Date();
    return utimes(folder, now, now).then(
      () => folder,
      () => undefined,
    );
  }

  /**
   * Creates the folder of a version atomically.
   * @param fill writes the files to the first folder and returns the version. The second folder is for temporary files and is removed
   * afterwards.
   */
  async create<T extends { readonly version: string }>(
    fill: (folder: string, scratch: string) => Promise<T>,
  ): Promise<T & { readonly folder: string }> {
    const partial = path.join(this.#home, `partial-${randomUUID()}`);
    const files = path.join(partial, 'files');
    await makeFolders(files, { mode: 0o700 });
    try {
      const result = await fill(files, partial);
      const folder = path.join(this.#home, result.version);
      await rename(files, folder).catch((error: unknown) => {
        // Another process has already created the folder.
        if (!['ENOTEMPTY', 'EEXIST', 'EPERM'].includes(errorCode(error) ?? '')) throw error;
      });
      return { ...result, folder };
    } finally {
      await rm(partial, { recursive: true, force: true });
    }
  }

  /** Removes checkouts of other versions and partial checkouts of killed processes, unless they were used recently. */
  async keep(versions: ReadonlySet<string>, now = Date.now()): Promise<void> {
    for (const entry of await readdir(this.#home).catch(() => [])) {
      if (versions.has(entry)) continue;
      const folder = path.join(this.#home, entry);
      const stats = await stat(folder).catch(() => undefined);
      if (stats !== undefined && now - stats.mtimeMs > MAX_USE_MS) await rm(folder, { recursive: true, force: true });
    }
  }
}
