import { type BigIntStats, type Dirent, lstatSync, opendirSync } from 'node:fs';

interface Folder {
  readonly stats: BigIntStats;
  /** By name; undefined where there are too many to be read. */
  readonly entries: readonly Dirent[] | undefined;
}

/** Milliseconds: a folder that was changed less long ago may change once more without another time of change. */
const COARSE = 1000;

/** Entries of one folder. */
const MOST = 100_000;

/** What lies in folders, read again only where that changed. */
export class FolderEntries {
  #before = new Map<string, Folder>();
  #now = new Map<string, Folder>();

  /** Begins another look at all folders: those that the last one did not ask for are forgotten. */
  begin(): void {
    this.#before = this.#now;
    this.#now = new Map();
  }

  /** @param at an absolute path of a folder, which is not a link. */
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
