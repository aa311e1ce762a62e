import { LastLoad } from '../operator/last-load.ts';

/** The maximum size in bytes of files whose loads are cached. The loads need several times that memory. */
const MAX_BYTES = 4 * 1024 * 1024;

/** If the cache is full, one of this many new loads replaces the oldest ones. */
const REPLACE_ONE_OF = 32;

/**
 * Caches the latest loads of the workspaces of a process. Workspaces run in turn: if every new load replaced the oldest one, each would be
 * evicted before its workspace runs again.
 */
export class KeptLoads {
  readonly #loads = new Map<string, LastLoad>();
  /** Cached for all loads: these are small, and determining them again needs requests. */
  readonly #comparedDrafts = new Map<string, LastLoad['comparedDrafts']>();
  readonly #mostBytes: number;
  #bytes = 0;
  #refused = 0;

  constructor(mostBytes = MAX_BYTES) {
    this.#mostBytes = mostBytes;
  }

  /** The latest load of a workspace, for one run. */
  of(address: string): LastLoad {
    return this.#taken(address) ?? new LastLoad({ comparedDrafts: this.#comparedDrafts.get(address) });
  }

  /** Keeps the load of a finished run. */
  keep(address: string, load: LastLoad): void {
    if (load.comparedDrafts.size > 0) this.#comparedDrafts.set(address, load.comparedDrafts);
    // Remains from another run of the workspace at the same time.
    this.#taken(address);
    if (load.bytes > this.#mostBytes) return;
    if (this.#bytes + load.bytes > this.#mostBytes && ++this.#refused % REPLACE_ONE_OF !== 0) return;
    this.#loads.set(address, load);
    this.#bytes += load.bytes;
    for (const oldest of this.#loads.keys()) {
      if (this.#bytes <= this.#mostBytes) break;
      this.#taken(oldest);
    }
  }

  #taken(address: string): LastLoad | undefined {
    const load = this.#loads.get(address);
    this.#loads.delete(address);
    this.#bytes -= load?.bytes ?? 0;
    return load;
  }
}
