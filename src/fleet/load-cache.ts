import { LastLoad } from '../operator/last-load.ts';

/** The maximum total size in bytes of the files, states and records that are cached. They use several times as much memory. */
const MAX_BYTES = 8 * 1024 * 1024;

/** When the cache is full, only one in this many new loads is stored. It replaces the oldest loads. */
const REPLACE_ONE_IN = 32;

/**
 * Caches the latest loads of the workspaces of a process. If every new load replaced the oldest load, each load would be evicted before
 * its workspace runs again, because the workspaces run in turn.
 */
export class LoadCache {
  readonly #loads = new Map<string, LastLoad>();
  /** The compared drafts of all workspaces. They are never evicted, because they are small and comparing them needs requests. */
  readonly #comparedDrafts = new Map<string, LastLoad['comparedDrafts']>();
  readonly #maxBytes: number;
  #bytes = 0;
  #rejectedCount = 0;

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** Removes and returns the latest load of a workspace. If there is none, returns an empty load. */
  take(address: string): LastLoad {
    return this.#remove(address) ?? new LastLoad({ comparedDrafts: this.#comparedDrafts.get(address) });
  }

  /** Stores the load of a finished run. */
  store(address: string, load: LastLoad): void {
    if (load.comparedDrafts.size > 0) this.#comparedDrafts.set(address, load.comparedDrafts);
    // Another run of the workspace may have stored a load in the meantime.
    this.#remove(address);
    if (load.bytes > this.#maxBytes) return;
    if (this.#bytes + load.bytes > this.#maxBytes && ++this.#rejectedCount % REPLACE_ONE_IN !== 0) return;
    this.#loads.set(address, load);
    this.#bytes += load.bytes;
    for (const oldest of this.#loads.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#remove(oldest);
    }
  }

  #remove(address: string): LastLoad | undefined {
    const load = this.#loads.get(address);
    this.#loads.delete(address);
    this.#bytes -= load?.bytes ?? 0;
    return load;
  }
}
