import { type BigIntStats, type Dirent, lstatSync, opendirSync } from 'node:fs';

interface Folder {
  readonly stats: BigIntStats;
  /** By name; undefined if there are too many. */
  readonly entries: readonly Dirent[] | undefined;
}

/** Milliseconds. A folder that changed more recently may change again without a new modification time. */
const COARSE = 1000;

/** The maximum number of entries of one folder. */
const MOST = 100_000;

/** The entries of folders, read again only after a change. */
export class FolderEntries {
  #before = new Map<string, Folder>();
  #now = new Map<string, Folder>();

  /** Starts another search. Folders that the last one did not request are forgotten. */
  begin(): void {
    this.#before = this.#now;
    this.#now = new Map();
  }

  /** @param at an absolute path of a folder, not a link. */
  of(at: string): Folder {
    const stats = lstatSync(at, { bigint: true });
    const known = this.#now.get(at) ?? this.#before.get(at);
    const isSame = known?.stats.mtimeNs === stats.mtimeNs && known.stats.ctimeNs === stats.ctimeNs;
    const isSettled = Date.now() - Number(stats.ctimeMs) > COARSE;
    const folder =
      known !== undefined && isSame && known.stats.ino === stats.ino
        ? known
        : { stats, entries: entriesIn(at) };
    if (isSettled) this.#now.set(at, folder);
    return folder;
  }
}

function entriesIn(at: string): readonly Dirent[] | undefined {
  const folder = opendirSync(at);
  try {
    const entries: Dirent[] = [];
    for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
      if (entries.length === MOST) return undefined;
      entries.push(entry);
    }
    return entries.sort(byName);
  } finally {
    folder.closeSync();
  }
}

function byName(a: Dirent, b: Dirent): number {
  return a.name < b.name ? -1 : 1;
}
